package load

import (
	"cmp"
	"context"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// newScript returns the script of an application's load for a store with the given capabilities. It
// returns nil if the load is not an application.
func newScript(a *Assignment, capabilities kv.Capabilities) (app.Script, error) {
	l := &a.Load
	which := findApplication(l.Application.Name)
	if which == nil {
		return nil, nil
	}
	d := which.Definition()
	way, err := d.FindWay(a.Store, capabilities)
	if err != nil {
		return nil, err
	}
	return which.Script(app.Setup{
		Settings: l.Application.Values(), Way: way, Seed: l.Seed, Length: l.Duration, Prefix: l.Prefix,
		Connections: l.Connections, PreloadResults: a.Preloaded.versions(), Confined: a.Confined, ClusterWide: l.ClusterWide,
	}), nil
}

// loadAccess returns the access that the load's own connections use.
func (p *plan) loadAccess() store.Access {
	a := p.access
	a.Grants = p.grants
	if p.script != nil {
		a.SessionTimeout = p.script.SessionTimeout()
	}
	return a
}

// prepare implements Worker.Preload for a load with a script.
func (p *plan) prepare(ctx context.Context) (done *Preloaded, err error) {
	done = &Preloaded{}
	defer func() { done.Leases = p.grants.Names() }()
	for _, stage := range []func() (engine.Source, uint64){p.script.FirstPreload, p.script.SecondPreload} {
		if before, n := stage(); n > 0 {
			if err := p.prepareWith(ctx, before, n); err != nil {
				return done, err
			}
			done.Written += n
		}
	}
	done.Versions = p.script.PreloadResults()
	return done, nil
}

// prepareWith executes, in any order, the n operations of the source `preload`, which prepare a
// script's load.
func (p *plan) prepareWith(ctx context.Context, preload engine.Source, n uint64) error {
	attempt := *p
	attempt.script, attempt.chronicler = nil, nil
	left := fullSet(n)
	t, err := attempt.repeat(ctx, scenario.Operation{Kind: kv.Put, Weight: 1}, left, Reports{}, func(*source) engine.Source { return preload })
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case left.count.Load() == 0:
		return nil
	}
	return cmp.Or(describeUnwritten(t, n), err)
}

// describeUnwritten returns an error that explains why some of the script's initial objects could
// not be written, or nil if all were written. If the store ran out of space, the error contains
// this reason, even if operations also failed with other errors.
func describeUnwritten(t *measure.Totals, total uint64) error {
	why := func(o kv.Outcome) error {
		return fmt.Errorf("the initial data of the load could not be written: %d of %d operations failed with %v: %s", t.Outcomes[o], total, o, t.ErrorTexts[o])
	}
	if t.Outcomes[kv.NoSpace] > 0 {
		return &NoSpaceError{Cause: why(kv.NoSpace)}
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if t.Outcomes[o] > 0 {
			return why(o)
		}
	}
	return nil
}

// NoSpaceError reports that the store has no space for the objects that must exist at the start of
// a load. Only a worker in this process returns this type; if the worker is on another machine,
// only the text of the error arrives.
type NoSpaceError struct{ Cause error }

// Error returns the reason.
func (e *NoSpaceError) Error() string { return e.Cause.Error() }

// Unwrap returns the reason.
func (e *NoSpaceError) Unwrap() error { return e.Cause }
