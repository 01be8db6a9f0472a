package load_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/remote"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func local() load.Worker {
	return &load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
}

// eachWorker runs a test with every kind of worker: one in this process, one over a pipe, two
// together, two together over pipes, and agents over mutual TLS. In CI, it uses only two of these
// kinds.
func eachWorker(t *testing.T, test func(t *testing.T, w load.Worker)) {
	for _, c := range settle.Sample(t, 2, []struct {
		name   string
		worker func(t *testing.T) load.Worker
	}{
		{"local", func(*testing.T) load.Worker { return local() }},
		{"piped", func(*testing.T) load.Worker { return agents.NewPiped(local()) }},
		{"two", func(*testing.T) load.Worker { return load.Workers{local(), local()} }},
		{"two piped", func(*testing.T) load.Worker {
			return load.Workers{agents.NewPiped(local()), agents.NewPiped(local())}
		}},
		{"two over one pipe", func(*testing.T) load.Worker { return agents.NewPiped(load.Workers{local(), local()}) }},
		{"agent", func(t *testing.T) load.Worker { return agents.Worker(t, nil) }},
		{"two agents", func(t *testing.T) load.Worker { return load.Workers{agents.Worker(t, nil), agents.Worker(t, nil)} }},
	}) {
		t.Run(c.name, func(t *testing.T) { test(t, c.worker(t)) })
	}
}

// reported collects the reports from a worker.
type reported struct {
	mu      sync.Mutex
	due     uint64 // operations due in the window's seconds
	timed   int64
	last    *measure.Second
	order   []string
	changed bool
}

func (h *reported) reports(t *testing.T) load.Reports {
	return load.Reports{
		Second: func(s *measure.Second) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if l := h.last; l != nil && (s.Phase < l.Phase || s.Phase == l.Phase && s.Index != l.Index+1) {
				t.Errorf("second %d of %v follows %d of %v", s.Index, s.Phase, l.Index, l.Phase)
			}
			h.last = &measure.Second{Phase: s.Phase, Index: s.Index}
			if s.Phase == measure.Measured {
				h.due += s.Due
				if whole := s.Response(measure.NewHistogram()); whole != nil {
					h.timed += whole.TotalCount()
				}
			}
		},
		OnClusterChange: func(uint64, bool) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.changed = true
		},
		OnPhaseChange: func(m load.PhaseChange) {
			h.mu.Lock()
			defer h.mu.Unlock()
			what := m.Phase.String()
			if m.Ended {
				what = "ended"
			}
			h.order = append(h.order, what)
		},
	}
}

