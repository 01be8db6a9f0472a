// Package etcd implements the store etcd, with its v3 gRPC API: its capabilities, the launch
// and administration of members, and the protocol codec.
package etcd

import (
	"time"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd/nullserver"
)

// Name is the store's name in --store and in scenario files.
const Name = "etcd"

// Store implements store.Store for etcd.
type Store struct{}

// New returns the store etcd.
func New() *Store { return &Store{} }

// Name implements store.Store.
func (*Store) Name() string { return Name }

// Capabilities implements store.Store.
func (*Store) Capabilities() kv.Capabilities {
	return kv.Capabilities{
		Operations: map[kv.Kind]string{
			kv.Put:    "KV.Put",
			kv.Get:    "KV.Range of one key",
			kv.Exists: "KV.Range of one key, count_only",
			kv.Range:  "KV.Range of an interval",
			kv.Delete: "KV.DeleteRange of one key",
			kv.CAS:    "KV.Txn that compares the key's mod_revision",
			kv.Txn:    "KV.Txn of several puts",

			kv.TxnGet:    "KV.Txn of one range",
			kv.STM:       "KV.Range of each key, then KV.Txn that compares and puts, repeated until it succeeds, as in package concurrency of etcd's client",
			kv.KeepAlive: "Lease.LeaseKeepAlive, one stream per lease",
			kv.Watch:     "Watch.Watch, many watchers per stream",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "ReadIndex: a quorum confirms the leader, then the contacted member responds from its applied state",
			kv.Local:        "serializable: the contacted member responds from its applied state, which may be stale",
		},
		NonVoters: kv.NonVoters{Name: "learner", Reads: true},
		Watches: kv.Watches{
			Modes: map[kv.WatchMode]string{kv.StreamWatch: "the Watch stream"}, Usual: kv.StreamWatch,
			Earlier: true, Before: true,
		},
		Features:   features(),
		Ascending:  true,
		InFlight:   0,
		ALPN:       []string{"h2"},
		Durability: "a write is acknowledged once a majority of the members have synced it to their write-ahead logs (fdatasync), unless unsafe-no-fsync is set",
		Disk: &kv.DiskRule{
			Percentile: 99, Limit: 10 * time.Millisecond,
			Source: "etcd's documentation asks for a p99 of fdatasync below 10 ms; above it, heartbeats are missed and leaders change under load",
		},
		Upgrades: UpgradeNeeds,
		Variables: map[string]string{
			"endpoints": "ETCDCTL_ENDPOINTS", "cacert": "ETCDCTL_CACERT", "cert": "ETCDCTL_CERT", "key": "ETCDCTL_KEY",
			"insecure-skip-tls-verify": "ETCDCTL_INSECURE_SKIP_TLS_VERIFY",
			"user":                     "ETCDCTL_USER", "password": "ETCDCTL_PASSWORD", "dial-timeout": "ETCDCTL_DIAL_TIMEOUT",
		},
	}
}

// features maps each optional feature to how etcd provides it.
func features() map[kv.Feature]string {
	return map[kv.Feature]string{
		kv.RangeForms:       "KV.Range with count_only, keys_only or a limit, in pages at one revision; KV.RangeStream since 3.7",
		kv.TLS:              "of the client's URL",
		kv.Users:            "Auth.Authenticate, whose token each request carries",
		kv.RoleQuery:        "Maintenance.Status of the member",
		kv.Compaction:       "KV.Compact",
		kv.Defragmentation:  "Maintenance.Defragment, one member after the other",
		kv.LeaderTransfer:   "Maintenance.MoveLeader",
		kv.PrefixDelete:     "KV.DeleteRange",
		kv.Hashes:           "Maintenance.HashKV up to one revision",
		kv.Leases:           "Lease.LeaseGrant and Lease.LeaseRevoke",
		kv.Metrics:          "Prometheus's format at /metrics of the client's URL",
		kv.LogSignals:       "its JSON log",
		kv.Snapshots:        "Maintenance.Snapshot of the member, a copy of its whole database",
		kv.Alarms:           "Maintenance.Alarm: NOSPACE of the member, which makes the cluster refuse puts",
		kv.SpaceQuota:       "quota-backend-bytes: a member whose database reaches it raises NOSPACE",
		kv.AuthSwitch:       "Auth.AuthEnable and Auth.AuthDisable, with a temporary user root",
		kv.Replacement:      "Cluster.MemberRemove, then Cluster.MemberAdd with the same peer URLs",
		kv.Learners:         "Cluster.MemberAddAsLearner, Cluster.MemberPromote and Cluster.MemberRemove",
		kv.Certificates:     "cert-file and key-file, which are read for each new connection; needs settings: {tls: true}",
		kv.Order:            "the revision in each response's header, and each key's mod_revision",
		kv.CallWatchers:     "Watch.Watch: create_request and cancel_request on one stream of the connection",
		kv.ApplicationCalls: "KV.Txn with any guard, Lease.LeaseGrant, KV.Compact, Maintenance.Status, and Watch.Watch that requires a leader",
		kv.NullServer:       "the gRPC services KV, Watch, Lease, Lock, Cluster, Maintenance and Auth",
	}
}

// DecodeSettings implements store.Store; the result is a *Settings.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	return store.DecodeSettings[Settings](decode)
}

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs { return newCodecs(a) }

// Server implements store.Store.
func (*Store) Server(asked string) (store.ServerSource, error) {
	return store.BuiltInServer(Name, version.Version, asked)
}

// Metrics implements store.Store. Members serve their metrics in Prometheus's format at their
// client URLs.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return []store.MetricSource{{URL: a.URL(endpoint) + "/metrics", Names: metricNames(), Refusals: []store.MetricRefusal{
		{Remedy: "include the client URL in --listen-metrics-urls, or in --listen-client-http-urls where that is set"},
	}}}
}

// metricNames maps the metrics that all stores share to etcd's names. These names have not
// changed since etcd 3.1 (see https://etcd.io/docs/latest/metrics).
func metricNames() []store.MetricName {
	return []store.MetricName{
		{Metric: store.FsyncSeconds, Name: "etcd_disk_wal_fsync_duration_seconds"},
		{Metric: store.CommitSeconds, Name: "etcd_disk_backend_commit_duration_seconds"},
		{Metric: store.PeerRoundTripSeconds, Name: "etcd_network_peer_round_trip_time_seconds"},
		{Metric: store.CPUSeconds, Name: "process_cpu_seconds_total"},
		{Metric: store.Processors, Name: "go_sched_gomaxprocs_threads"},
		{Metric: store.ResidentBytes, Name: "process_resident_memory_bytes"},
		{Metric: store.LeaderChanges, Name: "etcd_server_leader_changes_seen_total"},
		{Metric: store.DatabaseBytes, Name: "etcd_mvcc_db_total_size_in_bytes"},
	}
}

// UpgradeNeeds is the text of kv.Capabilities.Upgrades, which is the same for all versions of
// etcd.
const UpgradeNeeds = "etcd is upgraded by one minor version at a time, and 3.7 ends on what 3.5 left in a member's log: each needs a snapshot by 3.6 (3.6.11 or later) before, which it writes after snapshot-count writes (there 10,000)"

// NullServer implements store.NullServed.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) { return nullserver.New(o) }
