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

// durability measures fdatasync in the members' data folders, once for each
// device that they lie on, and returns the slowest.
func durability(own *cluster.Cluster) (*record.Durability, error) {
	d := &record.Durability{Synced: own.Synced()}
	var folders []string
	for _, m := range own.Members() {
		folders = append(folders, m.DataDir)
	}
	return d, measureFolders(d, folders, probe.FsyncWrites)
}

func measureFolders(d *record.Durability, folders []string, writes int) error {
	seen := map[uint64]bool{}
	var all []probe.FsyncResult
	for _, dir := range folders {
		device, err := probe.Device(dir)
		if err != nil {
			return err
		}
		if seen[device] {
			continue
		}
		seen[device] = true
		f, err := probe.Fsync(dir, writes)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	slowest(d, all)
	return nil
}

// slowest takes the slowest of several measurements; a percentile that one of
// them does not support is not known.
func slowest(d *record.Durability, all []probe.FsyncResult) {
	p99, known := 0.0, len(all) > 0
	for i, f := range all {
		d.FileSystem, d.Volatile = f.FileSystem, d.Volatile || !f.Durable
		if i == 0 || f.Count < d.Fdatasyncs {
			d.Fdatasyncs = f.Count
		}
		d.FdatasyncP50NS = max(d.FdatasyncP50NS, int64(f.P50.NS))
		p99, known = max(p99, f.P99.NS), known && f.P99.Known
	}
	if known {
		ns := int64(p99)
		d.FdatasyncP99NS = &ns
	}
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
