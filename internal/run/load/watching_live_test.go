package load_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// freeURLs returns addresses that are the test's to its end, also while nothing
// listens there.
func freeURLs(t *testing.T, n int) (out []url.URL) {
	t.Helper()
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	for _, port := range lease.Ports {
		out = append(out, url.URL{Scheme: "http", Host: net.JoinHostPort(lease.Address, strconv.Itoa(port))})
	}
	return out
}

// startEtcd starts one real member in this process.
func startEtcd(t *testing.T) (endpoint string) {
	t.Helper()
	m := newMember(t)
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.server.Close() })
	return m.endpoint()
}

// member is a real etcd that can be stopped and started again.
type member struct {
	cfg    *embed.Config
	server *embed.Etcd
}

func newMember(t *testing.T) *member {
	t.Helper()
	cfg := embed.NewConfig()
	urls := freeURLs(t, 2)
	cfg.Dir = t.TempDir()
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = urls[:1], urls[:1]
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = urls[1:], urls[1:]
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.UnsafeNoFsync = true
	return &member{cfg: cfg}
}

func (m *member) endpoint() string { return m.cfg.ListenClientUrls[0].Host }

func (m *member) start() error {
	e, err := embed.StartEtcd(m.cfg)
	if err != nil {
		return err
	}
	select {
	case <-e.Server.ReadyNotify():
		m.server = e
		return nil
	case <-time.After(patience):
		e.Close()
		return fmt.Errorf("etcd is not ready after %v", patience)
	}
}

// seen is how many events n writes to each of so many keys make.
func seen(w load.Watch, keys, n int) (events uint64) {
	if w.WatchedKeys == 0 {
		w.WatchedKeys = uint64(keys)
	}
	for i := range w.Watchers {
		first := i % int(w.WatchedKeys)
		events += uint64(n * min(max(int(w.Span), 1), keys-first))
	}
	return events
}

// Every event of every write comes to every watcher of its key, whether the
// watchers share the writers' connections, have their own, or are in another
// loop, and each event has its two times. The loop is closed: etcd gives up
// writes of its own accord when they come faster than the machine can take. It
// still may on a busy one, and what it gave up may have happened.
func TestWatchersGetEveryEvent(t *testing.T) {
	endpoint := startEtcd(t)
	for name, c := range map[string]struct {
		watch   load.Watch
		threads int
	}{
		"shared":        {load.Watch{Watchers: 100, Streams: 10}, 1},
		"own":           {load.Watch{Watchers: 100, Streams: 10, Connections: 3}, 1},
		"another loop":  {load.Watch{Watchers: 100, Streams: 1, Connections: 1}, 2},
		"of intervals":  {load.Watch{Watchers: 20, Streams: 4, Span: 5}, 2},
		"of one key":    {load.Watch{Watchers: 20, Streams: 4, WatchedKeys: 1, PrevKV: true}, 1},
		"ten to stream": {load.Watch{Watchers: 200, Streams: 100}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := base(kv.Put, kv.None)
			l.Clients, l.Total, l.Warmup = 20, 1000, 200*time.Millisecond
			l.KeySpace, l.Prefix, l.Threads = 10, "watched "+name, c.threads
			l.Distribution, l.Timeout = scenario.Distribution{Name: "sequential"}, patience
			p := planFor(endpoint, l)
			p.Watch = &c.watch
			r := run(t, p)
			m, warmup := r.Measured, r.Warmup
			w := m.Watching
			t.Logf("%+v", *w)
			given := m.Outcomes[kv.StoreTimeout] + warmup.Outcomes[kv.StoreTimeout] // up by etcd
			if m.Due != 1000 || m.Failed()+warmup.Failed() != given || w.Acknowledged != m.Outcomes[kv.OK]+warmup.Outcomes[kv.OK] {
				t.Fatalf("due %d, outcomes %v and %v, acknowledged %d", m.Due, warmup.Outcomes, m.Outcomes, w.Acknowledged)
			}
			if w.Lost+w.Duplicated+w.Reordered+w.Untimed+w.Wrong+w.Impossible+w.Ended+w.Resubscribed > 0 || w.Delivered < w.Expected {
				t.Errorf("not every event came once: %+v", *w)
			}
			// The window's events are those of its own writes.
			if want := seen(c.watch, 10, 100); given == 0 && (w.Delivered != w.Expected || m.Watch.Delivered != want || w.Expected < want) {
				t.Errorf("%d events in the window, want %d, and %d of %d in all", m.Watch.Delivered, want, w.Delivered, w.Expected)
			}
			if due, sent := m.Watch.FromDue, m.Watch.FromSent; uint64(due.TotalCount()) != m.Watch.Delivered ||
				uint64(sent.TotalCount()) != m.Watch.Delivered || due.Mean() < sent.Mean() || sent.Min() <= 0 {
				t.Errorf("%d and %d times, means %v and %v", due.TotalCount(), sent.TotalCount(), due.Mean(), sent.Mean())
			}
		})
	}
}

// cuttable passes connections on to a server. The first few it cuts itself, each
// when the server has said so many bytes: that depends on nobody's speed.
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

