package load_test

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// awaited is the timeout of loads in which some events never arrive. The load waits this long for
// such events, and a put must not take longer.
const awaited = 5 * time.Second

// watched returns a load of 1,000 puts to four keys. There are twenty watchers, five per key, so
// the load causes 5,000 events.
func watched(endpoint string) task {
	l := open(base(kv.Put, kv.NoConsistency), 500, 2*time.Second)
	l.KeySpace, l.Connections, l.Distribution = 4, 2, scenario.Distribution{Name: "sequential"}
	p := taskFor(endpoint, l)
	p.Load.Watch = &scenario.Watch{Watchers: 20, Streams: 5, Connections: 3}
	return p
}

// If a server loses, duplicates, reorders or delays watch events, each fault is reported and
// counted exactly.
func TestWatchEventFaultsAreReported(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]struct{ delivered, lost, duplicated, reordered uint64 }{
		"":                         {5000, 0, 0, 0},
		"watch=lose every 50":      {4900, 100, 0, 0},
		"watch=duplicate every 50": {5000, 0, 100, 0},
		"watch=lose every 99; watch=duplicate every 70": {4950, 50, 71, 0},
	} {
		p := watched(serve(t, script, store.NullOptions{Memory: true}))
		if want.lost > 0 {
			p.Load.Timeout = awaited
		}
		m := run(t, p).Measured
		w := m.Watching
		if m.Failed() > 0 || w.Expected != 5000 || w.Delivered != want.delivered || w.Lost != want.lost ||
			w.Duplicated != want.duplicated || w.Reordered != want.reordered || w.Untimed+w.Foreign+w.Wrong+w.Impossible > 0 {
			t.Errorf("%q: %+v", script, *w)
		}
		if got := m.Watch; got.Delivered != want.delivered || got.Duplicated != want.duplicated || uint64(got.FromSent.TotalCount()) != want.delivered {
			t.Errorf("%q: the events in the window are %+v", script, got)
		}
	}
	// Every 101st event is held back until its watcher's next event. Then it is out of order,
	// unless the next event is also held back or does not arrive.
	p := watched(serve(t, "watch=reorder every 101", store.NullOptions{Memory: true}))
	p.Load.Timeout = awaited
	w := run(t, p).Measured.Watching
	if w.Reordered+w.Lost != 49 || w.Lost > 5 || w.Duplicated > 0 || w.Delivered+w.Lost != 5000 {
		t.Errorf("reordered: %+v", *w)
	}
	m := run(t, watched(serve(t, "watch=30ms every 1", store.NullOptions{Memory: true}))).Measured
	if sent := m.Watch.FromSent; m.Watching.Delivered != 5000 || m.Watching.Lost > 0 || sent.Min() < 30_000_000-100_000 {
		t.Errorf("delayed by 30 ms: %+v, and the shortest latency is %d ns", *m.Watching, sent.Min())
	}
}

// If an event arrives before the reply to its put, its latency is still measured from the time at
// which the put was sent. The latency is never replaced by 0.
func TestWatchLatencyStartsAtThePut(t *testing.T) {
	settle.RetryMeasurement(t, func(r settle.Reporter) { watchLatencyIsFromThePut(t, r) })
}

func watchLatencyIsFromThePut(t *testing.T, r settle.Reporter) {
	m := run(t, watched(serve(t, "delay=500ms", store.NullOptions{Memory: true}))).Measured
	if half := m.Watch.FromSent.ValueAtQuantile(50); half >= 400_000_000 {
		r.Errorf("the median event latency is %d ns, want less than 400 ms", half)
	}
	if put := m.MergedCell().Service.Min(); put < 499_000_000 {
		t.Fatalf("the fastest put took %d ns, want at least 499 ms", put)
	}
	// A busy machine increases both times. The test with the simulated engine checks exact times.
	if s := m.Watch.FromSent; s.ValueAtQuantile(50) >= m.MergedCell().Service.ValueAtQuantile(50) || s.Min() <= 0 || m.Watching.Impossible > 0 || m.Watch.Delivered != 5000 {
		t.Errorf("the median event latency is %d ns: %+v", s.ValueAtQuantile(50), *m.Watching)
	}
	if due, sent := m.Watch.FromDue.Mean(), m.Watch.FromSent.Mean(); due < sent {
		t.Errorf("the mean latency is %v from due and %v from sent", due, sent)
	}
}

// Puts wait because the server accepts only a few at once. The latencies of their events include
// this wait if they are measured from due, but not if they are measured from sent.
func TestWatchLatencyHasNoCoordinatedOmission(t *testing.T) {
	settle.RetryMeasurement(t, func(r settle.Reporter) { watchLatencyHasNoCoordinatedOmission(t, r) })
}

