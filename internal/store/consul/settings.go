package consul

import (
	"fmt"
	"strings"
	"time"
)

// What Launch sets where a scenario says nothing.
const (
	// DefaultRaftMultiplier makes elections as fast as Consul's own advice for
	// production; without it Consul multiplies its timeouts by 5.
	DefaultRaftMultiplier = 1
	// DefaultHTTPMaxConns is how many connections one client address may have.
	// Consul's default of 200 refuses a load generator.
	DefaultHTTPMaxConns = 10_000
)

// Settings are the launch settings that a scenario file may give for Consul.
// Each has the name and the meaning of the agent's configuration
// (https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file);
// what is left out keeps Consul's default, but for the two above.
type Settings struct {
	// RaftMultiplier scales Raft's timeouts, 1 to 10 (performance).
	RaftMultiplier int `yaml:"raft_multiplier,omitempty" json:"raft_multiplier,omitempty"`
	// RPCHoldTimeout is how long a request waits for a leader (performance).
	RPCHoldTimeout time.Duration `yaml:"rpc_hold_timeout,omitempty" json:"rpc_hold_timeout,omitempty"`
	// RaftSnapshotThreshold is how many log entries trigger a snapshot,
	// RaftSnapshotInterval how often that is looked at.
	RaftSnapshotThreshold int           `yaml:"raft_snapshot_threshold,omitempty" json:"raft_snapshot_threshold,omitempty"`
	RaftSnapshotInterval  time.Duration `yaml:"raft_snapshot_interval,omitempty" json:"raft_snapshot_interval,omitempty"`
	// RaftTrailingLogs are kept after a snapshot for slow followers.
	RaftTrailingLogs int `yaml:"raft_trailing_logs,omitempty" json:"raft_trailing_logs,omitempty"`
	// RaftLogstore is the Raft log's backend: wal or boltdb. New folders get
	// wal from Consul 1.20 on.
	RaftLogstore string `yaml:"raft_logstore,omitempty" json:"raft_logstore,omitempty"`
	// NoFreelistSync is BoltDB's no_freelist_sync, WALSegmentSizeMB the
	// write-ahead log's segment_size_mb (raft_logstore).
	NoFreelistSync   bool `yaml:"no_freelist_sync,omitempty" json:"no_freelist_sync,omitempty"`
	WALSegmentSizeMB int  `yaml:"segment_size_mb,omitempty" json:"segment_size_mb,omitempty"`
	// DisableLogCache does without the memory cache before the log.
	DisableLogCache bool `yaml:"disable_log_cache,omitempty" json:"disable_log_cache,omitempty"`
	// HTTPMaxConnsPerClient is how many connections one client address may
	// have, DefaultHTTPMaxConns if 0 (limits).
	HTTPMaxConnsPerClient int `yaml:"http_max_conns_per_client,omitempty" json:"http_max_conns_per_client,omitempty"`
	// KVMaxValueSize is the largest value in bytes, TxnMaxReqLen the largest
	// transaction (limits); Consul's defaults are 512 KiB.
	KVMaxValueSize int `yaml:"kv_max_value_size,omitempty" json:"kv_max_value_size,omitempty"`
	TxnMaxReqLen   int `yaml:"txn_max_req_len,omitempty" json:"txn_max_req_len,omitempty"`
	// LogLevel is trace, debug, info, warn or error. Elections and snapshots
	// are logged at info.
	LogLevel string `yaml:"log_level,omitempty" json:"log_level,omitempty"`
}

// maxRaftMultiplier is Consul's own limit.
const maxRaftMultiplier = 10

// check returns the first thing wrong with the settings as one sentence.
func (s *Settings) check() error {
	if s.RaftMultiplier < 0 || s.RaftMultiplier > maxRaftMultiplier {
		return fmt.Errorf("the raft_multiplier of Consul is %d; it must be 1 to %d", s.RaftMultiplier, maxRaftMultiplier)
	}
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"rpc_hold_timeout", int64(s.RPCHoldTimeout)},
		{"raft_snapshot_threshold", int64(s.RaftSnapshotThreshold)},
		{"raft_snapshot_interval", int64(s.RaftSnapshotInterval)},
		{"raft_trailing_logs", int64(s.RaftTrailingLogs)},
		{"segment_size_mb", int64(s.WALSegmentSizeMB)},
		{"http_max_conns_per_client", int64(s.HTTPMaxConnsPerClient)},
		{"kv_max_value_size", int64(s.KVMaxValueSize)},
		{"txn_max_req_len", int64(s.TxnMaxReqLen)},
	} {
		if v.value < 0 {
			return fmt.Errorf("the %s of Consul must not be negative", v.name)
		}
	}
	switch {
	case s.NoFreelistSync && s.RaftLogstore != "boltdb":
		return fmt.Errorf("no_freelist_sync is for BoltDB: set the raft_logstore of Consul to boltdb too")
	case s.WALSegmentSizeMB > 0 && s.RaftLogstore == "boltdb":
		return fmt.Errorf("segment_size_mb is for the write-ahead log, and the raft_logstore of Consul is boltdb")
	}
	if err := oneOf("raft_logstore", s.RaftLogstore, "wal", "boltdb"); err != nil {
		return err
	}
	return oneOf("log_level", s.LogLevel, "trace", "debug", "info", "warn", "error")
}

func oneOf(name, value string, choices ...string) error {
	if value == "" {
		return nil
	}
	for _, c := range choices {
		if c == value {
			return nil
		}
	}
	return fmt.Errorf("Consul has no %s %q; choose one of %s", name, value, strings.Join(choices, ", ")) //nolint:staticcheck // a name
}

// tree is a part of Consul's configuration as JSON.
type tree map[string]any

// set sets what is not zero.
func (t tree) set(name string, value any) {
	switch v := value.(type) {
	case int:
		if v == 0 {
			return
		}
	case string:
		if v == "" {
			return
		}
	case bool:
		if !v {
			return
		}
	case time.Duration:
		if v == 0 {
			return
		}
		value = v.String()
	case tree:
		if len(v) == 0 {
			return
		}
	}
	t[name] = value
}

// configuration adds the settings to an agent's configuration.
func (s *Settings) configuration(to tree) {
	performance, limits, logstore, wal, bolt := tree{}, tree{}, tree{}, tree{}, tree{}
	performance.set("raft_multiplier", orDefault(s.RaftMultiplier, DefaultRaftMultiplier))
	performance.set("rpc_hold_timeout", s.RPCHoldTimeout)
	limits.set("http_max_conns_per_client", orDefault(s.HTTPMaxConnsPerClient, DefaultHTTPMaxConns))
	limits.set("kv_max_value_size", s.KVMaxValueSize)
	limits.set("txn_max_req_len", s.TxnMaxReqLen)
	bolt.set("no_freelist_sync", s.NoFreelistSync)
	wal.set("segment_size_mb", s.WALSegmentSizeMB)
	logstore.set("backend", s.RaftLogstore)
	logstore.set("disable_log_cache", s.DisableLogCache)
	logstore.set("boltdb", bolt)
	logstore.set("wal", wal)
	to.set("performance", performance)
	to.set("limits", limits)
	to.set("raft_logstore", logstore)
	to.set("raft_snapshot_threshold", s.RaftSnapshotThreshold)
	to.set("raft_snapshot_interval", s.RaftSnapshotInterval)
	to.set("raft_trailing_logs", s.RaftTrailingLogs)
	to.set("log_level", s.LogLevel)
}

func orDefault(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}
