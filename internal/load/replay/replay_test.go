package replay_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// TestGuardsHoldAgain records etcd's own client, which reads and changes keys by the
// revisions that it read, and sends that to another etcd, faster.
func TestGuardsHoldAgain(t *testing.T) {
	from, to := embedded.Etcd(t), embedded.Etcd(t)
	plain, err := clientv3.New(clientv3.Config{Endpoints: []string{from}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	for i := range 5 { // there before the recording begins
		if _, err := plain.Put(t.Context(), key(i), "earlier"); err != nil {
			t.Fatal(err)
		}
	}
	// What a prefix's removal meets is left to chance where the recording wrote it.
	if _, err := plain.Put(t.Context(), "/other/a", "earlier"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.qbrec")
	record(t, from, path, func(c *clientv3.Client) { change(t, c) })

	plan, err := replay.Read(path, etcd.New(), replay.Options{Speed: 20, Prefix: "again/", Salt: 7})
	if err != nil || plan.Problem != "" {
		t.Fatal(err, plan.Problem)
	}
	a := &load.Assignment{Store: "etcd", Endpoints: []string{to}, Load: scenario.DefaultLoad()}
	l := &a.Load
	l.Arrival, l.Rate.PerSecond, l.Total, l.Duration, l.Connections = scenario.Recorded, 1, plan.Calls(), 0, 4
	l.KeySpace, l.Mix = 10, []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	w := &load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }, Script: plan}
	if a.Preloaded, err = w.Preload(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if a.Preloaded.Written != plan.Prepared() || plan.Prepared() < 5 {
		t.Errorf("%d keys and leases were written before, of %d", a.Preloaded.Written, plan.Prepared())
	}
	res, err := load.Run(t.Context(), w, a, load.Reports{})
	if err != nil {
		t.Fatal(err)
	}
	if m := res.Measured; m.Due != plan.Calls() || m.Outcomes[kv.OK]+m.Outcomes[kv.Conflict]+m.Outcomes[kv.Miss] != m.Due {
		t.Errorf("of %d calls %d were due: %v %v", plan.Calls(), m.Due, m.Outcomes, m.ErrorTexts)
	}
	o := plan.Outcome()
	if o.Held < 60 || o.HeldAgain != o.Held || o.HeldNow != 0 || o.Held == o.Guarded {
		t.Errorf("guards held another time: %+v", o)
	}
	again, err := clientv3.New(clientv3.Config{Endpoints: []string{to}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	same(t, plain, again)
}

func key(i int) string { return "/registry/k" + strconv.Itoa(i) }

// change is what is recorded: chains of guarded writes, with creations, deletions, a
// guard that does not hold, lists and a lease.
func change(t *testing.T, c *clientv3.Client) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	lease, err := c.Grant(ctx, 3600)
	must(err)
	for n := range 80 {
		k := key(r.IntN(5))
		got, err := c.Get(ctx, k)
		must(err)
		guard, then := clientv3.Compare(clientv3.CreateRevision(k), "=", 0), clientv3.OpPut(k, fmt.Sprint("made ", n))
		if len(got.Kvs) > 0 {
			guard, then = clientv3.Compare(clientv3.ModRevision(k), "=", got.Kvs[0].ModRevision), clientv3.OpPut(k, fmt.Sprint(n), clientv3.WithLease(lease.ID))
			if n%10 == 9 {
				then = clientv3.OpDelete(k)
			}
		}
		_, err = c.Txn(ctx).If(guard).Then(then).Else(clientv3.OpGet(k)).Commit()
		must(err)
	}
	_, err = c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key(0)), "=", 1)).Then(clientv3.OpPut(key(0), "never")).Commit()
	must(err)
	_, err = c.Get(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithLimit(3))
	must(err)
	_, err = c.Delete(ctx, "/other/", clientv3.WithPrefix())
	must(err)
	_, err = c.KeepAliveOnce(ctx, lease.ID)
	must(err)
}

// same compares what both stores have, one under its prefix: recorded plainly, it is all
// the same.
func same(t *testing.T, a, b *clientv3.Client) {
	t.Helper()
	want, err := a.Get(t.Context(), "", clientv3.WithFromKey())
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Get(t.Context(), "", clientv3.WithFromKey())
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Kvs) != len(got.Kvs) {
		t.Fatalf("%d keys are there, not %d", len(got.Kvs), len(want.Kvs))
	}
	for i, kv := range want.Kvs {
		g := got.Kvs[i]
		if string(g.Key) != "again/"+string(kv.Key) || string(kv.Value) != "earlier" && string(g.Value) != string(kv.Value) || (g.Lease != 0) != (kv.Lease != 0) {
			t.Errorf("%s = %q (lease %d) became %s = %q (lease %d)", kv.Key, kv.Value, kv.Lease, g.Key, g.Value, g.Lease)
		}
	}
}

// record has a client speak to a member through a relay that records it plainly.
func record(t *testing.T, to, path string, speak func(*clientv3.Client)) {
	t.Helper()
	relayedTo(t, etcd.New(), to, path, &call.Redactor{}, func(address string) {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
		if err != nil {
			t.Fatal(err)
		}
		speak(c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
