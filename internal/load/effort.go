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

// The operations that prepare a load, and the reads after a load, are sent as a separate load. This
// separate load is as fast as the store permits, but has at most as many connections and clients as
// the load itself.
const (
	prepareConnections = 32
	prepareClients     = 256
	// preparesWithin is approximately how long the preparation of an open loop may take on a
	// cluster that was already running. The preparation's rate is chosen accordingly.
	preparesWithin = 10 * time.Second
)

// These constants limit how refused operations are repeated. The preparation gives up after
// fruitlessTries tries in which no operation succeeded. The pauses between these tries double,
// starting with firstRefusal.
const (
	fruitlessTries = 6
	firstRefusal   = 100 * time.Millisecond
	// refusedShare is the maximum share of refused operations in one second. If the share is
	// larger, the try ends, and the next try is slower.
	refusedShare = 0.05
	// backOff is the rate of the next try divided by the rate that the store accepted in the
	// previous try.
	backOff = 0.8
	// quickly is the longest time that a connection limit needs to refuse a connection.
	quickly = time.Second
	// refilled is the pause after a rate limit has refused operations. The pause lets the rate
	// limit recover, so that the preparation does not affect the load.
	refilled = 2 * time.Second
)

// effort describes how much load the preparation puts on the store. The effort is reduced when the
// store refuses operations.
type effort struct {
	connections, clients int
	rate                 float64       // operations per second; 0: no limit
	refused              bool          // the store has refused an operation
	fruitless            int           // number of tries in a row in which no operation succeeded
	pause                time.Duration // pause before the next try
}

// effort returns the effort with which the preparation starts. n is the number of operations.
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
// operations that a connection accepts at a time; 0 means any number.
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

// adapt adapts the effort to the result of a try, and reports whether there should be a next try.
// The parameter `answered` is the number of operations that received a reply, `took` is the
// duration of the try, and `connectErr` is the error if the try could not connect.
func (e *effort) adapt(t *measure.Totals, answered uint64, took time.Duration, connectErr error) bool {
	e.pause = 0
	if answered > 0 {
		e.fruitless = 0
	} else {
		e.fruitless++
		e.pause = firstRefusal << min(e.fruitless-1, fruitlessTries)
	}
	switch {
	case connectErr != nil:
		// A connection limit normally refuses connections within this time. If the limit drops
		// connections silently instead, a single connection may succeed.
		if answered == 0 && took > quickly {
			few := e.connections == 1
			e.connections = 1
			return !few
		}
		e.halve()
	case t.Outcomes[kv.NoSpace] > 0, answered == 0 && (hopelessKinds(t) || !onlyRefused(t)):
		return false
	case t.Outcomes[kv.Refused] > 0:
		e.refused = true
		if e.rate = backOff * float64(answered) / max(took.Seconds(), 1e-3); answered == 0 {
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

// hopelessKinds reports whether operations failed with an error that they would return again if
// they were repeated. It is called only if no operation succeeded.
func hopelessKinds(t *measure.Totals) bool {
	return t.Outcomes[kv.Denied]+t.Outcomes[kv.BadRequest] > 0
}

// onlyRefused reports whether each failed operation was either certainly not executed, or lost its
// connection. The latter happens when a connection limit closes the connection.
func onlyRefused(t *measure.Totals) bool {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if t.Outcomes[o] > 0 && !o.Definite() && o != kv.ConnectionLost && o != kv.WrongAnswer {
			return false
		}
	}
	return true
}

// slowDown reports whether a second is a reason to abort a try: all operations failed, or too many
// were refused.
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

// repeat executes the operations whose numbers are in `left`, until each of them has received a
// reply or the store accepts no more operations. It repeats failed operations, at a lower rate if
// the store refused them. The function `sourceOf` wraps the source of each loop. repeat returns the
// totals of the last try.
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

// try runs a load once, until the load has ended or the results of one second show that the load is
// too fast for the store.
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

// wait pauses for the duration d. It returns false if ctx ended first.
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

// repeated sends those operations of a source whose numbers are in the list `numbers`. When an
// operation receives a reply, `repeated` removes the operation's number from the set `left`.
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

// failure returns an error that describes the first kind of error in a try.
func failure(t *measure.Totals, what scenario.Operation) error {
	for o, n := range t.Outcomes {
		o := kv.Outcome(o)
		if n == 0 || !o.Failed() || o == kv.WrongAnswer {
			continue
		}
		if text := t.ErrorTexts[o]; text != "" {
			return fmt.Errorf("%d of %d operations (%v) failed with %v: %s", n, t.Due, what.Kind, o, text)
		}
		return fmt.Errorf("%d of %d operations (%v) failed with %v", n, t.Due, what.Kind, o)
	}
	return nil
}
