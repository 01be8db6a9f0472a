package load_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// The null server provides the ground truth. Its script determines what it does with each
// operation, and therefore what the load must measure.

// serve starts a null server with a script. It returns the server's endpoint.
func serve(t testing.TB, script string, o store.NullOptions) string {
	t.Helper()
	o.Script = script
	return storetest.ServeNull(t, etcd.New(), 1, o)[0]
}

// patience is the timeout of operations that must get a reply even on a very slow machine. No test
// waits for the whole timeout.
const patience = 2 * time.Minute

func base(kind kv.Kind, level kv.Consistency) scenario.Load {
	return scenario.Load{
		Mix: []scenario.Operation{{Kind: kind, Consistency: level, Weight: 1}}, Connections: 10, Clients: 100,
		KeySize: 8, ValueSize: 64, KeySpace: 1000, Distribution: scenario.Distribution{Name: "uniform"},
		Timeout: patience, MaxInFlight: 100_000, Seed: 1,
	}
}

func open(l scenario.Load, rate float64, d time.Duration) scenario.Load {
	l.Arrival, l.Rate.PerSecond, l.Duration = scenario.Constant, rate, d
	return l
}

// run runs a load. It also checks two invariants of every load: due = completed + errors, and
// exactly one time is recorded for every operation that was due.
func run(t testing.TB, p task) *load.Result {
	t.Helper()
	res, err := load.Run(context.Background(), p.worker(), &p.Assignment, p.Reports)
	if err != nil {
		t.Fatal(err)
	}
	m := res.Measured
	if m.Failed() > 0 {
		t.Logf("errors: %v", m.ErrorTexts)
	}
	timed := int64(0)
	for _, c := range m.Cells {
		for _, h := range append(c.Failed[:], c.Response) {
			if h != nil {
				timed += h.TotalCount()
			}
		}
	}
	if m.Due != m.Succeeded()+m.Failed() || uint64(timed) != m.Due {
		t.Errorf("due %d, completed %d, errors %d, timed %d", m.Due, m.Succeeded(), m.Failed(), timed)
	}
	return res
}

func near(t settle.Reporter, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s is %v, want %v within %v%%", what, got, want, 100*tolerance)
	}
}

// atLeast checks that a measured time is at least as long as the delay that the server caused. A
// busy machine can increase the measured time without limit. Only the resolution of the histogram,
// 0.1 %, can decrease it.
func atLeast(t settle.Reporter, what string, got, least float64) {
	t.Helper()
	if got < 0.998*least {
		t.Errorf("%s is %v ns, want at least the server's delay of %v", what, got, least)
	}
}

// littlesLaw checks that throughput × mean response time equals the number of clients in a closed
// loop. An operation that begins before and ends after a boundary of the window is counted on only
// one side of that boundary, so the error of the equation is at most the share of such operations.
func littlesLaw(t *testing.T, r *load.Result, clients float64) {
	t.Helper()
	m := r.Measured
	crossing := float64(m.MergedCell().Response.Max()) / 1e9
	if r.Warmup != nil && r.Warmup.Due > 0 {
		crossing = max(crossing, float64(r.Warmup.MergedCell().Response.Max())/1e9)
	}
	near(t, "throughput x mean response time", lawOf(r), clients, 0.002+crossing/m.Seconds)
}

// lawOf returns throughput × mean response time.
func lawOf(r *load.Result) float64 {
	m := r.Measured
	return float64(m.Done) / m.Seconds * m.MergedCell().Response.Mean() / 1e9
}

// eachLoops runs a test with 1, 2 and 4 event loops. In CI, it uses only one of these numbers. The
// results must not depend on the number of event loops. CI leaves out numbers above the number of
// CPUs, because loops that share a CPU wait for each other.
func eachLoops(t *testing.T, test func(t *testing.T, loops int)) {
	all := slices.DeleteFunc([]int{1, 2, 4}, func(n int) bool { return n > runtime.NumCPU() && !settle.Long() })
	for _, loops := range settle.Sample(t, 1, all) {
		t.Run(fmt.Sprintf("%d loops", loops), func(t *testing.T) { test(t, loops) })
	}
}

// runInParallel marks a test that measures short times as parallel. It does not do so if all cases
// run, because they would disturb other tests.
func runInParallel(t *testing.T) {
	if !settle.Long() {
		t.Parallel()
	}
}

