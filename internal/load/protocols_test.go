package load_test

import (
	"context"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// eachProtocol runs a test with the null server of every store that has a null server. In CI, it
// runs the test with only two of these servers.
func eachProtocol(t *testing.T, o store.NullOptions, test func(t *testing.T, plan func(scenario.Load) task)) {
	t.Helper()
	eachServer(t, o, func(t *testing.T, start func() func(scenario.Load) task) { test(t, start()) })
}

// eachServer is like eachProtocol, but the test itself starts the server. This is needed because a
// server executes the timed steps of its script only once.
func eachServer(t *testing.T, o store.NullOptions, test func(t *testing.T, start func() func(scenario.Load) task)) {
	t.Helper()
	var all []store.Store
	for _, s := range registry.All() {
		if _, ok := s.(store.NullServerProvider); ok {
			all = append(all, s)
		}
	}
	for _, s := range settle.Sample(t, 2, all) {
		served := s.(store.NullServerProvider)
		t.Run(s.Name(), func(t *testing.T) {
			test(t, func() func(scenario.Load) task {
				endpoints := storetest.ServeNull(t, served, 1, o)
				return func(l scenario.Load) task {
					return taskOn(s, endpoints, l)
				}
			})
		})
	}
}

// The load sends 500 operations per second for 5 s, so a stall of 0.5 s delays a tenth of them.
// Therefore p95 is half of the stall's length and p99 is nine tenths of it. This does not depend on
// the protocol, or on how many operations a connection accepts. A busy machine can only increase
// these times.
func TestStallShowsInEveryProtocol(t *testing.T) {
	runInParallel(t)
	eachServer(t, store.NullOptions{Memory: true, Script: "delay=1ms; stall=500ms@2s"}, func(t *testing.T, start func() func(scenario.Load) task) {
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			m := run(t, start()(open(base(kv.Put, kv.NoConsistency), 500, 5*time.Second))).Measured
			// One operation is due every 2 ms. On a busy machine, the last operations may still be
			// waiting for a connection when the window closes.
			s := measure.Summarize(m.MergedCell().Response, 0)
			atLeast(t, "p95", s.Percentile(95).NS, 0.246e9)
			atLeast(t, "p99", s.Percentile(99).NS, 0.446e9)
			near(r, "p95", s.Percentile(95).NS, 0.25e9, 0.15)
			near(r, "p99", s.Percentile(99).NS, 0.45e9, 0.15)
			if m.Due != 2500 || m.Failed() != m.Outcomes[kv.NotSent] {
				t.Errorf("due %d, outcomes %v", m.Due, m.Outcomes)
			}
			if m.Succeeded() != 2500 {
				r.Errorf("outcomes %v, want 2500 ok", m.Outcomes)
			}
		})
	})
}

// Reads return the values that the preload wrote, each reply is checked, and Little's law holds in
// a closed loop.
func TestEveryProtocolReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	eachProtocol(t, store.NullOptions{Memory: true, Script: "delay=10ms"}, func(t *testing.T, plan func(scenario.Load) task) {
		l := base(kv.Get, kv.Local)
		l.Connections, l.Clients, l.Duration = 50, 50, 2*time.Second
		p := plan(l)
		if n, err := p.worker().Preload(context.Background(), &p.Assignment); err != nil || n.Written != l.KeySpace {
			t.Fatalf("preloaded %+v, %v", n, err)
		}
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			res := run(t, p)
			if m := res.Measured; m.Failed() > 0 || m.Outcomes[kv.Miss] > 0 {
				t.Errorf("outcomes %v %v", m.Outcomes, m.ErrorTexts)
			}
			littlesLaw(t, res, 50)
			near(r, "throughput x mean response time", lawOf(res), 50, 0.05)
		})
	})
}

// In the steady state, puts and gets allocate nothing in any protocol.
func TestAnyProtocolDoesNotAllocate(t *testing.T) {
	settle.SkipUnderRace(t)
	eachProtocol(t, store.NullOptions{ValueSize: 8}, func(t *testing.T, plan func(scenario.Load) task) {
		for _, o := range []scenario.Operation{{Kind: kv.Get, Consistency: kv.Local, Weight: 1}, {Kind: kv.Put, Weight: 1}} {
			l := sized(base(kv.Get, kv.Local), 8)
			l.Mix = []scenario.Operation{o}
			l.Connections, l.Clients = 50, 50
			// Opening and closing a window causes 300 to 500 allocations in any load.
			l.Warmup, l.Duration = 500*time.Millisecond, 3*time.Second
			p := plan(l)
			allocations := countAllocations(&p)
			settle.RetryMeasurement(t, func(r settle.Reporter) {
				m := run(t, p).Measured
				holdsAllocations(r, allocations(), m.Done, 0.05)
				if m.Failed() > 0 {
					t.Errorf("%v: outcomes %v", o.Kind, m.Outcomes)
				}
			})
		}
	})
}