func watchLatencyHasNoCoordinatedOmission(t *testing.T, r settle.Reporter) {
	p := watched(serve(t, "stall=500ms@500ms", store.NullOptions{Memory: true, MaxStreams: 5}))
	p.Load.Watch.Streams = 3 // one on each connection
	p.Load.MaxInFlight = 20
	m := run(t, p).Measured
	// On a busy machine, the last puts may still be waiting to be sent when the window closes.
	sentAll := m.Succeeded() == 1000
	if m.Failed() != m.Outcomes[kv.NotSent] || m.Watch.Delivered != 5*m.Succeeded() {
		t.Fatalf("outcomes %v, events %+v", m.Outcomes, m.Watch)
	}
	due, sent := m.Watch.FromDue, m.Watch.FromSent
	// The server stalls for a quarter of the load's 2 s. Puts that are due during the stall are
	// sent after its end, except for the first ten, which are sent at once. A busy machine
	// increases both times; the test with the simulated engine has no such delays.
	atLeast(t, "p95 from due", float64(due.ValueAtQuantile(95)), 0.376e9)
	atLeast(t, "the mean wait to be sent", due.Mean()-sent.Mean(), 0.056e9)
	if sent.ValueAtQuantile(90) > 250_000_000 || !sentAll {
		r.Errorf("p90 from sent is %d ns, and the outcomes are %v", sent.ValueAtQuantile(90), m.Outcomes)
	}
	// The delay of each event equals the delay of its put.
	if sentAll {
		near(t, "the mean wait to be sent", due.Mean()-sent.Mean(), m.Lateness.Mean(), 0.01)
	}
}

// Processing an event, from the socket to the histogram, does not allocate.
func TestWatchedLoadDoesNotAllocate(t *testing.T) {
	settle.SkipUnderRace(t)
	p := watched(serve(t, "", store.NullOptions{Memory: true}))
	p.Load.Rate.PerSecond, p.Load.Warmup = 1000, time.Second
	p.Load.Watch.Watchers, p.Load.Watch.Streams = 200, 4
	allocations := countAllocations(&p)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		m := run(t, p).Measured
		if m.Watching.Lost > 0 {
			t.Errorf("events were lost: %+v", *m.Watching)
		}
		// The null server runs in this process, too, and makes two allocations for each event.
		perEvent := float64(allocations())/float64(m.Watch.Delivered) - 2
		t.Logf("%d events, with %.4f allocations per event", m.Watch.Delivered, perEvent)
		if perEvent > 0.1 {
			r.Errorf("%.4f allocations per event: %+v", perEvent, *m.Watching)
		}
	})
}

// The load causes 200,000 events per second: 200 puts per second, with 1,000 watchers for each.
// Each event is counted and timed exactly once, however slow this machine is.
func TestManyWatchEventsAreCountedRight(t *testing.T) {
	t.Parallel()
	settle.SkipUnderRace(t)
	const rate, seconds, watchers = 200, 3, 1000
	l := open(base(kv.Put, kv.NoConsistency), rate, seconds*time.Second)
	l.KeySpace, l.Connections, l.Distribution, l.Timeout = 4, 2, scenario.Distribution{Name: "sequential"}, time.Minute
	p := taskFor(serve(t, "", store.NullOptions{Memory: true}), l)
	p.Load.Watch = &scenario.Watch{Watchers: watchers, Streams: 10, Connections: 2, WatchedKeys: 1, KeysPerWatcher: l.KeySpace}
	m := run(t, p).Measured
	w := m.Watching
	t.Logf("%d events, half of them within %v of their put, p99 %v", w.Delivered, time.Duration(m.Watch.FromSent.ValueAtQuantile(50)), time.Duration(m.Watch.FromSent.ValueAtQuantile(99)))
	const all = rate * seconds * watchers
	if m.Failed() > 0 || w.Expected != all || w.Delivered != all || w.Lost+w.Duplicated+w.Reordered+w.Untimed+w.Foreign+w.Wrong+w.Impossible > 0 {
		t.Errorf("outcomes %v, events %+v", m.Outcomes, *w)
	}
	if got := uint64(m.Watch.FromSent.TotalCount()); got != all || m.Watch.Delivered != all {
		t.Errorf("%d events were timed, and %d were counted in the per-second records", got, m.Watch.Delivered)
	}
}

// The time until the last watcher has received a write is measured only if all watchers watch the
// same keys. Watcher w starts at key w, so other ranges differ even if they have the length of the
// key space.
func TestLastWatcherIsTimedOnlyForEqualRanges(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	for name, c := range map[string]struct {
		watch scenario.Watch
		timed bool
	}{
		"one watcher":             {scenario.Watch{Watchers: 1, KeysPerWatcher: 4}, true},
		"the same first key":      {scenario.Watch{Watchers: 3, KeysPerWatcher: 4, WatchedKeys: 1}, true},
		"different first keys":    {scenario.Watch{Watchers: 3, KeysPerWatcher: 4}, false},
		"different keys, one key": {scenario.Watch{Watchers: 3, KeysPerWatcher: 1}, false},
	} {
		p := watched(endpoint)
		p.Load.Rate.PerSecond, p.Load.Duration = 100, 200*time.Millisecond
		c.watch.Streams, c.watch.Connections = 1, 1
		p.Load.Watch = &c.watch
		m := run(t, p).Measured
		if w := m.Watching; w.Delivered == 0 || (w.Last != nil) != c.timed {
			t.Errorf("%s: %d events arrived, and the time until the last one was measured: %v; want some events, and %v", name, w.Delivered, w.Last != nil, c.timed)
		}
	}
}
