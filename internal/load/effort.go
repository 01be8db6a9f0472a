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
	// targetPrepareTime is approximately how long the preparation of an open loop may take on a
	// cluster that was already running. The preparation's rate is chosen accordingly.
	targetPrepareTime = 10 * time.Second
)

// These constants limit how refused operations are repeated. The preparation gives up after
// maxFruitlessTries tries in which no operation succeeded. The pauses between these tries double,
// starting with firstRetryPause.
const (
	maxFruitlessTries = 6
	firstRetryPause   = 100 * time.Millisecond
	// refusedShare is the maximum share of refused operations in a one-second interval. If the
	// share is larger, the try ends, and the next try is slower.
	refusedShare = 0.05
	// backoffFactor is the rate of the next try divided by the rate that the store accepted in the
	// previous try.
	backoffFactor = 0.8
	// maxRefusalTime is the longest time that a connection limit needs to refuse a connection.
	maxRefusalTime = time.Second
	// rateLimitRecovery is the pause after a rate limit has refused operations. The pause lets the
	// rate limit recover, so that the preparation does not affect the load.
	rateLimitRecovery = 2 * time.Second
)

// effort describes how much load the preparation puts on the store. The effort is reduced when the
// store refuses operations.
type effort struct {
	connections, clients int
	rate                 float64       // operations per second; 0: no limit
	refused              bool          // the store has refused an operation
	fruitlessTries       int           // number of tries in a row in which no operation succeeded
	pause                time.Duration // pause before the next try
}

// newEffort returns the effort with which the preparation starts. n is the number of operations.
func (p *plan) newEffort(n uint64) *effort {
	l := &p.Load
	e := &effort{clients: l.Clients}
	if l.Arrival != scenario.Closed {
		e.clients = l.MaxInFlight
		if p.Confined && l.Rate.PerSecond > 0 {
			e.rate = max(l.Rate.PerSecond, float64(n)/targetPrepareTime.Seconds())
		}
	}
	e.clients = int(min(uint64(prepareClients), uint64(max(e.clients, 1)), max(n, 1)))
	e.connections = max(min(prepareConnections, l.Connections, e.clients), 1)
	return e
}

// load returns the load that sends n operations with this effort. inFlight is the number of
// operations that a connection accepts at a time; 0 means any number.
func (e *effort) load(l scenario.Load, operation scenario.Operation, n uint64, inFlight int) scenario.Load {
	l.Mix, l.Watch, l.NewConnection = []scenario.Operation{operation}, nil, false
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
		e.fruitlessTries = 0
	} else {
		e.fruitlessTries++
		e.pause = firstRetryPause << min(e.fruitlessTries-1, maxFruitlessTries)
	}
	switch {
	case connectErr != nil:
		// A connection limit normally refuses connections within this time. If the limit drops
		// connections silently instead, a single connection may succeed.
		if answered == 0 && took > maxRefusalTime {
			few := e.connections == 1
			e.connections = 1
			return !few
		}
		e.halve()
	case t.Outcomes[kv.NoSpace] > 0, answered == 0 && (hasPermanentErrors(t) || !onlyRefused(t)):
		return false
	case t.Outcomes[kv.Refused] > 0:
		e.refused = true
		if e.rate = backoffFactor * float64(answered) / max(took.Seconds(), 1e-3); answered == 0 {
			e.rate = 1
		}
		e.rate = max(e.rate, 1)
		e.halve()
	case t.Outcomes[kv.ConnectionLost] > 0:
		e.halve()
	}
	return e.fruitlessTries < maxFruitlessTries
}

// halve halves the number of connections and clients.
func (e *effort) halve() {
	e.connections = max(e.connections/2, 1)
	e.clients = max(e.clients/2, 1)
}

// hasPermanentErrors reports whether operations failed with an error that they would return again
// if they were repeated. It is called only if no operation succeeded.
func hasPermanentErrors(t *measure.Totals) bool {
	return t.Outcomes[kv.Denied]+t.Outcomes[kv.BadRequest] > 0
}

// onlyRefused reports whether each failed operation was certainly not executed, lost its connection
// or received a wrong response. An operation loses its connection if a connection limit closes the
// connection. A wrong response is the result of an operation and is not repeated.
func onlyRefused(t *measure.Totals) bool {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if t.Outcomes[o] > 0 && !o.Definite() && o != kv.ConnectionLost && o != kv.WrongResponse {
			return false
		}
	}
	return true
}

