package consul

import (
	"fmt"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// resources is the document from which the rules are taken.
var resources = kv.Document{Title: resourceGuide, URL: "https://developer.hashicorp.com/consul/docs/install/performance"}

// diskRule is Consul's requirement for the disk that holds its log.
var diskRule = kv.DiskRule{
	Percentile: 100, Limit: 500 * time.Millisecond,
	Source: "Consul's leader steps down after a wait that is as long as the leader lease: 500 ms at raft_multiplier 1, or 2.5 s at Consul's default of 5",
}

// hostRules returns Consul's requirements for the machines of servers.
func hostRules(disk kv.DiskRule) *kv.HostRules {
	return &kv.HostRules{
		Record: 2300, Written: "records of 2,300 bytes",
		Disk: disk, Document: resources,
		Rules: []kv.HostRule{
			{
				Quantity: kv.MeanRoundTrip, AtMost: maxRoundTrip.Seconds(),
				Effect: "Consul's document requires a mean round trip below 50 ms between servers in production",
				Remedy: "place the servers closer to each other", Source: resources,
			},
			{
				Quantity: kv.P99RoundTrip, AtMost: 0.1,
				Effect: "Consul's document requires a p99 below 100 ms for round trips between servers in production",
				Remedy: "place the servers closer to each other, or find what delays packets", Source: resources,
			},
			{
				Quantity: kv.OpenFiles, AtLeast: 1025, Advice: true,
				Effect: "with the default of 1,024 open files, the leader of a cluster with many writes can run out of file descriptors",
				Remedy: "raise the limit for Consul's service, for example with LimitNOFILE=65536", Source: resources,
			},
			{
				Quantity: kv.Memory, AtLeast: recommendedMemory * 0.9, Advice: true,
				Effect: "Consul's document recommends 32 GB for production; small clusters run with less",
				Remedy: "use a larger machine if the cluster will be large", Source: resources,
			},
			{
				Quantity: kv.Processors, AtLeast: recommendedProcessors, Advice: true,
				Effect: "Consul's document recommends 8 cores for production; small clusters run with fewer",
				Remedy: "use a larger machine if the cluster will be large", Source: resources,
			},
		},
		Settings: settingsFor,
	}
}

// leaderLease is the leader's lease at raft_multiplier 1.
const leaderLease = 500 * time.Millisecond

// settingsFor computes raft_multiplier. Consul's document recommends 1 for production, and higher
// values on slower machines. The leader's lease is 500 ms × raft_multiplier. The lease must be
// twice as long as a round trip and the longest write together.
func settingsFor(m kv.Measured) []kv.Setting {
	need := 2 * (m.P99RoundTrip + m.LongestWrite)
	multiplier := min(max(1, int((need+leaderLease-1)/leaderLease)), maxRaftMultiplier)
	return []kv.Setting{{
		Name: "raft_multiplier", Value: strconv.Itoa(multiplier),
		Reason: fmt.Sprintf("the smallest value with a leader lease (500 ms × raft_multiplier) of at least twice %s, the sum of a round trip and the longest write; 1 is recommended for production, 5 is the default, and 10 is the maximum", text.Duration(float64(m.P99RoundTrip+m.LongestWrite))),
		Source: resources,
	}}
}
