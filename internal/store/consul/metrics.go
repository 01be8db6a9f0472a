package consul

import (
	"github.com/quorumbench/quorumbench/internal/store"
)

// millisecond is the unit of Consul's timers.
const millisecond = 0.001

// Metrics implements store.Store: an agent reports its figures in Prometheus's
// format where telemetry has a prometheus_retention_time.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	s := store.MetricSource{URL: a.URL(endpoint) + "/v1/agent/metrics?format=prometheus", Names: metricNames(), Refusals: []store.MetricRefusal{
		{Text: "HTTP status 403", Remedy: "give the token agent:read"},
		{Text: "retention time", Remedy: "set telemetry.prometheus_retention_time in the agent's configuration"},
	}}
	if token := tokenOf(a); token != "" {
		s.Header = map[string]string{"X-Consul-Token": token}
	}
	return []store.MetricSource{s}
}

// metricNames is what Consul calls the shared metrics (its page on telemetry).
// A leader's log is written, and synced, in dispatchLog; a follower's in
// storeLogs.
func metricNames() []store.MetricName {
	return []store.MetricName{
		{Metric: store.FsyncSeconds, Name: "consul_raft_leader_dispatchLog", Unit: millisecond},
		{Metric: store.FsyncSeconds, Name: "consul_raft_rpc_appendEntries_storeLogs", Unit: millisecond},
		{Metric: store.PeerRoundTripSeconds, Name: "consul_raft_replication_heartbeat", Unit: millisecond},
		{Metric: store.CPUSeconds, Name: "process_cpu_seconds_total"},
		{Metric: store.Processors, Name: "go_sched_gomaxprocs_threads"},
		{Metric: store.ResidentBytes, Name: "process_resident_memory_bytes"},
		// How often the member stood for election.
		{Metric: store.LeaderChanges, Name: "consul_raft_state_candidate"},
	}
}
