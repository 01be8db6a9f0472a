package load_test

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// realConsul starts a Consul cluster and returns its endpoints.
func realConsul(t *testing.T, members int) []string {
	t.Helper()
	st := consul.New()
	return servers.Start(t, st, servers.Cluster{
		Exec: servers.InstalledServer(t, st), Members: members, Settings: &consul.Settings{LogLevel: "warn"}, Ready: official.ConsulReady(t),
	}).Endpoints
}

// queried returns a load of puts whose watchers are blocking queries. Each query has its own
// connection.
func queried(endpoints []string, w scenario.Watch, keys uint64) task {
	l := base(kv.Put, kv.NoConsistency)
	l.Clients, l.Total, l.Warmup = 10, 400, 100*time.Millisecond
	l.KeySpace, l.Connections, l.Prefix = keys, 10, "queried/"
	l.Timeout = patience
	p := taskOn(consul.New(), endpoints, l)
	w.Streams, w.Connections = w.Watchers, w.Watchers
	p.Load.Watch = &w
	return p
}

// settledOnNewest fails the test unless every watcher's last state is the latest state of its keys,
// and no watcher received a state twice or an older state after a newer one. A state that a watcher
// did not receive must be older than one that it did receive.
func settledOnNewest(t *testing.T, w scenario.Watch, p task) {
	t.Helper()
	if _, err := preload(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	h := &recordings{t: t}
	p.Reports.NewRecorder = h.history
	m := run(t, p).Measured
	got := m.Watching
	t.Logf("%+v", *got)
	if m.Failed() > 0 || got.Lost+got.Duplicated+got.Reordered+got.Wrong+got.Impossible+got.Ended+got.Foreign > 0 ||
		got.Delivered+got.Coalesced != got.Expected || got.Delivered < uint64(w.Watchers) {
		t.Errorf("outcomes %v: %+v", m.Outcomes, *got)
	}
	if due := m.Watch.FromDue; m.Watch.Delivered == 0 || uint64(due.TotalCount()) != m.Watch.Delivered || due.Min() <= 0 {
		t.Errorf("%d events in the window, with %d latencies", m.Watch.Delivered, due.TotalCount())
	}
	type at struct {
		watcher uint32
		key     uint64
	}
	last := map[at]int64{}
	for _, o := range h.ops {
		if o.Kind != kv.Watch || o.Watch != history.KeyChanged {
			continue
		}
		if k := (at{o.Session, o.Key}); o.ModRevision <= last[k] || o.Read == history.Absent {
			t.Errorf("watcher %d received key %d at revision %d after revision %d", o.Session, o.Key, o.ModRevision, last[k])
		} else {
			last[k] = o.ModRevision
		}
	}
	newest := map[uint64]int64{}
	for k, mod := range last {
		newest[k.key] = max(newest[k.key], mod)
	}
	for k, mod := range last {
		if mod != newest[k.key] {
			t.Errorf("watcher %d received key %d last at revision %d, and another watcher at revision %d", k.watcher, k.key, mod, newest[k.key])
		}
	}
}

// Blocking queries can be used as watchers of single keys and of intervals, on the null server and
// on a real server. In CI, the real server has one member.
func TestBlockingQueriesServeWatchers(t *testing.T) {
	t.Parallel()
	starts := map[string]func(t *testing.T) []string{
		"null server": func(t *testing.T) []string {
			return storetest.ServeNull(t, consul.New(), 1, store.NullOptions{Memory: true})
		},
		"one member": func(t *testing.T) []string { return realConsul(t, 1) },
	}
	if settle.Long() {
		starts["three members"] = func(t *testing.T) []string { return realConsul(t, 3) }
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			endpoints := start(t)
			for _, w := range []scenario.Watch{{Watchers: 40}, {Watchers: 20, KeysPerWatcher: 4}, {Watchers: 30, WatchedKeys: 1}} {
				settledOnNewest(t, w, queried(endpoints, w, 10))
			}
		})
	}
}

