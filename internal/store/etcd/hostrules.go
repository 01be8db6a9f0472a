package etcd

import (
	"fmt"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The documents from which the rules are taken.
var (
	faq      = kv.Document{Title: "etcd documentation, FAQ", URL: "https://etcd.io/docs/latest/faq/"}
	tuning   = kv.Document{Title: tuningGuide, URL: "https://etcd.io/docs/latest/tuning/"}
	machines = kv.Document{Title: hardwareGuide, URL: "https://etcd.io/docs/latest/op-guide/hardware/"}
	prober   = kv.Document{Title: "etcd source code, the prober of peers", URL: "https://github.com/etcd-io/etcd/blob/main/server/etcdserver/api/rafthttp/probing_status.go"}
)

// diskRule is etcd's requirement for the disk that holds its log.
var diskRule = kv.DiskRule{
	Percentile: 99, Limit: 10 * time.Millisecond,
	Source: "etcd's documentation recommends a p99 of fdatasync below 10 ms; with slower disks, members miss heartbeats and the leader changes under load",
}

// hostRules returns etcd's requirements for machines.
func hostRules(disk kv.DiskRule) *kv.HostRules {
	return &kv.HostRules{
		Record: 2300, Written: "records of 2,300 bytes, the size in the fio measurement that etcd's FAQ refers to",
		Disk: disk, Document: faq,
		Rules: []kv.HostRule{
			{
				Quantity: kv.MeanRoundTrip, AtMost: longestElection.Seconds() / electionRTTs,
				Effect: "the election timeout must be at least 10 round trips, and at most 50 s",
				Remedy: "place the members closer to each other", Source: tuning,
			},
			{
				Quantity: kv.ClockDifference, AtMost: 1, Advice: true,
				Effect: "members log a warning about the clock difference, and leases and certificates depend on the clocks",
				Remedy: "synchronize the clocks, for example with chrony", Source: prober,
			},
			{
				Quantity: kv.WithheldCPU, AtMost: 0.05, Advice: true,
				Effect: "a starved leader sends its heartbeats too late, which causes elections; the document gives no number, and 5 % is the limit of quorumbench's own reports",
				Remedy: "use a machine with dedicated CPUs, or raise the CPU limit", Source: faq,
			},
			{
				Quantity: kv.Memory, AtLeast: 8e9 * usableMemory, Advice: true,
				Effect: "etcd's document calls 8 GB typical for production; small clusters run with less",
				Remedy: "use a machine with 8 GB of memory if the cluster will be large", Source: machines,
			},
		},
		Settings: settingsFor,
	}
}

// usableMemory is the share of a machine's memory that remains after the kernel has reserved its
// part.
const usableMemory = 0.9

// longestElection is the largest election timeout that the document "Tuning" permits.
const longestElection = maxElection * time.Millisecond

// settingsFor computes the heartbeat interval and the election timeout as etcd's document "Tuning"
// recommends. The interval is about the time that one round trip and one write to disk take
// together. The timeout is at least 10 intervals, 10 round trips, and twice the longest write.
// Neither result is below etcd's default. The timeout is at most 50 s. The interval is at most ten
// seconds, because etcd refuses a timeout that is shorter than five intervals.
func settingsFor(m kv.Measured) []kv.Setting {
	delay := m.MeanRoundTrip + m.P99Write
	const usualHeartbeat, usualElection = defaultHeartbeat * time.Millisecond, defaultElection * time.Millisecond
	heartbeat := min(max(usualHeartbeat, roundUp(delay, 10*time.Millisecond)), longestElection/5)
	election := min(max(usualElection, 10*heartbeat, roundUp(electionRTTs*m.MeanRoundTrip, 100*time.Millisecond), roundUp(2*m.LongestWrite, 100*time.Millisecond)), longestElection)
	why := fmt.Sprintf("about one round trip (%s) plus one write (p99 %s); not below the default of %v", text.Duration(float64(m.MeanRoundTrip)), text.Duration(float64(m.P99Write)), usualHeartbeat)
	return []kv.Setting{
		{Name: "heartbeat-interval", Value: milliseconds(heartbeat), Reason: why, Source: tuning},
		{Name: "election-timeout", Value: milliseconds(election), Reason: fmt.Sprintf("at least 10 heartbeat intervals, at least 10 round trips, and at least twice the longest write (%s); not below the default of %v, and not above the maximum of %v", text.Duration(float64(m.LongestWrite)), usualElection, longestElection), Source: tuning},
	}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

// roundUp returns the smallest multiple of unit that is not below d.
func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }
