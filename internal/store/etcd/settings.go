package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// DefaultQuota is the space quota in bytes for a scenario that does not set one. It is larger
// than etcd's own default of 2 GiB, which a put load would reach within minutes.
const DefaultQuota = 8 << 30

// Settings holds the launch settings for etcd that a scenario file may contain. Unless noted
// otherwise, a setting has the name and meaning of a command-line flag of etcd (see
// https://etcd.io/docs/latest/op-guide/configuration). A setting that is omitted keeps etcd's
// default, except for the quota.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// SnapshotCount is the number of committed entries after which etcd writes a snapshot.
	SnapshotCount uint64 `yaml:"snapshot-count,omitempty" json:"snapshot-count,omitempty"`
	// SnapshotCatchUpEntries is the number of entries that etcd keeps for slow followers when it
	// compacts the Raft log.
	SnapshotCatchUpEntries uint64 `yaml:"snapshot-catchup-entries,omitempty" json:"snapshot-catchup-entries,omitempty"`
	// QuotaBackendBytes is the space quota in bytes; 0 means DefaultQuota.
	QuotaBackendBytes int64 `yaml:"quota-backend-bytes,omitempty" json:"quota-backend-bytes,omitempty"`
	// HeartbeatInterval and ElectionTimeout are in milliseconds. ElectionTimeout must be at least
	// five times HeartbeatInterval, and at most 50,000.
	HeartbeatInterval uint `yaml:"heartbeat-interval,omitempty" json:"heartbeat-interval,omitempty"`
	ElectionTimeout   uint `yaml:"election-timeout,omitempty" json:"election-timeout,omitempty"`
	// PreVote makes a member check whether it could win an election before it starts an election.
	PreVote *bool `yaml:"pre-vote,omitempty" json:"pre-vote,omitempty"`
	// UnsafeNoFsync makes etcd acknowledge writes before they are on disk.
	UnsafeNoFsync bool `yaml:"unsafe-no-fsync,omitempty" json:"unsafe-no-fsync,omitempty"`
	// AutoCompactionMode is periodic or revision. In mode periodic, AutoCompactionRetention is a
	// duration such as 5m, or a number of hours. In mode revision, it is a number of revisions.
	AutoCompactionMode      string `yaml:"auto-compaction-mode,omitempty" json:"auto-compaction-mode,omitempty"`
	AutoCompactionRetention string `yaml:"auto-compaction-retention,omitempty" json:"auto-compaction-retention,omitempty"`
	// CompactionBatchLimit is the number of revisions that a compaction removes in one batch.
	// CompactionSleepInterval is the pause between two batches.
	CompactionBatchLimit    int           `yaml:"compaction-batch-limit,omitempty" json:"compaction-batch-limit,omitempty"`
	CompactionSleepInterval time.Duration `yaml:"compaction-sleep-interval,omitempty" json:"compaction-sleep-interval,omitempty"`
	// BackendBatchInterval and BackendBatchLimit determine when the backend commits: after
	// BackendBatchInterval has passed, or after BackendBatchLimit operations.
	BackendBatchInterval time.Duration `yaml:"backend-batch-interval,omitempty" json:"backend-batch-interval,omitempty"`
	BackendBatchLimit    int           `yaml:"backend-batch-limit,omitempty" json:"backend-batch-limit,omitempty"`
	// BackendFreelistType is the backend's freelist type, array or map.
	BackendFreelistType string `yaml:"backend-bbolt-freelist-type,omitempty" json:"backend-bbolt-freelist-type,omitempty"`
	// MaxRequestBytes is the maximum size of a request in bytes. MaxTxnOps is the maximum number of
	// operations in a transaction.
	MaxRequestBytes uint `yaml:"max-request-bytes,omitempty" json:"max-request-bytes,omitempty"`
	MaxTxnOps       uint `yaml:"max-txn-ops,omitempty" json:"max-txn-ops,omitempty"`
	// MaxConcurrentStreams is the maximum number of open streams on a connection.
	MaxConcurrentStreams uint32 `yaml:"max-concurrent-streams,omitempty" json:"max-concurrent-streams,omitempty"`
	// MaxWALs is the number of files of the write-ahead log that etcd keeps.
	MaxWALs uint `yaml:"max-wals,omitempty" json:"max-wals,omitempty"`
	// TLS makes members use TLS with clients. The certificates are created for the run. etcd has no
	// flag with this name; the setting replaces etcd's flags for the paths of the certificate
	// files.
	TLS bool `yaml:"tls,omitempty" json:"tls,omitempty"`
	// PeerTLS makes members also use TLS with each other. They use the same certificates, and both
	// sides must present a certificate. etcd has no flag with this name either. PeerTLS requires
	// TLS.
	PeerTLS bool `yaml:"peer-tls,omitempty" json:"peer-tls,omitempty"`
	// LogLevel is debug, info, warn or error. etcd logs elections and snapshots at the level info.
	LogLevel string `yaml:"log-level,omitempty" json:"log-level,omitempty"`
}

