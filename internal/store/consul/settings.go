package consul

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Defaults of Launch for settings that a scenario omits.
const (
	// DefaultRaftMultiplier makes elections as fast as Consul recommends for
	// production. Consul's own default multiplies the timeouts by 5.
	DefaultRaftMultiplier = 1
	// DefaultHTTPMaxConns is how many connections one client address may have.
	// Consul's default of 200 would refuse a load generator.
	DefaultHTTPMaxConns = 10_000
)

// Settings holds the launch settings that a scenario file may give for Consul.
// Each has the name and meaning of the agent's configuration
// (https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file).
// Omitted settings keep Consul's default, except for the two above.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// RaftMultiplier scales Raft's timeouts, 1 to 10 (performance).
	RaftMultiplier int `yaml:"raft_multiplier,omitempty" json:"raft_multiplier,omitempty"`
	// RPCHoldTimeout is how long a request waits for a leader (performance).
	RPCHoldTimeout time.Duration `yaml:"rpc_hold_timeout,omitempty" json:"rpc_hold_timeout,omitempty"`
	// RaftSnapshotThreshold is how many log entries trigger a snapshot, and
	// RaftSnapshotInterval is how often Consul checks that.
	RaftSnapshotThreshold int           `yaml:"raft_snapshot_threshold,omitempty" json:"raft_snapshot_threshold,omitempty"`
	RaftSnapshotInterval  time.Duration `yaml:"raft_snapshot_interval,omitempty" json:"raft_snapshot_interval,omitempty"`
	// RaftTrailingLogs is how many log entries a snapshot keeps for slow
	// followers.
	RaftTrailingLogs int `yaml:"raft_trailing_logs,omitempty" json:"raft_trailing_logs,omitempty"`
	// RaftLogstore is the Raft log's backend: wal or boltdb. Since Consul 1.20
	// new data folders use wal.
	RaftLogstore string `yaml:"raft_logstore,omitempty" json:"raft_logstore,omitempty"`
	// NoFreelistSync is BoltDB's no_freelist_sync, WALSegmentSizeMB the
	// write-ahead log's segment_size_mb (raft_logstore).
	NoFreelistSync   bool `yaml:"no_freelist_sync,omitempty" json:"no_freelist_sync,omitempty"`
	WALSegmentSizeMB int  `yaml:"segment_size_mb,omitempty" json:"segment_size_mb,omitempty"`
	// DisableLogCache disables the memory cache in front of the log.
	DisableLogCache bool `yaml:"disable_log_cache,omitempty" json:"disable_log_cache,omitempty"`
	// HTTPMaxConnsPerClient is how many connections one client address may
	// have, DefaultHTTPMaxConns if 0 (limits).
	HTTPMaxConnsPerClient int `yaml:"http_max_conns_per_client,omitempty" json:"http_max_conns_per_client,omitempty"`
	// KVMaxValueSize is the largest value in bytes, TxnMaxReqLen the largest
	// transaction (limits); Consul's defaults are 512 KiB.
	KVMaxValueSize int `yaml:"kv_max_value_size,omitempty" json:"kv_max_value_size,omitempty"`
	TxnMaxReqLen   int `yaml:"txn_max_req_len,omitempty" json:"txn_max_req_len,omitempty"`
	// LogLevel is trace, debug, info, warn or error. Consul logs elections and
	// snapshots at info.
	LogLevel string `yaml:"log_level,omitempty" json:"log_level,omitempty"`
}

// maxRaftMultiplier is Consul's own limit.
const maxRaftMultiplier = 10

// Check implements store.Settings.
func (s *Settings) Check() error {
	if s.RaftMultiplier < 0 || s.RaftMultiplier > maxRaftMultiplier {
		return fmt.Errorf("the raft_multiplier of Consul is %d; it must be 1 to %d", s.RaftMultiplier, maxRaftMultiplier)
	}
	switch {
	case s.NoFreelistSync && s.RaftLogstore != "boltdb":
		return fmt.Errorf("no_freelist_sync is for BoltDB: also set Consul's raft_logstore to boltdb")
	case s.WALSegmentSizeMB > 0 && s.RaftLogstore == "boltdb":
		return fmt.Errorf("segment_size_mb is for the write-ahead log, but Consul's raft_logstore is boltdb")
	}
	return cmp.Or(
		store.CheckSigns("Consul", s),
		store.CheckChoice("Consul", "raft_logstore", s.RaftLogstore, "wal", "boltdb"),
		store.CheckChoice("Consul", "log_level", s.LogLevel, "trace", "debug", "info", "warn", "error"),
	)
}

// tree is a part of Consul's configuration as JSON.
type tree map[string]any

// blocks maps settings to the configuration block that contains them; nested
// blocks are separated by a space, outer ones first.
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

// configuration adds the settings to an agent's configuration.
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