// isTooFast reports whether the results of a one-second interval are a reason to abort a try: all
// operations failed, or too many were refused.
func isTooFast(s *measure.Second) bool {
	failed, all := uint64(0), uint64(0)
	for o := range kv.NumOutcomes {
		all += s.Outcomes[o]
		if o.Failed() && o != kv.WrongResponse {
			failed += s.Outcomes[o]
		}
	}
	return failed == all && failed > 0 || float64(s.Outcomes[kv.Refused]) > refusedShare*float64(all)
}

// repeat executes the operations whose numbers are in `remaining`, until each of them has received
// a reply or the store accepts no more operations. It repeats failed operations, at a lower rate if
// the store refused them. The function `wrapSource` wraps the source of each loop. repeat returns
// the totals of the last try.
func (p *plan) repeat(ctx context.Context, operation scenario.Operation, remaining *set, reports Reports, wrapSource func(*source) engine.Source) (*measure.Totals, error) {
	e := p.newEffort(remaining.count.Load())
	for {
		numbers := remaining.snapshot()
		if numbers.count == 0 {
			return &measure.Totals{}, nil
		}
		began := p.now()
		res, err := p.try(ctx, e.load(p.Load, operation, numbers.count, p.store.Capabilities().MaxInFlight), reports, func(s *source) engine.Source {
			return &repeatedSource{Source: wrapSource(s), numbers: numbers, remaining: remaining}
		})
		took, completed := p.now().Sub(began), numbers.count-remaining.count.Load()
		t := &measure.Totals{}
		if res != nil {
			t = res.Measured
		}
		switch {
		case ctx.Err() != nil:
			return t, context.Cause(ctx)
		case remaining.count.Load() == 0:
			if e.refused && !measure.Pause(ctx, rateLimitRecovery) {
				return t, context.Cause(ctx)
			}
			return t, nil
		case !e.adapt(t, completed, took, err):
			return t, errors.Join(err, firstError(t, operation))
		case !measure.Pause(ctx, e.pause):
			return t, context.Cause(ctx)
		}
	}
}

// try runs a load once, until the load has ended or the results of a one-second interval show that
// the load is too fast for the store.
func (p *plan) try(ctx context.Context, l scenario.Load, reports Reports, wrapSource func(*source) engine.Source) (*Result, error) {
	attempt := *p
	attempt.Load, attempt.Shard, attempt.Preloaded, attempt.Endpoints, attempt.length = l, Shard{}, nil, p.preparationEndpoints(), 0
	attemptCtx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	attempt.reports = Reports{NewRecorder: reports.NewRecorder, Second: func(s *measure.Second) {
		if isTooFast(s) {
			giveUp()
		}
	}}
	attempt.wrap = wrapSource
	g, err := newGenerator(&attempt)
	if err != nil {
		return nil, err
	}
	return RunJob(attemptCtx, g)
}

// repeatedSource sends those operations of a source whose numbers are in the list `numbers`. When
// an operation receives a reply, repeatedSource removes the operation's number from the set
// `remaining`.
type repeatedSource struct {
	engine.Source
	engine.ReactiveBase
	numbers   *numberList
	remaining *set
}

// Fill implements engine.Source.
func (r *repeatedSource) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	return r.Source.Fill(phase, r.numbers.nth(n), client, op)
}

// Kind implements engine.Source.
func (r *repeatedSource) Kind(phase measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	return r.Source.Kind(phase, r.numbers.nth(n))
}

// OperationEnded implements engine.Reactive.
func (r *repeatedSource) OperationEnded(n uint64, outcome kv.Outcome, _, _ int64) {
	if !outcome.Failed() || outcome == kv.WrongResponse {
		r.remaining.remove(r.numbers.nth(n))
	}
}

// firstError returns an error that describes the first kind of error in a try.
func firstError(t *measure.Totals, operation scenario.Operation) error {
	for o, n := range t.Outcomes {
		o := kv.Outcome(o)
		if n == 0 || !o.Failed() || o == kv.WrongResponse {
			continue
		}
		if text := t.ErrorTexts[o]; text != "" {
			return fmt.Errorf("%d of %d operations (%v) failed with %v: %s", n, t.Due, operation.Kind, o, text)
		}
		return fmt.Errorf("%d of %d operations (%v) failed with %v", n, t.Due, operation.Kind, o)
	}
	return nil
}