// The load runs on a real etcd. Every kind of worker reports the same result as a single worker.
// Several workers together send as many operations as a single worker, and report them as a single
// worker does.
func TestWorkersOnEtcd(t *testing.T) {
	t.Parallel()
	endpoint := embedded.Etcd(t)
	eachWorker(t, func(t *testing.T, w load.Worker) {
		l := base(kv.Put, kv.NoConsistency)
		l.Mix = append(l.Mix, scenario.Operation{Kind: kv.Get, Consistency: kv.Linearizable, Weight: 1})
		l.Total, l.Warmup, l.Prefix, l.Preload = 1001, 100*time.Millisecond, t.Name(), true
		a := taskFor(endpoint, l).Assignment
		a.Members = map[string]uint64{endpoint: 7}
		loops, err := w.Check(t.Context(), &a)
		if err != nil {
			t.Fatal(err)
		}
		if a.Preloaded, err = w.Preload(t.Context(), &a); err != nil || a.Preloaded.Written != l.KeySpace {
			t.Fatalf("the preload wrote %+v, error %v", a.Preloaded, err)
		}
		var h reported
		began := time.Now()
		res, err := load.Run(t.Context(), w, &a, h.reports(t))
		if err != nil {
			t.Fatal(err)
		}
		m := res.Measured
		if m.Due != l.Total || m.Outcomes[kv.OK] != l.Total || h.due != l.Total || h.timed != int64(l.Total) || m.MergedCell().Response.TotalCount() != int64(l.Total) {
			t.Errorf("due %d, due in the per-second records %d, timed %d, outcomes %v %v", m.Due, h.due, h.timed, m.Outcomes, m.ErrorTexts)
		}
		if res.Loops != loops || res.Opened.Before(began) || res.Opened.After(time.Now()) || m.Seconds <= 0 || res.Warmup.Due == 0 {
			t.Errorf("%d loops, want %d; the window opened %v after the start and lasted %v s", res.Loops, loops, res.Opened.Sub(began), m.Seconds)
		}
		if d := cmp.Diff([]string{"warmup", "measured", "ended"}, h.order); d != "" || !h.changed {
			t.Errorf("the phases are reported in the order %v, and a cluster change was reported: %v", h.order, h.changed)
		}
		if len(m.Links) != 1 || m.Links[0].Connections != l.Connections || m.Links[0].Lost != 0 || len(m.Cells) != 2 || len(res.MemberByEndpoint) != 1 {
			t.Errorf("links %+v, %d series, members %v", m.Links, len(m.Cells), res.MemberByEndpoint)
		}
		if u := res.Used; len(u) == 0 || u[0].Process == 0 || u[0].LoopCPU <= 0 || m.LoopCPU < u[0].LoopCPU || u[0].System == nil {
			t.Errorf("the workers used %+v, and LoopCPU is %d in total", u, m.LoopCPU)
		}
	})
}

// With every kind of worker, an open loop sends exactly the operations in its schedule and reports
// the server's errors.
func TestWorkersReportErrors(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, w load.Worker) {
		l := open(base(kv.Put, kv.NoConsistency), 1000, 2*time.Second)
		l.Timeout = 5 * time.Second
		a := taskFor(serve(t, "error=unavailable every 100; close every 333", store.NullOptions{Memory: true}), l).Assignment
		var h reported
		res, err := load.Run(t.Context(), w, &a, h.reports(t))
		if err != nil {
			t.Fatal(err)
		}
		m := res.Measured
		if m.Due != 2000 || h.due != 2000 || m.Failed() < 25 || m.Succeeded() < 1500 || m.Reconnects == 0 || len(m.ErrorTexts) == 0 || m.Links[0].Lost == 0 {
			t.Errorf("due %d, outcomes %v %v, %d reconnects, links %+v", m.Due, m.Outcomes, m.ErrorTexts, m.Reconnects, m.Links)
		}
		if m.Seconds != 2 && len(res.Used) == 1 || m.Lateness.TotalCount() == 0 {
			t.Errorf("%v s", m.Seconds)
		}
	})
}

// If a load is stopped, it returns what it has measured. If it is stopped before its window, it
// returns ErrNoWindow. If it cannot connect, it returns the reason.
func TestWorkersStop(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	eachWorker(t, func(t *testing.T, w load.Worker) {
		l := base(kv.Put, kv.NoConsistency)
		l.Duration = time.Hour
		a := taskFor(endpoint, l).Assignment
		job, err := w.Prepare(t.Context(), &a, load.Reports{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var watching sync.WaitGroup
		watching.Go(func() {
			defer cancel()
			eventually(t, "some operations", func() bool { return job.Progress().Done > 1000 && job.Progress().Phase == "measured" })
			job.Epoch(5)
			job.Retarget([]string{endpoint})
		})
		res, err := load.RunJob(ctx, job)
		watching.Wait()
		if err != nil || !res.Interrupted || res.Measured.Due == 0 {
			t.Errorf("the result is %+v, error %v", res, err)
		}
		a.Load.Warmup = time.Hour
		if _, err := load.Run(ctx, w, &a, load.Reports{}); !errors.Is(err, load.ErrNoWindow) && !errors.Is(err, context.Canceled) {
			t.Errorf("stopped in the warm-up: %v", err)
		}
		a.Endpoints = []string{"127.0.0.1:1"}
		if _, err := load.Run(t.Context(), w, &a, load.Reports{}); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("closed port: %v", err)
		}
		if _, err := w.Check(t.Context(), &a); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("closed port, checked: %v", err)
		}
		unused, err := w.Prepare(t.Context(), &a, load.Reports{})
		if err != nil {
			t.Fatal(err)
		}
		unused.Close()
		if at, err := w.Clock(t.Context()); err != nil || time.Since(at).Abs() > time.Hour {
			t.Errorf("the clock is at %v, %v", at, err)
		}
	})
}

