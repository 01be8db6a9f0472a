package check

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
)

// serve starts a null server of a store that follows a script.
func serve(t *testing.T, st store.Store, script string) Cluster {
	t.Helper()
	served, ok := st.(store.NullServed)
	if !ok {
		t.Skipf("%s has no null server", st.Name())
	}
	server, err := served.NullServer(store.NullOptions{Script: script, Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, []net.Listener{l}) }()
	t.Cleanup(func() {
		cancel()
		storetest.Ended(t, "the null server", ended)
	})
	return Cluster{Store: st, Access: store.Access{Endpoints: []string{l.Addr().String()}}}
}

const prefix = "/check/"

func perf(c Cluster, rate float64, clients int, d time.Duration) *Perf {
	return &Perf{
		Cluster: c, Model: Model{Rate: rate, Clients: clients, Duration: d}, Prefix: prefix, Timeout: 10 * time.Second, Seed: 1,
	}
}

// left is how many keys are there, as a check that follows would find it.
func left(t *testing.T, c Cluster) int64 {
	t.Helper()
	n, err := (&reached{Cluster: c}).count(context.Background(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// put writes one key below the prefix.
func put(t *testing.T, c Cluster) {
	t.Helper()
	p := perf(c, 10, 1, time.Second)
	l := p.perfLoad()
	l.Prefix, l.KeySpace = prefix+"mine-", 1
	r, err := reach(t.Context(), c, l)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.admin.Close() }()
	w := newWatcher(r)
	if _, err := p.drive(t.Context(), r, w, r.plan(l)); err != nil {
		t.Fatal(err)
	}
}

// One schedule makes exactly rate x seconds writes due, whatever the answers
// take: the original stops at 1,784 of 8,000 a second with 2 ms.
func TestOneScheduleForAllClients(t *testing.T) {
	for _, load := range []string{"l", "xl"} {
		m := ModelOf(load)
		c := serve(t, etcd.New(), "delay=2ms")
		out, err := perf(c, m.Rate, m.Clients, 2*time.Second).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(2 * m.Rate); out.Figures.Due != want {
			t.Errorf("load %s: %d writes were due in 2 s, want %d", load, out.Figures.Due, want)
		}
		if out.Connections != m.Clients || out.Cleanup.Err != nil || left(t, c) != 0 {
			t.Errorf("load %s: %d connections, cleaned up with %v, %d left", load, out.Connections, out.Cleanup.Err, left(t, c))
		}
		t.Logf("load %s: %.0f/s, slowest %v s", load, out.Figures.Throughput, out.Figures.Slowest)
	}
}

func TestEveryStoreIsCheckedAndCleaned(t *testing.T) {
	for _, st := range registry.All() {
		t.Run(st.Name(), func(t *testing.T) {
			c := serve(t, st, "delay=1ms")
			// As many clients as writes: none waits for a connection at the end.
			out, err := perf(c, 200, 200, time.Second).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if out.Figures.Due != 200 || len(out.ByError) > 0 || out.Cleanup.Err != nil || left(t, c) != 0 {
				t.Errorf("%d due, errors %v, clean-up %+v, %d left", out.Figures.Due, out.ByError, out.Cleanup, left(t, c))
			}
		})
	}
}

// A stall of 0.9 s is at least that in the slowest write, because its time runs
// from when it was due.
func TestStallFails(t *testing.T) {
	c := serve(t, etcd.New(), "delay=1ms; stall=900ms@500ms")
	out, err := perf(c, 500, 50, 2*time.Second).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out.Verdict.Pass || !out.Verdict.TooSlow || out.Figures.Slowest < 0.8 {
		t.Errorf("%+v", out.Verdict)
	}
	if len(out.Looked) == 0 || left(t, c) != 0 {
		t.Errorf("looked at %q, %d left", out.Looked, left(t, c))
	}
}

func TestErrorsFailWithTheirCounts(t *testing.T) {
	c := serve(t, etcd.New(), "error=unavailable every 50")
	out, err := perf(c, 1000, 50, time.Second).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !out.Verdict.HadErrors || out.Verdict.Pass || len(out.ByError) == 0 || out.Figures.Errors != 20 {
		t.Errorf("%d errors, %+v", out.Figures.Errors, out.ByError)
	}
	if out.Verdict.Lines[0] != "FAIL: too many errors" || !strings.HasPrefix(out.Verdict.Lines[1], "FAIL: ERROR(") || !strings.HasSuffix(out.Verdict.Lines[1], " -> 20") {
		t.Errorf("%q", out.Verdict.Lines)
	}
	if out.Cleanup.Err != nil {
		t.Error(out.Cleanup.Err)
	}
}

func TestPrefixMustBeEmpty(t *testing.T) {
	for _, st := range registry.All() {
		t.Run(st.Name(), func(t *testing.T) {
			c := serve(t, st, "")
			put(t, c)
			var notEmpty *NotEmptyError
			if _, err := perf(c, 100, 10, time.Second).Run(t.Context()); !errors.As(err, &notEmpty) {
				t.Fatalf("it says %v", err)
			}
			text := notEmpty.Error()
			if !strings.HasPrefix(text, `prefix "/check/" has keys. Delete with '`) || !strings.HasSuffix(text, "' first") {
				t.Errorf("it says %q", text)
			}
			if left(t, c) == 0 {
				t.Error("and removed them")
			}
		})
	}
}

func TestRefusalIsTheOriginals(t *testing.T) {
	e := &NotEmptyError{Prefix: "/etcdctl-check-perf/", Remove: etcd.New().Capabilities().RemoveCommand("/etcdctl-check-perf/")}
	want := `prefix "/etcdctl-check-perf/" has keys. Delete with 'etcdctl del --prefix /etcdctl-check-perf/' first`
	if e.Error() != want {
		t.Errorf("it says %q, not %q", e, want)
	}
}

func TestInterruptedCheckCleansUp(t *testing.T) {
	c := serve(t, etcd.New(), "")
	p := perf(c, 500, 50, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	p.Watch = func(pr Progress) {
		if pr.Stage == Measuring && pr.Done > 50 {
			cancel()
		}
	}
	out, err := p.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Interrupted || out.Cleanup.Err != nil || out.Cleanup.Deleted == 0 || left(t, c) != 0 {
		t.Errorf("interrupted %v, %+v, %d left", out.Interrupted, out.Cleanup, left(t, c))
	}
}

// wrapped is etcd with another Admin.
type wrapped struct {
	*etcd.Store
	wrap func(store.Admin) store.Admin
}

func (w wrapped) Admin(a store.Access) (store.Admin, error) {
	admin, err := w.Store.Admin(a)
	if err != nil {
		return nil, err
	}
	return w.wrap(admin), nil
}

// plain hides that an Admin is a PrefixDeleter.
type plain struct{ store.Admin }

// stuck removes nothing.
type stuck struct {
	store.Admin
	store.PrefixDeleter
}

func (stuck) DeletePrefix(context.Context, []byte) (int64, error) {
	return 0, errors.New("nothing is removed here")
}

func TestStoreWithoutPrefixesIsSwept(t *testing.T) {
	c := serve(t, etcd.New(), "")
	c.Store = wrapped{etcd.New(), func(a store.Admin) store.Admin { return plain{a} }}
	out, err := perf(c, 500, 20, time.Second).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out.Cleanup.Err != nil || out.Cleanup.Deleted < 500 || left(t, c) != 0 {
		t.Errorf("%+v, %d left", out.Cleanup, left(t, c))
	}
}

func TestFailedCleanUpIsTold(t *testing.T) {
	c := serve(t, etcd.New(), "")
	c.Store = wrapped{etcd.New(), func(a store.Admin) store.Admin { return stuck{a, a.(store.PrefixDeleter)} }}
	p := perf(c, 100, 10, time.Second)
	p.patience = time.Second
	out, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out.Cleanup.Err == nil || !strings.Contains(out.Cleanup.Err.Error(), "nothing is removed here") || left(t, c) == 0 {
		t.Errorf("%+v, %d left", out.Cleanup, left(t, c))
	}
}

// refuses holds a check to a sentence before anything is written.
func refuses(t *testing.T, c Cluster, change func(*Perf), want string) {
	t.Helper()
	p := perf(c, 100, 10, time.Second)
	change(p)
	if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s says %v, not %q", c.Store.Name(), err, want)
	}
}

func TestWhatAStoreCannotDoIsRefused(t *testing.T) {
	var names []string
	for _, st := range registry.All() {
		names = append(names, st.Name())
		if _, ok := st.(store.NullServed); !ok {
			continue
		}
		if st.Capabilities().Has(kv.Compaction) {
			continue
		}
		refuses(t, serve(t, st, ""), func(p *Perf) { p.Compact = true }, "--auto-compact: ")
		refuses(t, serve(t, st, ""), func(p *Perf) { p.Defragment = true }, "--auto-defrag: ")
	}
	if !slices.Contains(names, "etcd") {
		t.Errorf("the stores are %q", names)
	}
	refuses(t, serve(t, etcd.New(), ""), func(p *Perf) { p.Cluster.Target.Mode, p.Cluster.Target.Member = 4, 9 }, "target member:9: the cluster has 1 members")
}
