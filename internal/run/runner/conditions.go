package runner

import (
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// newHost is the machine that we run on. Where to look for free ports first is
// drawn without the run's seed: two runs at once must not look in one place.
func newHost() *host.Local { return host.NewLocal(time.Now, rand.IntN) }

// fsyncs is how many syncs a member's disk is measured with.
const fsyncs = 100

func machine() record.Machine {
	m := probe.Machine()
	name, err := os.Hostname()
	if err != nil {
		name = "local"
	}
	about := record.Machine{
		Name: name, System: runtime.GOOS, Kernel: m.Kernel, Architecture: runtime.GOARCH,
		CPU: m.CPU, CPUs: m.Cores, MemoryBytes: uint64(max(m.Memory, 0)),
	}
	if limit, ok := probe.CPULimit(); ok {
		about.CPULimit = &limit
	}
	return about
}

// durability measures fdatasync in every member's data folder and returns the
// slowest.
func durability(own *cluster.Cluster) (*record.Durability, error) {
	d := &record.Durability{Synced: own.Synced()}
	for _, m := range own.Members() {
		f, err := probe.Fsync(m.DataDir, fsyncs)
		if err != nil {
			return nil, err
		}
		d.FileSystem, d.Volatile = f.FileSystem, d.Volatile || !f.Durable
		d.FdatasyncP50NS = max(d.FdatasyncP50NS, f.P50)
		d.FdatasyncP99NS = max(d.FdatasyncP99NS, f.P99)
	}
	return d, nil
}

// loopback says whether all endpoints are on this machine; nil if that cannot
// be told from their addresses.
func loopback(endpoints []string) *bool {
	all := len(endpoints) > 0
	for _, e := range endpoints {
		hostname, _, err := net.SplitHostPort(e)
		if err != nil {
			return nil
		}
		ip := net.ParseIP(hostname)
		if hostname != "localhost" && (ip == nil || !ip.IsLoopback()) {
			all = false
		}
	}
	if !all {
		return nil
	}
	return &all
}
