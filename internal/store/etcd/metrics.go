package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
)

var _ store.Metered = (*Store)(nil)

// Metrics implements store.Metered: members serve Prometheus's format at their
// client URLs.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	scheme := "http://"
	if a.TLS != nil {
		scheme = "https://"
	}
	return []store.MetricSource{{URL: scheme + endpoint + "/metrics", Names: MetricNames()}}
}

// MetricNames is what etcd calls the shared metrics, since 3.1 (see
// https://etcd.io/docs/latest/metrics).
func MetricNames() []store.MetricName {
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
