package etcdv2

import (
	"cmp"
	"embed"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// Settings holds the launch settings that a scenario file may give. Each has the
// name and meaning of etcd's command-line flag (see
// https://etcd.io/docs/v3.5/op-guide/configuration). Omitted settings keep etcd's
// default. Settings that concern only the v3 API are missing.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// SnapshotCount is how many committed entries trigger a snapshot, which
	// writes the whole v2 store as JSON.
	SnapshotCount uint64 `yaml:"snapshot-count,omitempty" json:"snapshot-count,omitempty"`
	// HeartbeatInterval and ElectionTimeout are in milliseconds; the second
	// must be at least five times the first and at most 50,000.
	HeartbeatInterval uint `yaml:"heartbeat-interval,omitempty" json:"heartbeat-interval,omitempty"`
	ElectionTimeout   uint `yaml:"election-timeout,omitempty" json:"election-timeout,omitempty"`
	// PreVote makes a member check that it could win an election before it starts
	// one.
	PreVote *bool `yaml:"pre-vote,omitempty" json:"pre-vote,omitempty"`
	// UnsafeNoFsync makes etcd acknowledge writes that are not on disk.
	UnsafeNoFsync bool `yaml:"unsafe-no-fsync,omitempty" json:"unsafe-no-fsync,omitempty"`
	// MaxWALs and MaxSnapshots are how many files of each kind are kept.
	MaxWALs      uint `yaml:"max-wals,omitempty" json:"max-wals,omitempty"`
	MaxSnapshots uint `yaml:"max-snapshots,omitempty" json:"max-snapshots,omitempty"`
	// LogLevel is debug, info, warn or error. etcd logs elections and snapshots
	// at info.
	LogLevel string `yaml:"log-level,omitempty" json:"log-level,omitempty"`
}

// Check implements store.Settings.
func (s *Settings) Check() error {
	return cmp.Or(etcd.CheckTiming(s.HeartbeatInterval, s.ElectionTimeout), etcd.CheckLogLevel(s.LogLevel))
}

// Launch implements store.Store. Without Exec it uses the installed server. Each
// member is an etcd up to 3.5, run with its ordinary flags.
func (st *Store) Launch(spec store.LaunchSpec) (store.Launch, error) {
	s, err := store.SettingsOf[Settings](spec.Settings)
	if err != nil {
		return store.Launch{}, err
	}
	source, err := st.Server("")
	if err != nil {
		return store.Launch{}, err
	}
	if spec.Exec, err = install.ExecutableForLaunch(&spec, source); err != nil {
		return store.Launch{}, err
	}
	return etcd.LaunchMembers(spec, append([]store.Setting{{Name: "enable-v2", Value: true}}, store.NonZeroSettings(s)...))
}

// serverFiles are the inputs of the server's build.
//
//go:embed server/*.txt
var serverFiles embed.FS

// Server implements store.Store. etcd has no v2 API since 3.6.
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
