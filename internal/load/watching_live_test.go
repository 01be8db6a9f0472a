package load_test

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// expectedEvents returns the number of events that the watchers receive if each of the `keys` keys
// is written n times.
func expectedEvents(w scenario.Watch, keys, n int) (events uint64) {
	if w.WatchedKeys == 0 {
		w.WatchedKeys = uint64(keys)
	}
	for i := range w.Watchers {
		first := i % int(w.WatchedKeys)
		events += uint64(n * min(max(int(w.KeysPerWatcher), 1), keys-first))
	}
	return events
}

// The event for every write reaches every watcher of the written key. It does not matter whether
// the watchers share the writers' connections, have their own, or are in another loop. Each event
// has a latency from due and a latency from sent. The test uses a closed loop, because etcd
// abandons writes that arrive faster than the machine can execute them. On a busy machine, etcd may
// still abandon some writes, and may nevertheless execute them.
func TestWatchersGetEveryEvent(t *testing.T) {
	t.Parallel()
	endpoint := embedded.Etcd(t)
	for _, c := range []struct {
		name    string
		watch   scenario.Watch
		threads int
	}{
		{"shared", scenario.Watch{Watchers: 100, Streams: 10}, 1},
		{"own", scenario.Watch{Watchers: 100, Streams: 10, Connections: 3}, 1},
		{"another loop", scenario.Watch{Watchers: 100, Streams: 1, Connections: 1}, 2},
		{"of intervals", scenario.Watch{Watchers: 20, Streams: 4, KeysPerWatcher: 5}, 2},
		{"of one key", scenario.Watch{Watchers: 20, Streams: 4, WatchedKeys: 1, PrevKV: true}, 1},
		{"ten to stream", scenario.Watch{Watchers: 200, Streams: 100}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := base(kv.Put, kv.NoConsistency)
			l.Clients, l.Total, l.Warmup = 20, 300, 50*time.Millisecond
			l.KeySpace, l.Prefix, l.Threads = 10, "watched "+c.name, c.threads
			l.Distribution, l.Timeout = scenario.Distribution{Name: "sequential"}, patience
			p := taskFor(endpoint, l)
			p.Load.Watch = &c.watch
			r := run(t, p)
			m, warmup := r.Measured, r.Warmup
			w := m.Watching
			t.Logf("%+v", *w)
			// Number of writes that etcd abandoned.
			given := m.Outcomes[kv.StoreTimeout] + warmup.Outcomes[kv.StoreTimeout]
			if m.Due != l.Total || m.Failed()+warmup.Failed() != given || w.Acknowledged != m.Outcomes[kv.OK]+warmup.Outcomes[kv.OK] {
				t.Fatalf("due %d, outcomes %v and %v, acknowledged %d", m.Due, warmup.Outcomes, m.Outcomes, w.Acknowledged)
			}
			if w.Lost+w.Duplicated+w.Reordered+w.Untimed+w.Wrong+w.Impossible+w.Ended+w.Resubscribed > 0 || w.Delivered < w.Expected {
				t.Errorf("some event did not arrive exactly once: %+v", *w)
			}
			// The events that are counted in the window belong to the writes of the window.
			if want := expectedEvents(c.watch, 10, 30); given == 0 && (w.Delivered != w.Expected || m.Watch.Delivered != want || w.Expected < want) {
				t.Errorf("%d events are in the window, want %d; %d of %d events were delivered in total", m.Watch.Delivered, want, w.Delivered, w.Expected)
			}
			if due, sent := m.Watch.FromDue, m.Watch.FromSent; uint64(due.TotalCount()) != m.Watch.Delivered ||
				uint64(sent.TotalCount()) != m.Watch.Delivered || due.Mean() < sent.Mean() || sent.Min() <= 0 {
				t.Errorf("%d latencies from due and %d from sent, with means %v and %v", due.TotalCount(), sent.TotalCount(), due.Mean(), sent.Mean())
			}
		})
	}
}

// cuttable forwards connections to a server. It cuts each of the first few connections when the
// server has sent a certain number of bytes on it, so that the cuts do not depend on timing.
type cuttable struct {
	after int64 // bytes
	cuts  atomic.Int32
}

func (c *cuttable) serve(t *testing.T, to string) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			pass := func(to, from net.Conn, said io.Reader) {
				_, _ = io.Copy(to, said)
				_, _ = to.Close(), from.Close()
			}
			said := io.Reader(out)
			if c.cuts.Add(-1) >= 0 {
				said = io.LimitReader(out, c.after)
			}
			go pass(in, out, said)
			go pass(out, in, in)
		}
	}()
	return l.Addr().String()
}

// eventually polls every millisecond until ok returns true. It fails the test if that takes longer
// than the constant `patience`.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end, again := time.After(patience), time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-end:
			t.Error("timed out while waiting for " + what)
			return
		}
	}
}

