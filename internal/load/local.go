package load

import (
	"context"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Local generates load in this process.
type Local struct {
	// Stores returns the store with the given name.
	Stores func(name string) (store.Store, error)
	// Access returns the access that an assignment describes. If it is nil, ReadAccess is used.
	Access func(*scenario.RunningCluster) (store.Access, error)
	// Script replaces the operations in the Assignment, unless Script is nil.
	Script app.Script
	// InAgent is set if a controller waits for this process's heartbeats.
	InAgent bool
	// Now returns the time on the worker's clock. If it is nil, measure.Now is used.
	Now func() time.Time
	// World provides the clock and the connections of the load. If it is nil, the load uses those
	// of this machine.
	World World
	// poller creates the pollers. If it is nil, poll.NewPoller is used.
	poller func(conns int, base time.Time, d poll.Dialer) (poll.Poller, error)
}

var _ Worker = (*Local)(nil)

// plan creates the objects that are needed to execute an assignment.
func (w *Local) plan(a *Assignment) (*plan, error) {
	if len(a.Endpoints) == 0 {
		return nil, fmt.Errorf("the load on %s has no endpoint", a.Store)
	}
	st, err := w.Stores(a.Store)
	if err != nil {
		return nil, err
	}
	resolve := w.Access
	if resolve == nil {
		resolve = ReadAccess
	}
	access, err := resolve(&a.Access)
	if err != nil {
		return nil, err
	}
	p := &plan{Assignment: *a, store: st, access: access, inAgent: w.InAgent, now: w.now, world: w.World, poller: w.poller}
	if p.script = w.Script; p.script == nil {
		if p.script, err = newScript(a, st.Capabilities()); err != nil {
			return nil, err
		}
	}
	if p.script != nil {
		p.grants = &store.Grants{}
		p.Load.Threads = 1
		p.wrap = func(*source) engine.Source { return p.script.Source() }
		if m := p.script.Model(); m != nil && a.Load.Verify {
			p.chronicler = func(to *history.Recorder) engine.History { return m.NewKeyRecorder(to) }
		}
		return p, nil
	}
	if mixHas(&a.Load, kv.CAS) {
		p.versions = keys.RestoreVersions(a.Load.KeySpace, a.Preloaded.versions())
	}
	return p, nil
}

// Clock implements Worker.
func (w *Local) Clock(context.Context) (time.Time, error) { return w.now(), nil }

// now returns the time on the worker's clock.
func (w *Local) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return measure.Now()
}

// Check implements Worker.
func (w *Local) Check(ctx context.Context, a *Assignment) (loops int, err error) {
	p, err := w.plan(a)
	if err != nil {
		return 0, err
	}
	return p.Loops(), p.check(ctx)
}

// Preload implements Worker.
func (w *Local) Preload(ctx context.Context, a *Assignment) (*Preloaded, error) {
	p, err := w.plan(a)
	if err != nil {
		return nil, err
	}
	if p.script != nil {
		return p.prepare(ctx)
	}
	return p.preload(ctx)
}

// WriteVersions implements Worker.
func (w *Local) WriteVersions(ctx context.Context, a *Assignment) (first int64, err error) {
	p, err := w.plan(a)
	if err != nil {
		return 0, err
	}
	return p.writeVersions(ctx)
}

// Prepare implements Worker.
func (w *Local) Prepare(_ context.Context, a *Assignment, reports Reports) (Job, error) {
	p, err := w.plan(a)
	if err != nil {
		return nil, err
	}
	p.reports = reports
	probe.ReleasePages() // so that memory from earlier work does not count for this load
	g, err := newGenerator(p)
	if err != nil {
		return nil, err
	}
	return g, nil
}
