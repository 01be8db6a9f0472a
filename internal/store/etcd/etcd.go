// Package etcd implements the store etcd with etcd's v3 gRPC API: the store's capabilities, the
// launch and administration of members, and the protocol codec.
package etcd

import (
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
			kv.STM:       "KV.Range of each key, then KV.Txn that compares and puts; both are repeated until KV.Txn succeeds, as in package concurrency of etcd's client",
			kv.KeepAlive: "Lease.LeaseKeepAlive, one stream per lease",
			kv.Watch:     "Watch.Watch, many watchers per stream",
		},
		Reads: map[kv.Consistency]string{
			kv.Linearizable: "ReadIndex: a quorum confirms the leader, then the contacted member responds from its applied state",
			kv.Local:        "serializable: the contacted member responds from its applied state, which may be stale",
		},
		NonVoters: kv.NonVoters{Name: "learner", ServesLocalReads: true},
		Watches: kv.Watches{
			Modes: map[kv.WatchMode]string{kv.StreamWatch: "the Watch stream"}, Default: kv.StreamWatch,
			PastRevisions: true, PreviousValues: true,
		},
		Features:          features(),
		Ascending:         true,
		MaxInFlight:       0,
		ALPN:              []string{"h2"},
		Durability:        "a write is acknowledged once a majority of the members have synced it to their write-ahead logs (fdatasync), unless unsafe-no-fsync is set",
		Disk:              &diskRule,
		Hosts:             hostRules(diskRule),
		UpgradeConditions: UpgradeConditions,
		EnvironmentVariables: map[string]string{
			"endpoints": "ETCDCTL_ENDPOINTS", "cacert": "ETCDCTL_CACERT", "cert": "ETCDCTL_CERT", "key": "ETCDCTL_KEY",
			"insecure-skip-tls-verify": "ETCDCTL_INSECURE_SKIP_TLS_VERIFY",
			"user":                     "ETCDCTL_USER", "password": "ETCDCTL_PASSWORD", "dial-timeout": "ETCDCTL_DIAL_TIMEOUT",
		},
	}
}

// features returns a description of how etcd provides each optional feature.
func features() map[kv.Feature]string {
	return map[kv.Feature]string{
		kv.RangeForms:       "KV.Range with count_only, keys_only or a limit; pages that are read at the same revision; KV.RangeStream since etcd 3.7",
		kv.TLS:              "TLS on the client URL",
		kv.Users:            "Auth.Authenticate, which returns a token for the requests",
		kv.RoleQuery:        "Maintenance.Status, sent to each member",
		kv.Compaction:       "KV.Compact",
		kv.Defragmentation:  "Maintenance.Defragment, sent to one member after the other",
		kv.LeaderTransfer:   "Maintenance.MoveLeader",
		kv.PrefixDelete:     "KV.DeleteRange",
		kv.Hashes:           "Maintenance.HashKV, which hashes the data up to a given revision",
		kv.Leases:           "Lease.LeaseGrant and Lease.LeaseRevoke",
		kv.Metrics:          "metrics in Prometheus's format at /metrics on the client URL",
		kv.LogSignals:       "etcd's JSON log",
		kv.Snapshots:        "Maintenance.Snapshot, which returns a copy of the member's whole database",
		kv.Alarms:           "Maintenance.Alarm raises the alarm NOSPACE for a member, and the cluster then refuses puts",
		kv.SpaceQuota:       "quota-backend-bytes: a member raises the alarm NOSPACE when its database reaches this size",
		kv.AuthSwitch:       "Auth.AuthEnable and Auth.AuthDisable, with a temporary user root",
		kv.Replacement:      "Cluster.MemberRemove, then Cluster.MemberAdd with the same peer URLs",
		kv.Learners:         "Cluster.MemberAddAsLearner, Cluster.MemberPromote and Cluster.MemberRemove",
		kv.Certificates:     "etcd reads cert-file and key-file again for each new connection; requires settings: {tls: true}",
		kv.WriteOrder:       "the revision in each response's header, and each key's mod_revision",
		kv.CallWatchers:     "Watch.Watch, with create_request and cancel_request messages on one stream per connection",
		kv.ApplicationCalls: "KV.Txn with any guard, Lease.LeaseGrant, KV.Compact, Maintenance.Status, and Watch.Watch with the requirement that the member has a leader",
		kv.NullServer:       "the gRPC services KV, Watch, Lease, Cluster, Maintenance and Auth",
	}
}

// DecodeSettings implements store.Store; the result is a *Settings.
func (*Store) DecodeSettings(decode func(into any) error) (any, error) {
	return store.DecodeSettings[Settings](decode)
}

// Codecs implements store.Store.
func (*Store) Codecs(a store.Access) store.Codecs { return newCodecs(a) }

// Server implements store.Store.
func (*Store) Server(requested string) (store.ServerSource, error) {
	return store.BuiltInServer(Name, version.Version, requested)
}

// Metrics implements store.Store. Members serve their metrics in Prometheus's format at their
// client URLs.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	return []store.MetricSource{{URL: a.URL(endpoint) + "/metrics", Names: metricNames(), Refusals: []store.MetricRefusal{
		{Remedy: "add the client URL to --listen-metrics-urls or, if --listen-client-http-urls is set, to that flag"},
	}}}
}

// metricNames returns etcd's names for the metrics that all stores have in common. These names have
// not changed since etcd 3.1 (see https://etcd.io/docs/latest/metrics).
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

// UpgradeConditions is the text of kv.Capabilities.UpgradeConditions for all versions of etcd.
const UpgradeConditions = "upgrade etcd by one minor version at a time; etcd 3.7 exits if a member's log still contains entries from etcd 3.5, so before the upgrade to 3.7 each member must have written a snapshot with etcd 3.6 (3.6.11 or later), which happens after the number of writes in snapshot-count (10,000 by default in 3.6)"

// NullServer implements store.NullServerProvider.
func (*Store) NullServer(o store.NullOptions) (store.NullServer, error) { return nullserver.New(o) }
