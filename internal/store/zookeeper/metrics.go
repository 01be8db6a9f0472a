package zookeeper

import (
	"net"

	"github.com/quorumbench/quorumbench/internal/store"
)

// prometheusPort is where ZooKeeper's Prometheus provider listens unless it is
// configured otherwise.
const prometheusPort = "7000"

// millisecond is the unit of ZooKeeper's timers.
const millisecond = 0.001

// Metrics implements store.Store. The word mntr is answered at the client
// port, by members that may; with the Prometheus provider it reports the Java
// machine's figures too. Else the provider's own port may be there.
func (*Store) Metrics(_ store.Access, endpoint string) []store.MetricSource {
	sources := []store.MetricSource{{
		Command: "mntr",
		Names: append(metricNames("zk_"),
			// What mntr calls them with the default provider.
			store.MetricName{Metric: store.FsyncSeconds, Sum: "zk_sum_fsynctime", Count: "zk_cnt_fsynctime", Unit: millisecond},
		),
		Refusals: []store.MetricRefusal{{Text: notInWhitelist, Remedy: "add mntr to 4lw.commands.whitelist in the server's configuration"}},
	}}
	if host, _, err := net.SplitHostPort(endpoint); err == nil {
		sources = append(sources, store.MetricSource{
			URL: "http://" + net.JoinHostPort(host, prometheusPort) + "/metrics", Names: metricNames(""),
		})
	}
	return sources
}

// metricNames is what the Prometheus provider calls the shared metrics.
func metricNames(prefix string) []store.MetricName {
	return []store.MetricName{
		{Metric: store.FsyncSeconds, Sum: prefix + "fsynctime_sum", Count: prefix + "fsynctime_count", Unit: millisecond},
		{Metric: store.CPUSeconds, Name: prefix + "process_cpu_seconds_total"},
		{Metric: store.ResidentBytes, Name: prefix + "process_resident_memory_bytes"},
		// How often the member looked for a leader.
		{Metric: store.LeaderChanges, Name: prefix + "looking_count"},
	}
}
