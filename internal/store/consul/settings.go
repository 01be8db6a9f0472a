package consul

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// The defaults that Launch uses for settings that a scenario omits.
const (
	// DefaultRaftMultiplier is the value that Consul recommends for production, because it makes
	// elections fast. With Consul's own default, all timeouts are five times as long.
	DefaultRaftMultiplier = 1
	// DefaultHTTPMaxConns is the maximum number of connections from one client address. Consul's
	// own default of 200 is too low for a load generator.
	DefaultHTTPMaxConns = 10_000
)

// Settings holds the launch settings that a scenario file may contain for Consul. Each setting has
// the name and meaning that it has in the agent's configuration
// (https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file). If a setting is
// omitted, Consul's default applies, except for the two settings with defaults above.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// RaftMultiplier multiplies Raft's timeouts. Its value must be between 1 and 10. The setting is
	// in the configuration block performance.
	RaftMultiplier int `yaml:"raft_multiplier,omitempty" json:"raft_multiplier,omitempty"`
	// RPCHoldTimeout is how long a request waits if there is no leader. The setting is in the
	// configuration block performance.
	RPCHoldTimeout time.Duration `yaml:"rpc_hold_timeout,omitempty" json:"rpc_hold_timeout,omitempty"`
	// RaftSnapshotThreshold is the number of log entries after which Consul takes a snapshot.
	// RaftSnapshotInterval is how often Consul checks this number.
	RaftSnapshotThreshold int           `yaml:"raft_snapshot_threshold,omitempty" json:"raft_snapshot_threshold,omitempty"`
	RaftSnapshotInterval  time.Duration `yaml:"raft_snapshot_interval,omitempty" json:"raft_snapshot_interval,omitempty"`
	// RaftTrailingLogs is how many log entries remain after a snapshot, for slow followers.
	RaftTrailingLogs int `yaml:"raft_trailing_logs,omitempty" json:"raft_trailing_logs,omitempty"`
	// RaftLogstore is the backend for the Raft log: wal or boltdb. Since Consul 1.20 the default
	// for a new data folder is wal.
	RaftLogstore string `yaml:"raft_logstore,omitempty" json:"raft_logstore,omitempty"`
	// NoFreelistSync is no_freelist_sync for BoltDB. WALSegmentSizeMB is segment_size_mb for the
	// write-ahead log. Both settings are in the configuration block raft_logstore.
	NoFreelistSync   bool `yaml:"no_freelist_sync,omitempty" json:"no_freelist_sync,omitempty"`
	WALSegmentSizeMB int  `yaml:"segment_size_mb,omitempty" json:"segment_size_mb,omitempty"`
	// DisableLogCache turns off the in-memory cache of the Raft log.
	DisableLogCache bool `yaml:"disable_log_cache,omitempty" json:"disable_log_cache,omitempty"`
	// HTTPMaxConnsPerClient is the maximum number of connections from one client address. If it is
	// 0, DefaultHTTPMaxConns applies. The setting is in the configuration block limits.
	HTTPMaxConnsPerClient int `yaml:"http_max_conns_per_client,omitempty" json:"http_max_conns_per_client,omitempty"`
	// KVMaxValueSize is the maximum size of a value, and TxnMaxReqLen is the maximum size of a
	// transaction, in bytes. Consul's default for both is 512 KiB. Both settings are in the
	// configuration block limits.
	KVMaxValueSize int `yaml:"kv_max_value_size,omitempty" json:"kv_max_value_size,omitempty"`
	TxnMaxReqLen   int `yaml:"txn_max_req_len,omitempty" json:"txn_max_req_len,omitempty"`
	// LogLevel is trace, debug, info, warn or error. Consul logs elections and snapshots at level
	// info.
	LogLevel string `yaml:"log_level,omitempty" json:"log_level,omitempty"`
}

// maxRaftMultiplier is the maximum that Consul allows.
const maxRaftMultiplier = 10

// Check implements store.Settings.
func (s *Settings) Check() error {
	if s.RaftMultiplier < 0 || s.RaftMultiplier > maxRaftMultiplier {
		return fmt.Errorf("the raft_multiplier is %d, but it must be between 1 and %d", s.RaftMultiplier, maxRaftMultiplier)
	}
	switch {
	case s.NoFreelistSync && s.RaftLogstore != "boltdb":
		return fmt.Errorf("no_freelist_sync applies only to BoltDB; also set Consul's raft_logstore to boltdb")
	case s.WALSegmentSizeMB > 0 && s.RaftLogstore == "boltdb":
		return fmt.Errorf("segment_size_mb applies only to the write-ahead log, but Consul's raft_logstore is boltdb; remove segment_size_mb, or set raft_logstore to wal")
	}
	return cmp.Or(
		store.CheckSigns("Consul", s),
		store.CheckChoice("Consul", "raft_logstore", s.RaftLogstore, "wal", "boltdb"),
		store.CheckChoice("Consul", "log_level", s.LogLevel, "trace", "debug", "info", "warn", "error"),
	)
}

// tree is a block of Consul's JSON configuration.
type tree map[string]any

// blocks maps a setting to the configuration block that contains it. For a nested block, the names
// of all blocks are listed from the outside in, separated by spaces.
var blocks = map[string]string{
	"raft_multiplier":           "performance",
	"rpc_hold_timeout":          "performance",
	"http_max_conns_per_client": "limits",
	"kv_max_value_size":         "limits",
	"txn_max_req_len":           "limits",
	"raft_logstore":             "raft_logstore",
	"disable_log_cache":         "raft_logstore",
	"no_freelist_sync":          "raft_logstore boltdb",
	"segment_size_mb":           "raft_logstore wal",
}

// configuration adds the settings to an agent's configuration, each in its block.
func (s *Settings) configuration(to tree) {
	with := *s
	with.RaftMultiplier = cmp.Or(s.RaftMultiplier, DefaultRaftMultiplier)
	with.HTTPMaxConnsPerClient = cmp.Or(s.HTTPMaxConnsPerClient, DefaultHTTPMaxConns)
	for _, o := range store.NonZeroSettings(&with) {
		if d, ok := o.Value.(time.Duration); ok {
			o.Value = d.String()
		}
		in := to
		for _, name := range strings.Fields(blocks[o.Name]) {
			if _, ok := in[name]; !ok {
				in[name] = tree{}
			}
			in = in[name].(tree)
		}
		if o.Name == "raft_logstore" {
			o.Name = "backend"
		}
		in[o.Name] = o.Value
	}
}