// All workers begin at the start time that is passed to Run.
func TestWorkersBeginAtTheGivenTime(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	eachWorker(t, func(t *testing.T, w load.Worker) {
		l := base(kv.Put, kv.NoConsistency)
		l.Total = 100
		a := taskFor(endpoint, l).Assignment
		job, err := w.Prepare(t.Context(), &a, load.Reports{})
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now().Add(300 * time.Millisecond)
		res, err := job.Run(t.Context(), begin)
		if err != nil {
			t.Fatal(err)
		}
		// Opened is the scheduled start time, not a time that a thread read from its clock.
		if early := begin.Sub(res.Opened); early > time.Millisecond || early < -time.Millisecond {
			t.Errorf("the window opened %v before its scheduled start", early)
		}
	})
}

// A load that cannot be divided is refused before the workers do anything.
func TestWorkersRefuseIndivisibleLoads(t *testing.T) {
	t.Parallel()
	l := base(kv.CAS, kv.NoConsistency)
	a := taskFor("127.0.0.1:1", l).Assignment
	w := load.Workers{local(), agents.NewPiped(local())}
	_, checked := w.Check(t.Context(), &a)
	_, preloaded := w.Preload(t.Context(), &a)
	_, prepared := w.Prepare(t.Context(), &a, load.Reports{})
	_, first := w.WriteVersions(t.Context(), &a)
	for _, err := range []error{checked, preloaded, prepared, first} {
		if err == nil || !strings.Contains(err.Error(), "compare-and-set cannot be divided among 2 workers") {
			t.Errorf("%v", err)
		}
	}
	if _, err := (load.Workers{}).Check(t.Context(), &a); err == nil {
		t.Error("Check returned no error although there is no worker")
	}
}

// If a worker cannot execute an assignment, Prepare returns an error instead of a job.
func TestWorkersReportFailedPreparations(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, w load.Worker) {
		l := base(kv.KeepAlive, kv.NoConsistency)
		l.Total = 100
		a := taskFor("127.0.0.1:1", l).Assignment
		if job, err := w.Prepare(t.Context(), &a, load.Reports{}); job != nil || err == nil || !strings.Contains(err.Error(), "too few leases for the load (needed: 100,") {
			t.Errorf("Prepare returned %v, error %v", job, err)
		}
	})
}

// counting is a listener that counts its open connections.
type counting struct {
	net.Listener
	open atomic.Int32
}

type counted struct {
	net.Conn
	closed func()
}

func (c counted) Close() error {
	c.closed()
	return c.Conn.Close()
}

func (l *counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return counted{c, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
}

// serveCounting starts a null server behind a listener that counts its connections.
func serveCounting(t *testing.T) *counting {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Listener: l}
	server, err := etcd.New().NullServer(store.NullOptions{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, []net.Listener{c}) }()
	t.Cleanup(func() {
		cancel()
		storetest.AwaitEnd(t, "the null server", ended)
	})
	return c
}

// A job that is connected but is never run ends when it is closed, or when its controller no longer
// exists.
func TestConnectedJobIsClosed(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, w load.Worker) {
		server := serveCounting(t)
		l := base(kv.Put, kv.NoConsistency)
		l.Total = 100
		a := taskFor(server.Addr().String(), l).Assignment
		job, err := w.Prepare(t.Context(), &a, load.Reports{})
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all connections to open", func() bool { return int(server.open.Load()) == a.Load.Connections })
		job.Close()
		job.Close()
		eventually(t, "all connections to end", func() bool { return server.open.Load() == 0 })
	})
}