// The server stalls for 1 s. In this situation, etcd's benchmark reports a p99 of 3.2 ms. In fact,
// 500 of the 5,000 operations become due during the stall, and those that become due at its
// beginning wait for 1 s. A real machine can only increase these times. The test with the simulated
// engine checks exact times.
func TestCoordinatedOmission(t *testing.T) {
	runInParallel(t)
	eachLoops(t, func(t *testing.T, loops int) {
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			// It stalls once.
			endpoint := serve(t, "delay=2ms; stall=1s@1s", store.NullOptions{Memory: true})
			l := open(base(kv.Put, kv.NoConsistency), 500, 10*time.Second)
			l.Threads = loops
			m := run(t, taskFor(endpoint, l)).Measured
			s := measure.Summarize(m.MergedCell().Response, m.Failed())
			// One operation is due every 2 ms.
			atLeast(t, "p50", s.Percentile(50).NS, 2e6)
			atLeast(t, "p95", s.Percentile(95).NS, 0.498e9)
			atLeast(t, "p99", s.Percentile(99).NS, 0.898e9)
			atLeast(t, "the longest response time", s.Max.NS, 0.996e9)
			near(r, "p95", s.Percentile(95).NS, 0.5e9, 0.1)
			near(r, "p99", s.Percentile(99).NS, 0.9e9, 0.1)
			near(r, "the longest gap", m.LongestGap, 1, 0.15)
			if s.Percentile(50).NS > 20e6 {
				r.Errorf("p50 is %v, want a little above 2 ms", s.Percentile(50).NS)
			}
			if m.Due != 5000 || m.Succeeded() != 5000 {
				t.Errorf("due %d, succeeded %d, want 5000", m.Due, m.Succeeded())
			}
		})
	})
}

func TestClosedLoopMeanTimesThroughputIsClients(t *testing.T) {
	eachLoops(t, func(t *testing.T, loops int) {
		l := base(kv.Get, kv.Linearizable)
		l.Duration, l.Warmup, l.Threads, l.Clients = 2*time.Second, 200*time.Millisecond, loops, 40
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			res := run(t, taskFor(serve(t, "delay=10ms", store.NullOptions{}), sized(l, 0)))
			littlesLaw(t, res, 40)
			near(r, "throughput x mean response time", lawOf(res), 40, 0.03)
			near(t, "the mean number of operations in flight", res.Measured.MeanInFlight, 40, 0.03)
		})
	})
}

func sized(l scenario.Load, value int) scenario.Load { l.ValueSize = value; return l }

// The test with the simulated engine checks times to the nanosecond. This test uses the clock of a
// real machine, which may pause. So the timeout is longer than such a pause, and the test checks
// only that no operation is abandoned before the timeout.
func TestUnansweredOperationsAreTimedAndCounted(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, loops int) {
		l := open(base(kv.Put, kv.NoConsistency), 1500, 2*time.Second)
		l.Timeout, l.Threads = 5*time.Second, loops
		m := run(t, taskFor(serve(t, "never every 50", store.NullOptions{Memory: true}), l)).Measured
		if got := m.Outcomes[kv.TimedOut]; got != 60 {
			t.Errorf("%d operations timed out, want 60 (every 50th of 3000)", got)
		}
		for _, c := range m.Cells {
			if h := c.Failed[measure.ErrorIndex(kv.TimedOut)]; h != nil {
				// A histogram's value differs from the recorded value by at most 0.1 %.
				if least := float64(h.Min()); least < 0.999*float64(l.Timeout) {
					t.Errorf("the shortest time of a timed-out operation is %v ns, which is less than the timeout", least)
				}
			}
		}
		if s := measure.Summarize(m.MergedCell().Response, m.Failed()); !s.Percentile(99).Failed || s.Percentile(95).Failed {
			t.Error("2 % of the operations failed; want p99 marked as failed, and p95 not")
		}
	})
}

func TestErrorsAreCountedByKind(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, loops int) {
		l := base(kv.Put, kv.NoConsistency)
		l.Total, l.Threads = 3000, loops
		m := run(t, taskFor(serve(t, "error=unavailable every 100", store.NullOptions{Memory: true}), l)).Measured
		failed := uint64(0)
		for o := kv.NotSent; o < kv.NumOutcomes; o++ {
			failed += m.Outcomes[o]
		}
		if m.Due != 3000 || failed != 30 {
			t.Errorf("due %d, failed %d, want 3000 and 30: %v", m.Due, failed, m.Outcomes)
		}
	})
}

