package consul

import (
	"bytes"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Signal implements store.Store. A line of Consul's log looks like this:
//
//	2026-03-01T12:00:00.123Z [INFO]  agent.server.raft: entering leader state: leader="Node at 127.0.0.1:8300 [Leader]"
func (*Store) Signal(line []byte) (store.Signal, bool) {
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || !bytes.HasPrefix(rest, []byte("[")) {
		return store.Signal{}, false
	}
	_, rest, _ = bytes.Cut(rest, []byte("] "))
	name, msg, ok := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(": "))
	if !ok || string(name) != "agent" && !bytes.HasPrefix(name, []byte("agent.server")) {
		return store.Signal{}, false
	}
	for i := range serverMessages {
		t := &serverMessages[i]
		if string(name) != t.logger || !bytes.HasPrefix(msg, []byte(t.prefix)) {
			continue
		}
		if t.kind == store.LeaderFound && !hasLeaderAddress(msg) {
			return store.Signal{}, false
		}
		s := store.Signal{Kind: t.kind}
		if at, err := time.Parse("2006-01-02T15:04:05.000Z0700", string(stamp)); err == nil {
			s.Time = at.UTC()
		}
		return s, true
	}
	return store.Signal{}, false
}

// hasLeaderAddress reports whether a follower's message contains the leader's address. After the
// follower has lost its leader, the message contains no address.
func hasLeaderAddress(msg []byte) bool {
	_, leader, found := bytes.Cut(msg, []byte(" leader-address="))
	return found && len(leader) > 0 && leader[0] != ' '
}

// pattern maps a message to a signal. A log line matches if its logger equals the field `logger`
// and its message begins with the text in the field `prefix`.
type pattern struct {
	logger, prefix string
	kind           store.SignalKind
}

// serverMessages lists messages from Consul 1.22 and its Raft library (1.7). A member also creates
// a snapshot when it receives one from another member. The list contains only the messages about
// snapshots that the member starts itself.
var serverMessages = [...]pattern{
	{"agent.server.raft", "heartbeat timeout reached, starting election", store.LeaderLost},
	{"agent.server.raft", "failed to contact quorum of nodes, stepping down", store.LeaderLost},
	{"agent.server.raft", "entering candidate state", store.ElectionStarted},
	{"agent.server.raft", "entering leader state", store.Elected},
	{"agent.server.raft", "entering follower state", store.LeaderFound},
	{"agent.server", "New leader elected", store.Serving}, // the member knows the leader to which it forwards requests
	{"agent", "Synced node info", store.Serving},          // a leader has accepted the member; if the leader is unchanged, this is the only message
	{"agent.server.raft", "starting snapshot up to", store.SnapshotStarted},
	{"agent.server.raft", "snapshot complete up to", store.SnapshotDone},
	{"agent.server.raft.snapshot", "reaping snapshot", store.SnapshotDeleted},
	{"agent.server.raft", "compacting logs", store.LogTruncated},
	{"agent.server.raft", "installing snapshot on", store.FullStateSent},
	{"agent.server.raft", "Installed remote snapshot", store.FullStateReceived},
}

// millisecond is the unit of Consul's timers.
const millisecond = 0.001

// Metrics implements store.Store. An agent reports its metrics in the Prometheus format if its
// configuration has a prometheus_retention_time in telemetry.
func (*Store) Metrics(a store.Access, endpoint string) []store.MetricSource {
	s := store.MetricSource{URL: a.URL(endpoint) + "/v1/agent/metrics?format=prometheus", Names: metricNames(), Refusals: []store.MetricRefusal{
		{Text: "HTTP status 403", Remedy: "give the token the right agent:read"},
		{Text: "retention time", Remedy: "set telemetry.prometheus_retention_time in the agent's configuration"},
	}}
	if token := accessToken(a); token != "" {
		s.Header = map[string]string{"X-Consul-Token": token}
	}
	return []store.MetricSource{s}
}

// metricNames maps the metrics that all stores share to Consul's names (see Consul's page on
// telemetry). dispatchLog measures how long a leader takes to write and sync log entries, and
// storeLogs measures the same for a follower.
func metricNames() []store.MetricName {
	return []store.MetricName{
		{Metric: store.FsyncSeconds, Name: "consul_raft_leader_dispatchLog", Unit: millisecond},
		{Metric: store.FsyncSeconds, Name: "consul_raft_rpc_appendEntries_storeLogs", Unit: millisecond},
		{Metric: store.PeerRoundTripSeconds, Name: "consul_raft_replication_heartbeat", Unit: millisecond},
		{Metric: store.CPUSeconds, Name: "process_cpu_seconds_total"},
		{Metric: store.Processors, Name: "go_sched_gomaxprocs_threads"},
		{Metric: store.ResidentBytes, Name: "process_resident_memory_bytes"},
		// The number of times that the member was a candidate.
		{Metric: store.LeaderChanges, Name: "consul_raft_state_candidate"},
	}
}