// noClock is a worker whose Clock returns an error.
type noClock struct{ load.Worker }

func (noClock) Clock(context.Context) (time.Time, error) {
	return time.Time{}, errors.New("no time")
}

// If workers cannot agree on a start time, they disconnect.
func TestWorkersWithoutAClockEnd(t *testing.T) {
	t.Parallel()
	server := serveCounting(t)
	a := taskFor(server.Addr().String(), base(kv.Put, kv.NoConsistency)).Assignment
	if _, err := load.Run(t.Context(), load.Workers{local(), noClock{local()}}, &a, load.Reports{}); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Errorf("%v", err)
	}
	eventually(t, "all connections to end", func() bool { return server.open.Load() == 0 })
}

// If one of several workers fails, the other workers end too, and the result contains the name of
// the failed worker.
func TestWorkersFailTogether(t *testing.T) {
	t.Parallel()
	endpoint := serve(t, "", store.NullOptions{Memory: true})
	l := base(kv.Put, kv.NoConsistency)
	l.Duration = time.Hour
	a := taskFor(endpoint, l).Assignment
	here, there := net.Pipe()
	var once sync.Once
	gone := remote.New(func(context.Context) (remote.Stream, error) {
		h, th := here, there
		first := false
		once.Do(func() { first = true })
		if !first {
			h, th = net.Pipe()
		}
		go func() { _ = remote.Serve(context.Background(), remote.NewFramed(th), local()) }()
		return remote.NewFramed(h), nil
	})
	job, err := load.Workers{local(), gone}.Prepare(t.Context(), &a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	var cutting sync.WaitGroup
	cutting.Go(func() {
		eventually(t, "some operations", func() bool { return job.Progress().Done > 1000 })
		_ = there.Close()
	})
	res, err := load.RunJob(t.Context(), job)
	cutting.Wait()
	if err != nil || !res.Interrupted || len(res.Measured.Parts) != 2 {
		t.Fatalf("the result is %+v, error %v", res, err)
	}
	m, gone1 := res.Measured, res.Measured.Parts[1]
	if gone1.Worker != "2 of 2" || !strings.Contains(gone1.Lost, "the worker was lost") || m.Parts[0].Lost != "" {
		t.Errorf("%+v", m.Parts)
	}
	if due := m.Parts[0].Due + gone1.Due; due != m.Due || m.Due == 0 || m.Due != m.Succeeded()+m.Failed() {
		t.Errorf("%d operations were due, and %d in the sum over the workers", m.Due, due)
	}
}

// If a worker is lost during the warm-up, before anything was measured, the load fails.
func TestWorkerLostBeforeTheWindow(t *testing.T) {
	t.Parallel()
	l := base(kv.Put, kv.NoConsistency)
	l.Warmup, l.Duration = time.Hour, time.Hour
	a := taskFor(serve(t, "", store.NullOptions{Memory: true}), l).Assignment
	here, there := net.Pipe()
	go func() { _ = remote.Serve(context.Background(), remote.NewFramed(there), local()) }()
	job, err := load.Workers{load.NamedWorker{Worker: remote.New(func(context.Context) (remote.Stream, error) { return remote.NewFramed(here), nil }), Name: "w1 on b"}, noClock{local()}}.
		Prepare(t.Context(), &a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	var cutting sync.WaitGroup
	cutting.Go(func() {
		eventually(t, "some operations", func() bool { return job.Progress().Done > 100 })
		_ = there.Close()
	})
	_, err = job.Run(t.Context(), time.Now())
	cutting.Wait()
	if err == nil || !strings.Contains(err.Error(), "worker w1 on b: the worker was lost") {
		t.Errorf("%v", err)
	}
}