func TestClosedConnectionsAreIndefiniteAndReplaced(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, loops int) {
		l := base(kv.Put, kv.NoConsistency)
		l.Total, l.Threads = 4000, loops
		res := run(t, taskFor(serve(t, "delay=1ms; close every 500", store.NullOptions{Memory: true}), l))
		m := res.Measured
		if m.Outcomes[kv.ConnectionLost] == 0 || m.Reconnects == 0 {
			t.Errorf("lost %d, reconnects %d", m.Outcomes[kv.ConnectionLost], m.Reconnects)
		}
		if m.Succeeded() < 10*m.Failed() {
			t.Errorf("%d operations succeeded and %d failed: the load did not continue", m.Succeeded(), m.Failed())
		}
	})
}

func TestGoAwayLosesNoOperation(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, loops int) {
		l := base(kv.Put, kv.NoConsistency)
		l.Total, l.Threads = 4000, loops
		m := run(t, taskFor(serve(t, "goaway every 100", store.NullOptions{Memory: true}), l)).Measured
		if m.Due != 4000 || m.Outcomes[kv.ConnectionLost] != 0 {
			t.Errorf("due %d, outcomes %v; want 4000 operations due and none lost with a drained connection", m.Due, m.Outcomes)
		}
		if m.Reconnects < 20 {
			t.Errorf("%d reconnects, want at least 20", m.Reconnects)
		}
	})
}

func TestWrongAnswersAreFound(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"wrong=value every 100", "wrong=key every 100"} {
		t.Run(what, func(t *testing.T) {
			l := base(kv.Get, kv.Local)
			l.Total = 2000
			p := taskFor(serve(t, what, store.NullOptions{Memory: true}), l)
			// The null server also returns wrong values to the preload, which then replaces them.
			if _, err := p.worker().Preload(context.Background(), &p.Assignment); err != nil {
				t.Fatal(err)
			}
			if got := run(t, p).Measured.Outcomes[kv.WrongResponse]; got < 19 || got > 21 {
				t.Errorf("%d wrong responses, want about 20 (every 100th of 2000)", got)
			}
		})
	}
}

func TestPreloadMakesEveryKeyExistAndOnlyThose(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	l := base(kv.Get, kv.Local)
	l.Total = 5000
	p := taskFor(endpoint, l)
	for want, n := range map[string]uint64{"first": 1000} {
		if got, err := p.worker().Preload(context.Background(), &p.Assignment); err != nil || got.Written != n {
			t.Fatalf("the %s preload wrote %+v, error %v", want, got, err)
		}
	}
	if got, err := p.worker().Preload(context.Background(), &p.Assignment); err != nil || got.Written != 0 {
		t.Errorf("the second preload wrote %+v (%v), although all keys existed", got, err)
	}
	m := run(t, p).Measured
	if m.Outcomes[kv.OK] != 5000 {
		t.Errorf("outcomes %v, want 5000 ok", m.Outcomes)
	}
	count := base(kv.Range, kv.Linearizable)
	count.Total, count.Connections, count.Clients = 1, 1, 1
	if got := run(t, taskFor(endpoint, count)).Measured.Outcomes[kv.OK]; got != 1 {
		t.Errorf("%d operations with a range over the key space succeeded, want 1", got)
	}
}

func TestOpenLoopKeepsItsRate(t *testing.T) {
	eachLoops(t, func(t *testing.T, loops int) {
		l := open(sized(base(kv.Get, kv.Local), 0), 1000, 3*time.Second)
		l.Warmup, l.Threads = 500*time.Millisecond, loops
		m := run(t, taskFor(serve(t, "", store.NullOptions{}), l)).Measured
		if m.Due != 3000 || m.Succeeded() != 3000 || m.Lateness == nil || m.Lateness.TotalCount() != 3000 {
			t.Errorf("due %d, succeeded %d; want 3000 of each, and a lateness for each", m.Due, m.Succeeded())
		}
		// Some operations are due in the window but end after it. These operations are due at most
		// one maximum response time before the end of the window. The operations that are due
		// before the window but end in the window are carried in.
		slowest := float64(m.MergedCell().Response.Max()) / 1e9 * 1.001
		after, before := uint64(1000*slowest)+1, m.InFlightAtStart
		if m.Done+after < 3000 || m.Done > 3000+before || m.Seconds != 3 {
			t.Errorf("%d operations ended in the window of %v s; want 3000, minus at most %d that ended after it, plus at most %d that were carried in", m.Done, m.Seconds, after, before)
		}
	})
}

