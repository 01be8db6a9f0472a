package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/fault"
	"github.com/quorumbench/quorumbench/internal/store"
)

// breakMembers injects the load's faults during the window. It returns when the cluster has
// recovered from all faults or when the run has ended.
func (w *monitor) breakMembers(run, ctx context.Context) {
	all := w.t.Spec.Load.Injections()
	if len(all) == 0 {
		return
	}
	load.YieldTo(w.t.Worker)
	select {
	case <-ctx.Done():
		return
	case <-w.opened:
	}
	injector := &fault.Injector{
		Cluster: w.t.Cluster.Started, Ask: w.t.queryStatus, Admin: w.t.openAdmin, Server: w.t.Server, Names: w.t.Cluster.names(), Clock: fault.SystemClock{},
		Event: func(e record.Event) { _ = w.out.Event(e) }, // the writer remembers an error
	}
	w.faults = injector.Run(run, ctx, w.phases.began(measure.Measured), all)
}

// queryStatus asks all members for their status over new connections.
func (t *Trial) queryStatus(ctx context.Context) (store.Status, error) {
	admin, err := t.openAdmin(t.Cluster.Access().Endpoints)
	if err != nil {
		return store.Status{}, err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	return admin.Status(ctx)
}

// openAdmin opens an administration connection to some of the cluster's endpoints.
func (t *Trial) openAdmin(endpoints []string) (store.Admin, error) {
	access := t.Cluster.Access()
	access.Endpoints = endpoints
	return t.Cluster.Store.Admin(access)
}

// attribute determines which of the lost members, elections and failed operations were caused by
// injected faults, and which had other causes. It stores the results in o.
func (w *monitor) attribute(o *record.Observed, res *load.Result) {
	o.Faults = w.faults
	at := func(t time.Time) float64 { return t.Sub(res.Opened).Seconds() }
	o.LostMembers = w.m.lost(func(t time.Time) bool { return record.InRecoveredFault(w.faults, at(t)) })
	closed := res.Opened.Add(time.Duration(res.Measured.Seconds * float64(time.Second)))
	o.TermChanges = w.elections.countBetween(res.Opened, closed)
	o.TermChangesInFaults = w.elections.count(func(t time.Time) bool {
		return !t.Before(res.Opened) && !t.After(closed) && record.InFault(w.faults, at(t))
	})
	for i, n := range w.window.failed {
		if record.InFault(w.faults, float64(i)) || record.InFault(w.faults, float64(i+1)) {
			o.ErrorsInFaults += n
		}
	}
}
