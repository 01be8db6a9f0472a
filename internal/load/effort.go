package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The operations that prepare a load, and those that read after it, form a separate load. It
// is as fast as the store accepts, within the connections and clients of the load itself.
const (
	prepareConnections = 32
	prepareClients     = 256
	// preparesWithin is roughly how long the preparation of an open loop may take on a cluster
	// that already ran: the rate is limited accordingly.
	preparesWithin = 10 * time.Second
)

// Limits for repeating refused operations. After fruitlessTries without any success the
// preparation gives up. The pauses between them double, beginning with firstRefusal.
const (
	fruitlessTries = 6
	firstRefusal   = 100 * time.Millisecond
	// refusedShare is the share of refused operations in a second that slows the next try.
	refusedShare = 0.05
	// backOff is the next try's rate as a share of the rate that the store accepted.
	backOff = 0.8
	// quickly is the longest time in which a connection limit refuses a connection.
	quickly = time.Second
	// refilled is the pause after a rate limit has refused operations, so that the load finds
	// the limit as if there had been no preparation.
	refilled = 2 * time.Second
)

// effort is how hard the preparation of a load presses the store. It is reduced when the
// store refuses operations.
type effort struct {
	connections, clients int
	rate                 float64       // operations per second; 0: no limit
	refused              bool          // the store has refused an operation
	fruitless            int           // tries in a row without any success
	pause                time.Duration // before the next try
}

// effort returns the initial effort for n operations that prepare the load.
func (p *plan) effort(n uint64) *effort {
	l := &p.Load
	e := &effort{clients: l.Clients}
	if l.Arrival != scenario.Closed {
		e.clients = l.MaxInFlight
		if p.Confined && l.Rate.PerSecond > 0 {
			e.rate = max(l.Rate.PerSecond, float64(n)/preparesWithin.Seconds())
		}
	}
	e.clients = int(min(uint64(prepareClients), uint64(max(e.clients, 1)), max(n, 1)))
	e.connections = max(min(prepareConnections, l.Connections, e.clients), 1)
	return e
}

// load returns the load that sends n operations with this effort. inFlight is the number of
// operations that a connection takes at a time; 0 for any number.
func (e *effort) load(l scenario.Load, what scenario.Operation, n uint64, inFlight int) scenario.Load {
	l.Mix, l.Watch, l.NewConnection = []scenario.Operation{what}, nil, false
	l.Arrival, l.Rate, l.Warmup, l.Duration, l.Total = scenario.Closed, scenario.Rate{}, 0, 0, n
	l.Connections, l.Clients = e.connections, e.clients
	if inFlight == 1 {
		l.Clients = l.Connections
	}
	if e.rate > 0 {
		l.Arrival, l.Rate, l.MaxInFlight = scenario.Constant, scenario.Rate{PerSecond: e.rate}, l.Clients
	}
	return l
}

// adapt adapts the effort to the result of a try, and reports whether to try again. did is
// the number of operations answered in the time took, and why is the error if the try could
// not connect.
func (e *effort) adapt(t *measure.Totals, did uint64, took time.Duration, why error) bool {
	e.pause = 0
	if did > 0 {
		e.fruitless = 0
	} else {
		e.fruitless++
		e.pause = firstRefusal << min(e.fruitless-1, fruitlessTries)
	}
	switch {
	case why != nil:
		if did == 0 && took > quickly { // a limit refuses sooner, unless it is silent: try one connection
			few := e.connections == 1
			e.connections = 1
			return !few
		}
		e.halve()
	case t.Outcomes[kv.NoSpace] > 0, did == 0 && (hopelessKinds(t) || !onlyRefused(t)):
		return false
	case t.Outcomes[kv.Refused] > 0:
		e.refused = true
		if e.rate = backOff * float64(did) / max(took.Seconds(), 1e-3); did == 0 {
			e.rate = 1
		}
		e.rate = max(e.rate, 1)
		e.halve()
	case t.Outcomes[kv.ConnectionLost] > 0:
		e.halve()
	}
	return e.fruitless < fruitlessTries
}

// halve halves the number of connections and clients.
func (e *effort) halve() {
	e.connections = max(e.connections/2, 1)
	e.clients = max(e.clients/2, 1)
}

// hopelessKinds reports whether operations failed in a way that repeating them does not
// change. It is asked only if no operation succeeded.
func hopelessKinds(t *measure.Totals) bool {
	return t.Outcomes[kv.Denied]+t.Outcomes[kv.BadRequest] > 0
}