// Several event loops share a load without losing an operation or counting one twice.
func TestLoopsShareALoad(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "delay=1ms", store.NullOptions{Memory: true})
	l := base(kv.Put, kv.NoConsistency)
	l.Threads, l.Total = 3, 3001
	if m := run(t, taskFor(endpoint, l)).Measured; m.Due != 3001 || m.Succeeded() != 3001 {
		t.Errorf("closed: due %d, succeeded %d", m.Due, m.Succeeded())
	}
	o := open(l, 1000, 2*time.Second)
	o.Total = 0
	if m := run(t, taskFor(endpoint, o)).Measured; m.Due != 2000 {
		t.Errorf("open: due %d, want 2000", m.Due)
	}
}

// All event loops take operation numbers from one shared total. So no loop runs out of numbers
// early and leaves its clients idle, even if the loops have different numbers of connections. With
// two loops and without a shared total, only 40 of these 50 clients would be busy.
func TestLoopsShareATotal(t *testing.T) {
	t.Parallel()
	eachLoops(t, func(t *testing.T, loops int) {
		l := base(kv.Put, kv.NoConsistency)
		l.Connections, l.Clients, l.Total, l.Threads = 5, 50, 10_000, loops
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			res := run(t, taskFor(serve(t, "delay=10ms", store.NullOptions{Memory: true}), l))
			if m := res.Measured; m.Due != 10_000 || m.Succeeded() != 10_000 {
				t.Errorf("due %d, succeeded %d", m.Due, m.Succeeded())
			}
			near(r, "clients at work", res.Measured.MeanInFlight, 50, 0.02)
			near(r, "throughput x mean response time", lawOf(res), 50, 0.02)
		})
	})
}

// holdsAllocations checks the number of allocations per operation. The number includes the
// allocations for each second and for the start of a window. If a busy machine executes only few
// operations, the measurement is repeated.
func holdsAllocations(t settle.Reporter, mallocs, n uint64, limit float64) {
	t.Helper()
	if perOp := float64(mallocs) / float64(n); perOp > limit {
		t.Errorf("%.4f allocations per operation, want none: %d in %d operations", perOp, mallocs, n)
	}
}

// In the steady state, operations do not allocate. Each second causes a few allocations, which are
// divided among the operations of that second.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	settle.SkipUnderRace(t)
	endpoint := serve(t, "", store.NullOptions{})
	for name, l := range map[string]scenario.Load{
		"range, closed loop": base(kv.Get, kv.Local),
		"put, closed loop":   base(kv.Put, kv.NoConsistency),
		"range, open loop":   open(base(kv.Get, kv.Local), 20_000, 0),
		"put, open loop":     open(base(kv.Put, kv.NoConsistency), 20_000, 0),
		"put, recorded":      base(kv.Put, kv.NoConsistency),
	} {
		t.Run(name, func(t *testing.T) {
			l.Warmup, l.Duration = time.Second, 3*time.Second
			if l.Mix[0].Kind == kv.Get {
				l.ValueSize = 0
			}
			p := taskFor(endpoint, l)
			if strings.HasSuffix(name, "recorded") {
				p.Reports.NewRecorder = func(time.Time, time.Duration) *history.Recorder {
					b := history.NewBlock()
					return &history.Recorder{Take: func() *history.Block { return b }, Deliver: (*history.Block).Reset}
				}
			}
			allocations := countAllocations(&p)
			settle.RetryMeasurement(t, func(r settle.Reporter) {
				m := run(t, p).Measured
				holdsAllocations(r, allocations(), m.Done, 0.02)
			})
		})
	}
}

