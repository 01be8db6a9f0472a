package trial

import (
	"context"
	"os"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
)

func newMonitor(ctx context.Context, t *Trial, m *members, out *record.TrialWriter) (*monitor, error) {
	sampler, err := newSampler(ctx, t.Host, t.Cluster.Members(), t.Sources...)
	if err != nil {
		return nil, err
	}
	sampler.addLocalMembers(t.Cluster.localProcesses())
	if len(t.Spec.Load.Faults) > 0 {
		sampler.members = t.Cluster.Members
	}
	w := &monitor{t: t, m: m, out: out, sampler: sampler, began: measure.Now(), secondBuffer: measure.NewHistogram(), opened: make(chan struct{})}
	w.follower = cluster.NewFollower(w.followerConfig())
	w.scrapes = newMetricsRecorder(t, m, out)
	w.listener = t.logs.listener(w.began)
	return w, nil
}

// begin starts observing a load that is about to run on the given endpoints. The parameter run is
// the context of the whole run.
func (w *monitor) begin(run context.Context, g load.Job, endpoints []string) {
	w.setTarget(g, endpoints)
	w.done = func() uint64 { return g.Progress().Done }
	ctx, quit := context.WithCancel(context.Background())
	w.quit = quit
	run, w.abandonRecovery = w.untilHostLost(run)
	w.sampler.sampleMembers(ctx) // must be called before the window opens, because the first sample of a machine takes long
	w.scrapes.begin()
	w.running.Go(func() { w.follower.Run(ctx, func() { load.YieldTo(w.t.Worker) }) })
	w.running.Go(func() { w.sample(ctx) })
	w.running.Go(func() { w.listen(ctx) })
	w.running.Go(func() { w.compact(ctx) })
	w.running.Go(func() { w.breakMembers(run, ctx) })
	w.running.Go(func() { w.progress(ctx, g) })
}

// end stops observing after the load has ended. If a host with members was lost before the load
// ended, end returns the reason. Otherwise it returns nil.
func (w *monitor) end() (lost error) {
	lost = w.sampler.recordLostHosts()
	w.quit()
	w.running.Wait()
	w.abandonRecovery()
	w.scrapes.stop()
	w.generator = nil // the generator has ended and cannot be moved
	return lost
}

// observed returns the resource usage in the measurement window: of the generator, of the members
// and of the machine.
func (w *monitor) observed(res *load.Result) record.Observed {
	closed, ok := w.phases.ended()
	if !ok {
		return newObserved(res.Used, nil, nil, "")
	}
	store, started := w.sampler.store.usageBetween(res.Opened, closed)
	var here *float64
	if store != nil {
		here = &started
	} else if all, found := w.sampler.local.usageBetween(res.Opened, closed); all != nil {
		here = &found
	}
	machine, _ := os.Hostname()
	o := newObserved(res.Used, store, here, machine)
	if o.Hosts = w.sampler.byHost(res.Opened, closed); len(o.Hosts) > 0 {
		o.ForeignShare = nil // each host has its own share; the share for this machine is set below
		for i := range o.Hosts {
			if h := &o.Hosts[i]; h.Machine == record.MachineName {
				o.ForeignShare = h.ForeignShare
			}
		}
	}
	o.RanForLoad = w.sampler.ranForLoad(res.Opened, closed, w.window.runWaits)
	o.DatabaseGrowth = w.scrapes.databaseGrowth(res.Opened, closed)
	o.SamplingCPUSeconds = w.sampler.costBetween(res.Opened, closed)
	return o
}
