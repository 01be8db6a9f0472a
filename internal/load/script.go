package load

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Script is a load that is said operation by operation, instead of by a mix, keys and
// arrivals: those of the Assignment describe it. It is for one worker with one loop, and
// for one run.
type Script interface {
	// Source has the operations of the window, and Pacer says when they are due.
	Source() engine.Source
	Pacer() pace.Pacer
	// Before has so many operations that are done before, in no order, so that the
	// store is as the first operation of the window needs it.
	Before() (s engine.Source, n uint64)
}

// CallCounter is an optional interface of a Script that counts its calls by kinds of its own.
type CallCounter interface {
	// Calls is known when the load has ended.
	Calls() []measure.Calls
}

// Watcher is an optional interface of a Script that watches beside its operations.
// Scenario's Watch then says how many watchers there are, for who reads the load.
type Watcher interface {
	// Watching is nil where it has nothing to watch.
	Watching() *watch.Plan
}

// Checked is an interface of a Script whose answers can be checked, as those of each
// application are: its keys have numbers, and it tells what each of its operations was.
type Checked interface {
	// Keys is how many there are, from number 0 on.
	Keys() uint64
	// AppendKey appends the key with a number.
	AppendKey(b []byte, number uint64) []byte
	// Chronicle records the operations of the Source, and what the watchers are told.
	Chronicle(to *history.Recorder) engine.Chronicler
}

// Reader is an optional interface of a Checked whose keys are read after the load otherwise
// than as keys.
type Reader interface {
	// FillRead makes the read of the key with a number, at a level.
	FillRead(number uint64, level kv.Consistency, op *store.Op)
	// There reports whether an answer, which is that of no failure, says that the key is
	// there.
	There(ev *store.Event) bool
}

// Keeper is an optional interface of a Script that learns something before the load,
// such as the revisions of keys or the numbers of leases. What it kept is given to the
// one that sends the load, which may be in another process (application.Setup.Before).
type Keeper interface {
	// Kept is known when the operations of Before have ended.
	Kept() []int64
}

// Stager is an optional interface of a Script with operations that are done before the
// load, and that need what those of Before did.
type Stager interface {
	// After has so many operations that are done after those of Before, in no order.
	After() (s engine.Source, n uint64)
}

// SessionKeeper is an optional interface of a Script whose own operations keep the sessions
// of its connections alive, of a store where each connection has one.
type SessionKeeper interface {
	// SessionTimeout is how long such a session lives without them; 0: the script does not
	// keep sessions, and the connections do.
	SessionTimeout() time.Duration
}

// loadAccess is the access of the load's own connections.
func (p *plan) loadAccess() store.Access {
	a := p.access
	a.Grants = p.grants
	if s, ok := p.script.(SessionKeeper); ok {
		a.SessionTimeout = s.SessionTimeout()
	}
	return a
}

// prepare is Worker.Preload of a script.
func (p *plan) prepare(ctx context.Context) (done *Preloaded, err error) {
	done = &Preloaded{}
	defer func() { done.Leases = p.grants.Names() }()
	stages := []func() (engine.Source, uint64){p.script.Before}
	if s, ok := p.script.(Stager); ok {
		stages = append(stages, s.After)
	}
	for _, stage := range stages {
		if before, n := stage(); n > 0 {
			if err := p.prepareWith(ctx, before, n); err != nil {
				return done, err
			}
			done.Written += n
		}
	}
	if s, ok := p.script.(Keeper); ok {
		done.Versions = s.Kept()
	}
	return done, nil
}

// prepareWith does operations, in no order.
func (p *plan) prepareWith(ctx context.Context, before engine.Source, n uint64) error {
	one := *p
	one.script, one.chronicler = nil, nil
	left := fullSet(n)
	t, err := one.repeat(ctx, scenario.Operation{Kind: kv.Put, Weight: 1}, left, Reports{}, func(*source) engine.Source { return before })
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case left.count.Load() == 0:
		return nil
	}
	return cmp.Or(unwritten(t, n), err)
}

// unwritten says what of the objects that are to be there could not be written; nil if all
// were. Where there was no room that is the reason, whatever else then failed.
func unwritten(t *measure.Totals, of uint64) error {
	why := func(o kv.Outcome) error {
		return fmt.Errorf("what is there when the load begins cannot be written: %d of %d operations ended in %v: %s", t.Outcomes[o], of, o, t.ErrorTexts[o])
	}
	if t.Outcomes[kv.NoSpace] > 0 {
		return &NoSpaceError{Why: why(kv.NoSpace)}
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if t.Outcomes[o] > 0 {
			return why(o)
		}
	}
	return nil
}

// NoSpaceError says that what is to be there when a load begins has no room in the store.
// It is one of a worker in this process: from another machine only its text comes.
type NoSpaceError struct{ Why error }

func (e *NoSpaceError) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e *NoSpaceError) Unwrap() error { return e.Why }
