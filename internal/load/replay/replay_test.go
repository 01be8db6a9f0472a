package replay_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
)

// The test records calls from etcd's official client, which reads keys and changes them depending
// on their revisions. It then replays the calls, faster, on a different etcd server.
func TestGuardsHoldAgainOnEtcd(t *testing.T) {
	from, to := embedded.Etcd(t), embedded.Etcd(t)
	plain := official.Etcd(t, store.Access{Endpoints: []string{from}})
	for i := range 5 { // these keys exist before the recording
		if _, err := plain.Put(t.Context(), key(i), "earlier"); err != nil {
			t.Fatal(err)
		}
	}
	// The replay may change the order of a removal of a prefix and the writes below this prefix. So
	// the test does not write this key again.
	if _, err := plain.Put(t.Context(), "/other/a", "earlier"); err != nil {
		t.Fatal(err)
	}
	path := relayed(t, etcd.New(), from, &call.Redactor{}, func(address string) {
		c := official.Etcd(t, store.Access{Endpoints: []string{address}})
		change(t, c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	plan, o := resend(t, etcd.New(), path, to, replay.Options{Speed: 20, Prefix: "again/", Salt: 7})
	if plan.PreloadCount() < 5 {
		t.Errorf("%d keys and leases are preloaded", plan.PreloadCount())
	}
	if o.HeldInRecording < 60 || o.HeldInBoth != o.HeldInRecording || o.HeldOnlyInReplay != 0 || o.HeldInRecording == o.Guarded {
		t.Errorf("guards held in the replay: %+v", o)
	}
	checkSameKeys(t, plain, official.Etcd(t, store.Access{Endpoints: []string{to}}))
}

func key(i int) string { return "/registry/k" + strconv.Itoa(i) }

// change sends the calls that the test records: chains of guarded writes, creations, deletions, a
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

// checkSameKeys compares the keys in two stores. In one of them the keys have a prefix. If the
// recording contains the values, the values must be equal, too.
func checkSameKeys(t *testing.T, a, b *clientv3.Client) {
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
		t.Fatalf("%d keys, want %d", len(got.Kvs), len(want.Kvs))
	}
	for i, kv := range want.Kvs {
		g := got.Kvs[i]
		if string(g.Key) != "again/"+string(kv.Key) || string(kv.Value) != "earlier" && string(g.Value) != string(kv.Value) || (g.Lease != 0) != (kv.Lease != 0) {
			t.Errorf("%s = %q (lease %d) became %s = %q (lease %d)", kv.Key, kv.Value, kv.Lease, g.Key, g.Value, g.Lease)
		}
	}
}