// etcd's defaults and its maximum election timeout. The defaults are needed to check two settings
// against each other if only one of them is set.
const (
	defaultHeartbeat = 100    // ms
	defaultElection  = 1000   // ms
	maxElection      = 50_000 // ms
)

// Check implements store.Settings.
func (s *Settings) Check() error {
	return cmp.Or(
		CheckTiming(s.HeartbeatInterval, s.ElectionTimeout),
		s.checkCompaction(),
		store.CheckChoice("etcd", "backend-bbolt-freelist-type", s.BackendFreelistType, "array", "map"),
		CheckLogLevel(s.LogLevel),
		s.checkTLS(),
		store.CheckSigns("etcd", s),
	)
}

func (s *Settings) checkTLS() error {
	if s.PeerTLS && !s.TLS {
		return errors.New("etcd's peer-tls requires tls: true, because a member uses the same certificate for clients and for other members")
	}
	return nil
}

// CheckTiming returns an error if etcd would refuse the combination of heartbeat interval and
// election timeout. Both are in milliseconds; 0 means etcd's default.
func CheckTiming(heartbeat, election uint) error {
	heartbeat, election = cmp.Or(heartbeat, defaultHeartbeat), cmp.Or(election, defaultElection)
	switch {
	case election > maxElection:
		return fmt.Errorf("etcd's election-timeout is %d ms; it must be at most %d ms", election, maxElection)
	case election < 5*heartbeat:
		return fmt.Errorf("etcd's election-timeout (%d ms) must be at least five times its heartbeat-interval (%d ms)", election, heartbeat)
	}
	return nil
}

// CheckLogLevel returns an error if level is not one of etcd's log levels.
func CheckLogLevel(level string) error {
	return store.CheckChoice("etcd", "log-level", level, "debug", "info", "warn", "error")
}

func (s *Settings) checkCompaction() error {
	retention := s.AutoCompactionRetention
	number, notANumber := strconv.Atoi(retention)
	switch s.AutoCompactionMode {
	case "", "periodic":
		period, err := time.ParseDuration(retention)
		if retention != "" && (notANumber != nil || number < 0) && (err != nil || period < 0) {
			return fmt.Errorf("etcd's auto-compaction-retention %q is neither a duration such as 5m nor a number of hours", retention)
		}
	case "revision":
		if notANumber != nil || number < 0 {
			return fmt.Errorf("etcd's auto-compaction-mode revision requires a number of revisions, but auto-compaction-retention is %q", retention)
		}
	default:
		return fmt.Errorf("etcd has no auto-compaction-mode %q; choose periodic or revision", s.AutoCompactionMode)
	}
	return nil
}

// options returns the settings that are not zero. It adds DefaultQuota if no quota is set.
func (s *Settings) options() []store.Setting {
	with := *s
	with.QuotaBackendBytes, with.TLS, with.PeerTLS = cmp.Or(s.QuotaBackendBytes, DefaultQuota), false, false
	return store.NonZeroSettings(&with)
}

// Secured implements store.LaunchSettings.
func (s *Settings) Secured() bool { return s.TLS }

// SecuredPeers implements store.LaunchSettings.
func (s *Settings) SecuredPeers() bool { return s.PeerTLS }

// PeerPort implements store.LaunchSettings.
func (*Settings) PeerPort() int { return peerPort }

// peerPort is the index of the peer port among a member's ports.
const peerPort = 1
