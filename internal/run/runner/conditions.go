package runner

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// newHost is the machine that we run on. Where to look for free ports first is
// drawn without the run's seed: two runs at once must not look in one place.
func newHost() *host.Local { return host.NewLocal(time.Now, rand.IntN) }

// hosts are those of the members.
func (r *run) hosts() []host.Host {
	if len(r.Hosts) > 0 {
		return r.Hosts
	}
	return []host.Host{r.host}
}

// describeHosts asks every host what it is, and returns the machines: the
// generator's first, and each once.
func (r *run) describeHosts(ctx context.Context) ([]record.Machine, error) {
	r.about = map[host.Host]host.Description{}
	var places []host.Place
	var machines []record.Machine
	for _, h := range append([]host.Host{r.host}, r.Hosts...) {
		d, err := h.Describe(ctx)
		if err != nil {
			return nil, err
		}
		r.about[h] = d
		if !slices.ContainsFunc(places, d.Place.SameMachine) {
			places, machines = append(places, d.Place), append(machines, d.Machine)
		}
	}
	return machines, nil
}

// durability measures fdatasync in the members' data folders, once for each
// device that they lie on, and returns the slowest.
func durability(ctx context.Context, own *cluster.Cluster) (*record.Durability, error) {
	all, err := own.Fsync(ctx, probe.FsyncWrites)
	d := &record.Durability{Synced: own.Synced()}
	slowest(d, all)
	return d, err
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
// be seen from their addresses.
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