// Blocking queries also report deletes, and they continue after their connections are cut.
func TestBlockingQueriesSurviveCuts(t *testing.T) {
	t.Parallel()
	endpoint := realConsul(t, 1)[0]
	net := cuttable{after: 20_000}
	net.cuts.Store(5)
	w := scenario.Watch{Watchers: 20, KeysPerWatcher: 3}
	p := queried([]string{net.serve(t, endpoint)}, w, 10)
	p.Load.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 3}, {Kind: kv.Delete, Weight: 1}}
	m := run(t, p).Measured
	got := m.Watching
	t.Logf("%+v, outcomes %v", *got, m.Outcomes)
	if got.Lost+got.Duplicated+got.Reordered+got.Wrong+got.Impossible+got.Ended > 0 || got.Delivered == 0 {
		t.Errorf("%+v", *got)
	}
}

// Each client renews its own session, and transactions under a lock never conflict.
func TestSessionsAndLocksOfConsul(t *testing.T) {
	t.Parallel()
	members := 1
	if settle.Long() {
		members = 3
	}
	endpoints := realConsul(t, members)
	admin, err := consul.New().Admin(store.Access{Endpoints: endpoints, DialTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	leaser := admin.(store.Leaser)
	l := base(kv.KeepAlive, kv.NoConsistency)
	l.Clients, l.Connections, l.Total = 8, 8, 400
	p := taskOn(consul.New(), endpoints, l)
	if p.Leases, err = leaser.Grant(t.Context(), l.Clients, time.Minute); err != nil {
		t.Fatal(err)
	}
	p.LeaseNames = leaser.LeaseNames(p.Leases)
	if m := run(t, p).Measured; m.Failed() > 0 || m.Done != 400 {
		t.Errorf("%d renewals: %v %v", m.Done, m.Outcomes, m.ErrorTexts)
	}

	for _, isolation := range []kv.Isolation{kv.ReadCommitted, kv.Serializable} {
		p.Load.Mix[0].Kind, p.Load.Total, p.Load.KeySpace, p.Load.Timeout = kv.STM, 100, 4, patience
		p.Load.STM = &scenario.STM{Isolation: isolation, KeysPerTxn: 2, WritePercent: 100, Locker: kv.LockClient}
		h := &recordings{t: t}
		p.Reports.NewRecorder = h.history
		m, err := load.Run(t.Context(), p.worker(), &p.Assignment, load.Reports{NewRecorder: h.history})
		if err != nil {
			t.Fatal(err)
		}
		if m.Measured.Failed() > 0 || m.Measured.Done != 100 || m.Measured.Retries > 0 {
			t.Errorf("%d transactions, %d retries: %v %v", m.Measured.Done, m.Measured.Retries, m.Measured.Outcomes, m.Measured.ErrorTexts)
		}
		holds, tokens := 0, map[int64]uint32{}
		for _, o := range h.ops {
			if o.Kind == kv.KeepAlive && o.LockChange == history.Granted {
				holds++
				if other, ok := tokens[o.ModRevision]; ok && other != o.Session || o.ModRevision == 0 {
					t.Errorf("clients %d and %d have the token %d", other, o.Session, o.ModRevision)
				}
				tokens[o.ModRevision] = o.Session
			}
		}
		if holds < 100 {
			t.Errorf("%d holds are recorded, want at least 100", holds)
		}
	}
	if err := leaser.Revoke(t.Context(), p.Leases); err != nil {
		t.Fatal(err)
	}
	p.Load.Mix[0].Kind, p.Load.STM, p.Load.Total = kv.KeepAlive, nil, 8
	if m := run(t, p).Measured; m.Outcomes[kv.BadRequest] != 8 {
		t.Errorf("renewals of revoked sessions: outcomes %v", m.Outcomes)
	}
}
