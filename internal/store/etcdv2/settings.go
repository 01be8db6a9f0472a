package etcdv2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Settings are the launch settings that a scenario file may give. Each has the
// name and the meaning of etcd's command-line flag (see
// https://etcd.io/docs/v3.5/op-guide/configuration); what is left out keeps
// etcd's default. What is for the v3 API alone is not here.
type Settings struct {
	// SnapshotCount is how many committed entries trigger a snapshot, for which
	// the whole v2 store is written as JSON.
	SnapshotCount uint64 `yaml:"snapshot-count,omitempty" json:"snapshot-count,omitempty"`
	// HeartbeatInterval and ElectionTimeout are in milliseconds; the second
	// must be at least five times the first and at most 50,000.
	HeartbeatInterval uint `yaml:"heartbeat-interval,omitempty" json:"heartbeat-interval,omitempty"`
	ElectionTimeout   uint `yaml:"election-timeout,omitempty" json:"election-timeout,omitempty"`
	// PreVote asks whether an election can be won before it is begun.
	PreVote *bool `yaml:"pre-vote,omitempty" json:"pre-vote,omitempty"`
	// UnsafeNoFsync acknowledges writes that are not on disk.
	UnsafeNoFsync bool `yaml:"unsafe-no-fsync,omitempty" json:"unsafe-no-fsync,omitempty"`
	// MaxWALs and MaxSnapshots are how many files of each kind are kept.
	MaxWALs      uint `yaml:"max-wals,omitempty" json:"max-wals,omitempty"`
	MaxSnapshots uint `yaml:"max-snapshots,omitempty" json:"max-snapshots,omitempty"`
	// LogLevel is debug, info, warn or error. Elections and snapshots are logged
	// at info.
	LogLevel string `yaml:"log-level,omitempty" json:"log-level,omitempty"`
}

// etcd's own defaults and limit, in milliseconds.
const (
	defaultHeartbeat = 100
	defaultElection  = 1000
	maxElection      = 50_000
)

// check returns the first thing wrong with the settings as one sentence.
func (s *Settings) check() error {
	heartbeat, election := s.HeartbeatInterval, s.ElectionTimeout
	if heartbeat == 0 {
		heartbeat = defaultHeartbeat
	}
	if election == 0 {
		election = defaultElection
	}
	levels := []string{"debug", "info", "warn", "error"}
	switch {
	case election > maxElection:
		return fmt.Errorf("etcd's election-timeout is %d ms; it must be at most %d ms", election, maxElection)
	case election < 5*heartbeat:
		return fmt.Errorf("etcd's election-timeout (%d ms) must be at least five times its heartbeat-interval (%d ms)", election, heartbeat)
	case s.LogLevel != "" && !slices.Contains(levels, s.LogLevel):
		return fmt.Errorf("etcd has no log-level %q; choose one of %s", s.LogLevel, strings.Join(levels, ", "))
	}
	return nil
}

// flags lists what is set as etcd's command line.
func (s *Settings) flags() (flags []string) {
	number := func(name string, n uint64) {
		if n > 0 {
			flags = append(flags, "--"+name+"="+strconv.FormatUint(n, 10))
		}
	}
	number("snapshot-count", s.SnapshotCount)
	number("heartbeat-interval", uint64(s.HeartbeatInterval))
	number("election-timeout", uint64(s.ElectionTimeout))
	number("max-wals", uint64(s.MaxWALs))
	number("max-snapshots", uint64(s.MaxSnapshots))
	if s.PreVote != nil {
		flags = append(flags, "--pre-vote="+strconv.FormatBool(*s.PreVote))
	}
	if s.UnsafeNoFsync {
		flags = append(flags, "--unsafe-no-fsync=true")
	}
	if s.LogLevel != "" {
		flags = append(flags, "--log-level="+s.LogLevel)
	}
	return flags
}
