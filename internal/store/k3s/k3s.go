// Package k3s contains the requirements of k3s with SQLite. quorumbench cannot start or load k3s,
// so k3s is no store. But its requirements are checked like those of stores, because k3s runs where
// etcd would run otherwise.
package k3s

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Name is the name of k3s with SQLite in flags and reports.
const Name = "k3s"

var (
	requirements = kv.Document{Title: "K3s: Requirements", URL: "https://docs.k3s.io/installation/requirements"}
	kine         = kv.Document{Title: "kine's source code: the threshold of slow SQL", URL: "https://github.com/k3s-io/kine/blob/master/pkg/metrics/metrics.go"}
	datastore    = kv.Document{Title: "K3s: Cluster Datastore", URL: "https://docs.k3s.io/datastore"}
	wal          = kv.Document{Title: "SQLite: Write-Ahead Logging", URL: "https://sqlite.org/wal.html"}
)

// HostRules returns the requirements of a k3s server that keeps its data in SQLite.
func HostRules() *kv.HostRules {
	return &kv.HostRules{
		Record: 24 + 4096,
		Written: "frames of SQLite's write-ahead log, each with a page of 4,096 bytes and a header of 24 bytes; it syncs each frame and is thus stricter than k3s: " +
			"k3s runs SQLite with synchronous=NORMAL, which syncs the log only before a checkpoint",
		Disk: kv.DiskRule{
			Percentile: 100, Limit: time.Second,
			Source: "kine, which k3s uses for SQLite, logs each statement that takes more than 1 s as slow; k3s's documents give no limit and recommend an SSD",
		},
		Document: kine,
		NoNetworkFiles: &kv.HostRule{
			Quantity: kv.NetworkFiles,
			Effect:   "SQLite's write-ahead log does not work over a network file system",
			Remedy:   "use a local disk", Source: wal,
		},
		Rules: []kv.HostRule{
			{
				Quantity: kv.Memory, AtLeast: 2e9 * 0.9,
				Effect: "a k3s server needs at least 2 GB", Remedy: "use a machine with more memory", Source: requirements,
			},
			{
				Quantity: kv.Processors, AtLeast: 2,
				Effect: "a k3s server needs at least 2 cores", Remedy: "use a machine with more CPUs, or raise the CPU limit", Source: requirements,
			},
			{
				Quantity: kv.HostCount, AtMost: 1, Advice: true,
				Effect: "k3s with SQLite supports only one server, so each host was judged as the only server",
				Remedy: "for several servers, use k3s with its embedded etcd, and check the hosts for etcd", Source: datastore,
			},
		},
	}
}