// eventually polls until ok or the test's patience ends.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Error(what + " did not happen")
			return
		}
	}
}

// Watchers whose connection is cut go on where they were: no event is lost.
func TestWatchersResumeAfterACut(t *testing.T) {
	endpoint := startEtcd(t)
	// Half of the 12,000 events come through it, of more than 100 bytes each.
	net := cuttable{after: 150_000}
	net.cuts.Store(3)
	l := base(kv.Put, kv.None)
	l.Clients, l.Total = 10, 1200
	l.KeySpace, l.Connections, l.Distribution = 5, 1, scenario.Distribution{Name: "sequential"}
	l.Timeout = patience
	p := planFor(endpoint, l)
	p.Endpoints = []string{endpoint, net.serve(t, endpoint)}
	p.Watch = &load.Watch{Watchers: 50, Streams: 4, Connections: 2} // of which one goes through the cut
	res := run(t, p)
	w := res.Measured.Watching
	t.Logf("%+v", *w)
	if w.Acknowledged != 1200 || w.Expected != 12_000 || w.Delivered != w.Expected || w.Lost+w.Reordered+w.Wrong+w.Ended+w.Duplicated > 0 {
		t.Errorf("%+v", *w)
	}
	// Half of the watchers, each time that they were there to be cut. The second
	// and third time some may not have been created again yet.
	if left := net.cuts.Load(); w.Resubscribed < 25 || w.Resubscribed > 75 || left > 0 {
		t.Errorf("%d watchers were created again, and %d cuts left", w.Resubscribed, left)
	}
}

// A member that stops and comes back: puts fail meanwhile, and of those that
// were acknowledged no event is lost.
func TestWatchersSurviveTheMember(t *testing.T) {
	m := newMember(t)
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	defer func() { m.server.Close() }()
	// The load ends with its total, however long the member is away.
	l := base(kv.Put, kv.None)
	l.KeySpace, l.Clients, l.Total = 3, 10, 2000
	p := planFor(m.endpoint(), l)
	p.Watch = &load.Watch{Watchers: 30, Streams: 6, WatchedKeys: 3}
	g, err := load.New(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var away sync.WaitGroup
	away.Go(func() {
		eventually(t, "enough events", func() bool { return g.Progress().Events > 1000 })
		m.server.Close()
		if err := m.start(); err != nil {
			t.Errorf("the member does not come back: %v", err)
			cancel()
		}
	})
	res, err := g.Run(ctx)
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

// Watchers that begin at an earlier revision catch up while the load reads;
// when all have what there is, the load ends.
func TestWatchersCatchUp(t *testing.T) {
	endpoint := startEtcd(t)
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
	p := planFor(endpoint, l)
	p.Watch = &load.Watch{Watchers: 2000, Streams: 2, Connections: 1, Key: []byte("watchkey"), Start: first, Expect: 8, AtWindow: true}
	g, err := load.New(p)
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Run(t.Context())
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

// What cannot be watched is refused in a sentence.
func TestWatchIsRefused(t *testing.T) {
	for want, change := range map[string]func(*load.Plan){
		"watch streams":          func(p *load.Plan) { p.Watch.Streams = 11 },
		"values of 15 bytes":     func(p *load.Plan) { p.Load.ValueSize = 15 },
		"stm":                    func(p *load.Plan) { p.Load.Mix[0].Kind = kv.STM },
		"new connection":         func(p *load.Plan) { p.Load.NewConnection = true },
		"watched keys":           func(p *load.Plan) { p.Watch.WatchedKeys = 1001 },
		"no operation of a mix":  func(p *load.Plan) { p.Load.Mix[0].Kind = kv.Watch },
		"as many leases":         func(p *load.Plan) { p.Load.Mix[0].Kind = kv.KeepAlive },
		"0 watchers":             func(p *load.Plan) { p.Watch.Watchers = 0 },
		"start revision on":      func(p *load.Plan) { p.Watch.Expect = 1 },
		"more than can be":       func(p *load.Plan) { p.Load.KeySpace = 1 << 22; p.Watch.Span = 1 << 20 },
		"as an interval":         func(p *load.Plan) { p.Watch.Key, p.Watch.Span = []byte("k"), 2 },
		"keys in a transaction":  func(p *load.Plan) { p.Watch, p.STM, p.Load.Mix[0].Kind = nil, &load.STM{}, kv.STM },
		"as many in the key spa": func(p *load.Plan) { p.Watch, p.STM, p.Load.Mix[0].Kind = nil, &load.STM{KeysPerTxn: 1001}, kv.STM },
		"101 percent": func(p *load.Plan) {
			p.Watch, p.STM, p.Load.Mix[0].Kind = nil, &load.STM{KeysPerTxn: 1, WritePercent: 101}, kv.STM
		},
	} {
		l := open(base(kv.Put, kv.None), 100, time.Second)
		p := planFor("127.0.0.1:1", l)
		p.Watch = &load.Watch{Watchers: 10, Streams: 10}
		change(&p)
		if _, err := load.New(p); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a sentence with %q: %v", want, err)
		}
	}
}
