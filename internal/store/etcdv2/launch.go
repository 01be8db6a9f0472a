package etcdv2

import (
	"cmp"
	"embed"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// Settings are the launch settings that a scenario file may give. Each has the
// name and the meaning of etcd's command-line flag (see
// https://etcd.io/docs/v3.5/op-guide/configuration); what is left out keeps
// etcd's default. What is for the v3 API alone is not here.
type Settings struct {
	store.PlainSettings `yaml:"-"`

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

// Check implements store.Settings.
func (s *Settings) Check() error {
	return cmp.Or(etcd.CheckTiming(s.HeartbeatInterval, s.ElectionTimeout), etcd.CheckLogLevel(s.LogLevel))
}

// Launch implements store.Store. Without Exec the server is the installed one.
// Each member is an etcd up to 3.5, with its ordinary flags.
func (st *Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := store.SettingsOf[Settings](spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	source, err := st.Server("")
	if err != nil {
		return store.Launch{}, err
	}
	if spec.Exec, err = install.For(&spec, source); err != nil {
		return store.Launch{}, err
	}
	return etcd.LaunchMembers(spec, append([]store.Setting{{Name: "enable-v2", Value: true}}, store.Set(s)...))
}

// serverFiles are the inputs of the server's build.
//
//go:embed server/*.txt
var serverFiles embed.FS

// Server implements store.Store. From 3.6 on etcd has no v2 API.
func (*Store) Server(version string) (store.ServerSource, error) {
	return store.ServerSource{
		Store: Name, Versions: []string{"3.5.35"}, Kind: store.GoModule,
		Files: serverFiles, Package: "go.etcd.io/etcd/server/v3", LDFlags: "-s -w",
		Check: store.ServerCheck{
			Module: "go.etcd.io/etcd/server/v3@v{version}", Args: []string{"--version"}, Says: "etcd Version: {version}",
		},
		License: "Apache License 2.0",
	}.Pick(version)
}