// After their connection is cut, watchers continue after the last event that they received, so no
// event is lost.
func TestWatchersResumeAfterACut(t *testing.T) {
	t.Parallel()
	endpoint := embedded.Etcd(t)
	// Half of the 12,000 events pass through the connection that is cut. Each of them has more than
	// 100 bytes.
	net := cuttable{after: 150_000}
	net.cuts.Store(3)
	l := base(kv.Put, kv.NoConsistency)
	l.Clients, l.Total = 10, 1200
	l.KeySpace, l.Connections, l.Distribution = 5, 1, scenario.Distribution{Name: "sequential"}
	l.Timeout = patience
	p := taskFor(endpoint, l)
	p.Endpoints = []string{endpoint, net.serve(t, endpoint)}
	// One stream passes through the connection that is cut.
	p.Load.Watch = &scenario.Watch{Watchers: 50, Streams: 4, Connections: 2}
	res := run(t, p)
	w := res.Measured.Watching
	t.Logf("%+v", *w)
	if w.Acknowledged != 1200 || w.Expected != 12_000 || w.Delivered != w.Expected || w.Lost+w.Reordered+w.Wrong+w.Ended+w.Duplicated > 0 {
		t.Errorf("%+v", *w)
	}
	// Each cut affects half of the watchers. At the second and third cut, some of these watchers
	// may not have been re-created yet.
	if left := net.cuts.Load(); w.Resubscribed < 25 || w.Resubscribed > 75 || left > 0 {
		t.Errorf("watchers were created again %d times, and %d cuts are left", w.Resubscribed, left)
	}
}

// While a member is stopped, puts fail. After the member has started again, no event of an
// acknowledged put is lost.
func TestWatchersSurviveAMemberRestart(t *testing.T) {
	t.Parallel()
	m := embedded.New(t)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	defer m.Stop()
	// The load ends when it has sent its total number of operations, however long the member is
	// stopped.
	l := base(kv.Put, kv.NoConsistency)
	l.KeySpace, l.Clients, l.Total = 3, 10, 2000
	p := taskFor(m.Endpoint(), l)
	p.Load.Watch = &scenario.Watch{Watchers: 30, Streams: 6, WatchedKeys: 3}
	g, err := p.worker().Prepare(t.Context(), &p.Assignment, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var away sync.WaitGroup
	away.Go(func() {
		eventually(t, "enough events", func() bool { return g.Progress().Events > 1000 })
		m.Stop()
		if err := m.Start(); err != nil {
			t.Errorf("the member did not start again: %v", err)
			cancel()
		}
	})
	res, err := load.RunJob(ctx, g)
	away.Wait()
	if err != nil {
		t.Fatal(err)
	}
	w := res.Measured.Watching
	t.Logf("%+v, outcomes %v", *w, res.Measured.Outcomes)
	if w.Lost > 0 || w.Wrong > 0 || w.Ended > 0 || w.Resubscribed < 30 || w.Delivered < w.Expected {
		t.Errorf("%+v", *w)
	}
}

// Watchers that start at an earlier revision catch up while the load sends reads. The load ends
// when all watchers have caught up.
func TestWatchersCatchUp(t *testing.T) {
	t.Parallel()
	endpoint := embedded.Etcd(t)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	var first int64
	for i := range 8 {
		r, err := c.Put(t.Context(), "watchkey", strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = r.Header.Revision
		}
	}
	l := base(kv.Get, kv.Local)
	const longest = 10 * time.Minute
	l.Connections, l.Clients, l.Duration = 1, 1, longest
	p := taskFor(endpoint, l)
	p.Load.Watch = &scenario.Watch{Watchers: 2000, Streams: 2, Connections: 1, Key: []byte("watchkey"), StartRevision: first, EarlierEvents: 8, CreatedInWindow: true}
	res, err := load.Run(t.Context(), p.worker(), &p.Assignment, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	w := res.Measured.Watching
	if w.Delivered != 16_000 || w.Expected != 16_000 || w.Lost+w.Duplicated+w.Reordered > 0 || res.Interrupted || res.Measured.Seconds >= longest.Seconds() {
		t.Errorf("%+v after %v s, interrupted %v", *w, res.Measured.Seconds, res.Interrupted)
	}
	if res.Measured.Done == 0 || res.Measured.Failed() > 0 || res.Measured.Watch.FromDue != nil {
		t.Errorf("outcomes %v", res.Measured.Outcomes)
	}
}

// Each client needs a lease to renew, so a load that has too few leases is refused.
func TestLeasesAreRequired(t *testing.T) {
	t.Parallel()
	p := taskFor("127.0.0.1:1", open(base(kv.KeepAlive, kv.NoConsistency), 100, time.Second))
	if _, err := p.worker().Prepare(t.Context(), &p.Assignment, load.Reports{}); err == nil || !strings.Contains(err.Error(), "too few leases for the load (needed: 1,") {
		t.Errorf("a load without leases: %v", err)
	}
}
