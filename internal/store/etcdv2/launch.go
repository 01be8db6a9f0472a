package etcdv2

import (
	"cmp"
	"embed"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// Settings holds the launch settings that a scenario file may contain. Each setting has the name
// and meaning of a command-line flag of etcd (see
// https://etcd.io/docs/v3.5/op-guide/configuration). If a setting is omitted, etcd's default
// applies. Settings holds no settings that affect only the v3 API.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// SnapshotCount is the number of committed entries after which etcd writes a snapshot. A
	// snapshot contains the whole v2 store as JSON.
	SnapshotCount uint64 `yaml:"snapshot-count,omitempty" json:"snapshot-count,omitempty"`
	// HeartbeatInterval and ElectionTimeout are in milliseconds. ElectionTimeout must be at least
	// five times HeartbeatInterval, and at most 50,000.
	HeartbeatInterval uint `yaml:"heartbeat-interval,omitempty" json:"heartbeat-interval,omitempty"`
	ElectionTimeout   uint `yaml:"election-timeout,omitempty" json:"election-timeout,omitempty"`
	// PreVote makes a member check whether it could win an election before it starts an election.
	PreVote *bool `yaml:"pre-vote,omitempty" json:"pre-vote,omitempty"`
	// UnsafeNoFsync makes etcd acknowledge writes before they are on disk.
	UnsafeNoFsync bool `yaml:"unsafe-no-fsync,omitempty" json:"unsafe-no-fsync,omitempty"`
	// MaxWALs and MaxSnapshots are the numbers of log files and snapshot files that etcd keeps.
	MaxWALs      uint `yaml:"max-wals,omitempty" json:"max-wals,omitempty"`
	MaxSnapshots uint `yaml:"max-snapshots,omitempty" json:"max-snapshots,omitempty"`
	// LogLevel is debug, info, warn or error. etcd logs elections and snapshots at the level info.
	LogLevel string `yaml:"log-level,omitempty" json:"log-level,omitempty"`
}

// Check implements store.Settings.
func (s *Settings) Check() error {
	return cmp.Or(etcd.CheckTiming(s.HeartbeatInterval, s.ElectionTimeout), etcd.CheckLogLevel(s.LogLevel))
}

// Launch implements store.Store. Each member runs the binary spec.Exec or, if Exec is empty, the
// installed server. The binary must be etcd 3.5 or older. Its arguments are ordinary flags of
// etcd.
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

// serverFiles are the input files for building the server.
//
//go:embed server/*.txt
var serverFiles embed.FS

// Server implements store.Store. The version is at most 3.5, because etcd 3.6 and later have no
// v2 API.
func (*Store) Server(version string) (store.ServerSource, error) {
	return store.ServerSource{
		Store: Name, Versions: []string{"3.5.35"}, Kind: store.GoModule,
		Files: serverFiles, Package: "go.etcd.io/etcd/server/v3", LDFlags: "-s -w",
		Check: store.ServerCheck{
			Module: "go.etcd.io/etcd/server/v3@v{version}", Args: []string{"--version"}, ExpectedOutput: "etcd Version: {version}",
		},
		License: "Apache License 2.0",
	}.Pick(version)
}
