package load_test

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// ofMode returns a load of 1,000 puts to four keys. On each of three connections there is one
// watcher per key, with the given watch mode, so the load causes 3,000 events.
func ofMode(t *testing.T, script string, mode kv.WatchMode) task {
	l := open(base(kv.Put, kv.NoConsistency), 500, 2*time.Second)
	l.KeySpace, l.Connections, l.Distribution = 4, 2, scenario.Distribution{Name: "sequential"}
	endpoints := storetest.ServeNull(t, zookeeper.New(), 1, store.NullOptions{Memory: true, Script: script})
	p := taskOn(zookeeper.New(), endpoints, l)
	p.Load.Watch = &scenario.Watch{Watchers: 12, Streams: 3, Connections: 3, Mode: mode}
	return p
}

// Persistent watches report each change. The reply to a write is needed to find the write that
// caused an event. This works whether the reply arrives before or after the event. Events that the
// server loses, duplicates or delays are counted exactly.
func TestPersistentWatches(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]struct{ delivered, lost, duplicated uint64 }{
		"":                         {3000, 0, 0},
		"delay=30ms":               {3000, 0, 0},
		"watch=lose every 50":      {2940, 60, 0},
		"watch=duplicate every 50": {3000, 0, 60},
	} {
		p := ofMode(t, script, kv.PersistentWatch)
		if want.lost > 0 {
			p.Load.Timeout = awaited
		}
		m := run(t, p).Measured
		w := m.Watching
		if m.Failed() > 0 || w.Expected != 3000 || w.Delivered != want.delivered || w.Lost != want.lost ||
			w.Duplicated != want.duplicated || w.Coalesced+w.Reordered+w.Untimed+w.Foreign+w.Wrong+w.Impossible > 0 {
			t.Errorf("%q: %+v", script, *w)
		}
		if got := m.Watch; got.Delivered != want.delivered || uint64(got.FromSent.TotalCount()) != want.delivered {
			t.Errorf("%q: the events in the window are %+v", script, got)
		}
	}
	m := run(t, ofMode(t, "watch=30ms every 1", kv.PersistentWatch)).Measured
	if sent := m.Watch.FromSent; m.Watching.Delivered != 3000 || sent.Min() < 30_000_000-100_000 {
		t.Errorf("delayed by 30 ms: %+v, and the shortest latency is %d ns", *m.Watching, sent.Min())
	}
	// If the replies to puts are late, the events arrive before the replies. The latency of such an
	// event ends when the event arrives, not when the reply arrives.
	m = run(t, ofMode(t, "delay=500ms", kv.PersistentWatch)).Measured
	if m.Watching.Delivered != 3000 || m.Watching.Impossible > 0 || m.Watch.FromSent.Mean() >= m.MergedCell().Service.Mean() {
		t.Errorf("%+v: the mean latency is %v ns for events and %v ns for the replies to puts", *m.Watching, m.Watch.FromSent.Mean(), m.MergedCell().Service.Mean())
	}
}

// A one-shot watch is set again by a read. Each version is either received or skipped because of a
// newer version, and none is lost.
func TestOneShotWatches(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"", "delay=200ms every 3"} {
		m := run(t, ofMode(t, script, kv.OnceWatch)).Measured
		w := m.Watching
		if m.Failed() > 0 || w.Expected != 3000 || w.Delivered+w.Coalesced != 3000 || w.Lost+w.Duplicated+w.Reordered+w.Untimed+w.Foreign+w.Wrong+w.Impossible > 0 {
			t.Errorf("%q: %+v", script, *w)
		}
		if script != "" && w.Coalesced == 0 {
			t.Errorf("%q: no version was skipped: %+v", script, *w)
		}
		if uint64(m.Watch.FromSent.TotalCount()) != m.Watch.Delivered {
			t.Errorf("%q: %d latencies are recorded for %d events", script, m.Watch.FromSent.TotalCount(), m.Watch.Delivered)
		}
	}
}