// countAllocations returns a function that returns the number of allocations in the task's window.
func countAllocations(p *task) func() uint64 {
	var before, after runtime.MemStats
	p.Reports.OnPhaseChange = func(m load.PhaseChange) {
		switch {
		case m.Ended:
			runtime.ReadMemStats(&after)
		case m.Phase == measure.Measured:
			runtime.ReadMemStats(&before)
		}
	}
	return func() uint64 { return after.Mallocs - before.Mallocs }
}

// A compare-and-set knows the key's version from the preload or from the previous write. A conflict
// is a response and not an error. If there are no concurrent writes to a key, there is no conflict.
func TestCompareAndSetUsesKnownVersions(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	for what, c := range map[string]struct {
		keys    uint64
		clients int
	}{"each key once": {3000, 10}, "each key by one client": {1000, 1}} {
		l := base(kv.CAS, kv.NoConsistency)
		l.Total, l.Distribution.Name, l.Clients, l.KeySpace, l.Prefix = 3000, "sequential", c.clients, c.keys, what
		p := taskFor(endpoint, l)
		var err error
		if p.Preloaded, err = p.worker().Preload(context.Background(), &p.Assignment); err != nil {
			t.Fatal(err)
		}
		if m := run(t, p).Measured; m.Outcomes[kv.OK] != 3000 {
			t.Errorf("%s: outcomes %v, want 3000 ok", what, m.Outcomes)
		}
	}
	// If all clients write the same key, some operations end in a conflict, but none fails.
	l := base(kv.CAS, kv.NoConsistency)
	l.Total, l.Distribution.Name, l.Clients, l.KeySpace = 3000, "sequential", 10, 1
	p := taskFor(endpoint, l)
	m := run(t, p).Measured
	if m.Outcomes[kv.Conflict] == 0 || m.Outcomes[kv.OK] == 0 || m.Failed() != 0 {
		t.Errorf("outcomes %v, want ok and conflicts", m.Outcomes)
	}
}

// If a load's other operations change or delete keys, its compare-and-sets still know the versions.
// A single client never conflicts with itself.
func TestCompareAndSetFollowsOtherWrites(t *testing.T) {
	t.Parallel()
	for _, s := range []store.Store{etcd.New(), consul.New()} {
		endpoints := storetest.ServeNull(t, s.(store.NullServerProvider), 1, store.NullOptions{Memory: true})
		for _, o := range []scenario.Operation{{Kind: kv.Put}, {Kind: kv.Delete}, {Kind: kv.Txn}, {Kind: kv.Get, Consistency: kv.LeaderLease}} {
			l := base(kv.CAS, kv.NoConsistency)
			if o.Weight = 1; o.Kind == kv.Get && s.Name() == "etcd" {
				o.Consistency = kv.Linearizable
			}
			l.Mix = append(l.Mix, o)
			l.Total, l.TxnKeys, l.KeySpace, l.Clients, l.Connections = 100, 3, 10, 1, 1
			p := taskOn(s, endpoints, l)
			var err error
			if p.Preloaded, err = p.worker().Preload(context.Background(), &p.Assignment); err != nil {
				t.Fatal(err)
			}
			if m := run(t, p).Measured; m.Outcomes[kv.Conflict] > 0 || m.Failed() > 0 {
				t.Errorf("%s, %v and cas: outcomes %v %v, want no conflicts and no errors", s.Name(), o.Kind, m.Outcomes, m.ErrorTexts)
			}
		}
	}
}

func TestTransactionsWriteAllTheirKeys(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	l := base(kv.Txn, kv.NoConsistency)
	l.Total, l.TxnKeys, l.KeySpace, l.Distribution.Name = 100, 10, 1000, "sequential"
	if m := run(t, taskFor(endpoint, l)).Measured; m.Outcomes[kv.OK] != 100 {
		t.Fatalf("outcomes %v %v", m.Outcomes, m.ErrorTexts)
	}
	// The 100 transactions started at keys 0 to 99 and each wrote 10 keys, so keys 0 to 108 exist.
	l.Mix[0] = scenario.Operation{Kind: kv.Get, Consistency: kv.Local, Weight: 1}
	l.Total = 1000
	m := run(t, taskFor(endpoint, l)).Measured
	if m.Outcomes[kv.OK] != 109 || m.Outcomes[kv.Miss] != 891 {
		t.Errorf("outcomes %v, want 109 existing keys and 891 misses", m.Outcomes)
	}
}
