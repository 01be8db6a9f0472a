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

// What prepares a load, and what reads after it, is a load of its own: as quick as the
// store takes it, but within the connections and the clients of the load itself.
const (
	prepareConnections = 32
	prepareClients     = 256
	// preparesWithin is how long an open loop's rate may make the preparation on a
	// running cluster, about.
	preparesWithin = 10 * time.Second
)

// Bounds of the repetition of what was refused. A store that takes nothing at all is
// given up after fruitless tries, with pauses that double from the first.
const (
	fruitlessTries = 6
	firstRefusal   = 100 * time.Millisecond
	// refusedShare of a second's operations makes the next try slower.
	refusedShare = 0.05
	// backOff is the share of the rate that the store took that is tried next.
	backOff = 0.8
	// quickly is how soon a connection is refused that a limit refuses.
	quickly = time.Second
	// refilled is how long a limit is left alone after it refused, so that the load finds
	// what it would have found without its preparation.
	refilled = 2 * time.Second
)

// effort is how much what prepares a load asks of the store at a time. It becomes less
// where the store refuses.
type effort struct {
	connections, clients int
	rate                 float64 // operations a second; 0: as quick as they are answered
	refused              bool    // the store has refused something
	fruitless            int     // tries in a row that came to nothing
	pause                time.Duration
}

// effort returns what n operations that prepare the load may begin with.
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

// load returns the load of n operations at this effort; inFlight is how many operations
// a connection has at a time, 0 for any number.
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

// next takes what a try came to and reports whether another is worth it: did operations
// in took were answered, and why is the error of one that could not connect.
func (e *effort) next(t *measure.Totals, did uint64, took time.Duration, why error) bool {
	e.pause = 0
	if did > 0 {
		e.fruitless = 0
	} else {
		e.fruitless++
		e.pause = firstRefusal << min(e.fruitless-1, fruitlessTries)
	}
	switch {
	case why != nil:
		if did == 0 && took > quickly { // a limit refuses sooner, but for one that is silent
			few := e.connections == 1
			e.connections = 1
			return !few
		}
		e.fewer()
	case t.Outcomes[kv.NoSpace] > 0, did == 0 && (hopelessKinds(t) || !onlyRefused(t)):
		return false
	case t.Outcomes[kv.Refused] > 0:
		e.refused = true
		if e.rate = backOff * float64(did) / max(took.Seconds(), 1e-3); did == 0 {
			e.rate = 1
		}
		e.rate = max(e.rate, 1)
		e.fewer()
	case t.Outcomes[kv.ConnectionLost] > 0:
		e.fewer()
	}
	return e.fruitless < fruitlessTries
}

// fewer halves the connections, and the clients with them.
func (e *effort) fewer() {
	e.connections = max(e.connections/2, 1)
	e.clients = max(e.clients/2, 1)
}

// hopelessKinds reports whether operations ended in a way that will be the same the next
// time, where no other operation succeeded.
func hopelessKinds(t *measure.Totals) bool {
	return t.Outcomes[kv.Denied]+t.Outcomes[kv.BadRequest] > 0
}

// onlyRefused reports whether all operations that failed certainly did not happen, or lost
// their connection, as where a limit refuses it.
func onlyRefused(t *measure.Totals) bool {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if t.Outcomes[o] > 0 && !o.Definite() && o != kv.ConnectionLost && o != kv.WrongAnswer {
			return false
		}
	}
	return true
}

// slowDown reports whether a second says that a try need not go on at this effort: nothing
// is answered, or too much is refused.
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

// repeat does operations until each of the numbers in left has an answer, or the store
// takes no more of them. An operation that failed is repeated, more slowly where it was
// refused. sourceOf makes the operations of a loop from that loop's own source. The
// outcomes are those of all tries together.
func (p *plan) repeat(ctx context.Context, what scenario.Operation, left *set, reports Reports, sourceOf func(*source) engine.Source) (*measure.Totals, error) {
	e := p.effort(left.count.Load())
	for {
		numbers := left.list()
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
		case !e.next(t, did, took, err):
			return t, errors.Join(err, failure(t, what))
		case !wait(ctx, e.pause):
			return t, context.Cause(ctx)
		}
	}
}

// try sends a load once, until it is done or a second says that it is too much.
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

// wait waits, and reports whether ctx allowed it.
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

// repeated does the operations of a source whose numbers are listed, and takes those that
// were answered from the numbers that are left.
type repeated struct {
	engine.Source
	engine.ReactiveBase
	numbers *numberList
	left    *set
}

// Fill implements engine.Source.
func (r *repeated) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	return r.Source.Fill(phase, r.numbers.at(n), client, op)
}

// Kind implements engine.Source.
func (r *repeated) Kind(phase measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	return r.Source.Kind(phase, r.numbers.at(n))
}

// Ended implements engine.Reactive.
func (r *repeated) Ended(n uint64, outcome kv.Outcome, _, _ int64) {
	if !outcome.Failed() || outcome == kv.WrongAnswer {
		r.left.remove(r.numbers.at(n))
	}
}

// failure is the first error of a try.
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