// onlyRefused reports whether each failed operation was certainly not executed, or lost its
// connection, as when a connection limit closes it.
func onlyRefused(t *measure.Totals) bool {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if t.Outcomes[o] > 0 && !o.Definite() && o != kv.ConnectionLost && o != kv.WrongAnswer {
			return false
		}
	}
	return true
}

// slowDown reports whether a second is reason to abort a try: all operations failed, or too
// many were refused.
func slowDown(s *measure.Second) bool {
	failed, all := uint64(0), uint64(0)
	for o := range kv.NumOutcomes {
		all += s.Outcomes[o]
		if o.Failed() && o != kv.WrongAnswer {
			failed += s.Outcomes[o]
		}
	}
	return failed == all && failed > 0 || float64(s.Outcomes[kv.Refused]) > refusedShare*float64(all)
}

// repeat executes operations until each of the numbers in left has a reply, or the store
// accepts no more. It repeats failed operations, more slowly if they were refused. sourceOf
// wraps the source of each loop. The totals returned are those of the last try.
func (p *plan) repeat(ctx context.Context, what scenario.Operation, left *set, reports Reports, sourceOf func(*source) engine.Source) (*measure.Totals, error) {
	e := p.effort(left.count.Load())
	for {
		numbers := left.snapshot()
		if numbers.count == 0 {
			return &measure.Totals{}, nil
		}
		began := p.now()
		res, err := p.try(ctx, e.load(p.Load, what, numbers.count, p.store.Capabilities().InFlight), reports, func(s *source) engine.Source {
			return &repeated{Source: sourceOf(s), numbers: numbers, left: left}
		})
		took, did := p.now().Sub(began), numbers.count-left.count.Load()
		t := &measure.Totals{}
		if res != nil {
			t = res.Measured
		}
		switch {
		case ctx.Err() != nil:
			return t, context.Cause(ctx)
		case left.count.Load() == 0:
			if e.refused && !wait(ctx, refilled) {
				return t, context.Cause(ctx)
			}
			return t, nil
		case !e.adapt(t, did, took, err):
			return t, errors.Join(err, failure(t, what))
		case !wait(ctx, e.pause):
			return t, context.Cause(ctx)
		}
	}
}

// try runs a load once, until it is done or a second shows that it is too fast.
func (p *plan) try(ctx context.Context, l scenario.Load, reports Reports, wrap func(*source) engine.Source) (*Result, error) {
	one := *p
	one.Load, one.Shard, one.Preloaded, one.Endpoints, one.length = l, Shard{}, nil, p.preparing(), 0
	within, giveUp := context.WithCancel(ctx)
	defer giveUp()
	one.reports = Reports{History: reports.History, Second: func(s *measure.Second) {
		if slowDown(s) {
			giveUp()
		}
	}}
	one.wrap = wrap
	g, err := newGenerator(&one)
	if err != nil {
		return nil, err
	}
	return RunJob(within, g)
}

// wait waits for d, and reports false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// repeated sends the operations of a source whose numbers are listed, and removes the numbers
// of those that were answered from left.
type repeated struct {
	engine.Source
	engine.ReactiveBase
	numbers *numberList
	left    *set
}

// Fill implements engine.Source.
func (r *repeated) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	return r.Source.Fill(phase, r.numbers.nth(n), client, op)
}

// Kind implements engine.Source.
func (r *repeated) Kind(phase measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	return r.Source.Kind(phase, r.numbers.nth(n))
}

// Ended implements engine.Reactive.
func (r *repeated) Ended(n uint64, outcome kv.Outcome, _, _ int64) {
	if !outcome.Failed() || outcome == kv.WrongAnswer {
		r.left.remove(r.numbers.nth(n))
	}
}

// failure describes the first error of a try.
func failure(t *measure.Totals, what scenario.Operation) error {
	for o, n := range t.Outcomes {
		o := kv.Outcome(o)
		if n == 0 || !o.Failed() || o == kv.WrongAnswer {
			continue
		}
		if text := t.ErrorTexts[o]; text != "" {
			return fmt.Errorf("%d of %d operations (%v) ended in %v: %s", n, t.Due, what.Kind, o, text)
		}
		return fmt.Errorf("%d of %d operations (%v) ended in %v", n, t.Due, what.Kind, o)
	}
	return nil
}
