package zetcd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/proxied"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func TestConform(t *testing.T) {
	f := storetest.Fixture{
		Store: New(), TxnNeedsKeys: true,
		Start: func(t *testing.T, o storetest.Options) *storetest.Server {
			c := proxied.Start(t, New(), servers.InstalledServer(t, New()), max(o.Members, 1))
			return &storetest.Server{Access: c.Access, Kill: func(i int) { c.EndServers(i) }}
		},
		Official: func(t testing.TB, a store.Access) storetest.Client {
			return official.ZooKeeperView{Conn: official.ZooKeeper(t, a)}
		},
		Keys: []string{"k", "a b", "ключ", "folder/deep/er", "%41?b=c", strings.Repeat("k", 200)},
	}
	for _, n := range []int{0, 1, 127, 128, 4096, 70_000} {
		f.Values = append(f.Values, bytes.Repeat([]byte{0, 'v', 0xff}, n)[:n])
	}
	storetest.Conform(t, f)
}

// TestLive checks properties of zetcd: a put of a new node needs a second request, a multi of new
// nodes fails, and all Stats in the reply to a multi show the state after its last write.
func TestLive(t *testing.T) {
	c := proxied.Start(t, New(), servers.InstalledServer(t, New()), 1)
	w := storetest.Dial(t, New(), c.Access)
	if e := w.Want(kv.OK, storetest.Put("k", nil)); e.ExtraRequests == 0 {
		t.Error("a put of a missing key took only one request")
	}
	pairs := []store.Pair{{Key: []byte("t1"), Value: []byte("v1")}, {Key: []byte("t2"), Value: []byte("v2")}}
	e, err := storetest.Dial(t, New(), c.Access).Try(storetest.Txn(pairs...))
	if err != nil || e.Outcome != kv.StoreError || e.Outcome.Definite() {
		t.Errorf("a multi on missing keys returned %v %s, %v", e.Outcome, e.Text, err)
	}
	w.Want(kv.OK, storetest.Put("t1", nil))
	same := []store.Pair{{Key: []byte("t1"), Value: []byte("first")}, {Key: []byte("t1"), Value: []byte("second")}}
	if e := w.Want(kv.OK, storetest.Txn(same...)); e.Count != 2 {
		t.Errorf("a transaction that writes one key twice has the count %d, want 2", e.Count)
	}
	if e := w.Want(kv.OK, storetest.Get("t1", kv.Linearizable)); string(e.Value) != "second" {
		t.Errorf("the value of the key that was written twice is %q", e.Value)
	}
	// List the children of the root. The root's Stat counts one child too many.
	for _, key := range []string{"top003", "top004", "top005"} {
		w.Want(kv.OK, storetest.Put(key, nil))
	}
	for _, level := range []kv.Consistency{kv.Linearizable, kv.Local} {
		e := w.Want(kv.OK, storetest.Range(kv.Range, "top003", "top005", level, store.RangeOp{}))
		if e.Count != 2 {
			t.Errorf("%v: the range has %d keys, want 2", level, e.Count)
		}
	}
	statusOf(t, c)
}

func statusOf(t *testing.T, c *proxied.Cluster) {
	status, err := c.Admin.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := status.Members[0]
	if m.Endpoint != c.Access.Endpoints[0] || m.Role != kv.Leader || m.ID == 0 || m.Name != "m1" || !strings.HasPrefix(status.Version, "on etcd 3.") {
		t.Errorf("status %+v", status)
	}
	// If quorumbench did not start a proxy, only the proxy's availability is known.
	a := c.Access
	a.Backends = nil
	admin, err := New().Admin(a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	settle.Eventually(t, "the proxy responds without backends, and keeps the connection although its etcd is late", func() bool {
		status, err = admin.Status(t.Context())
		return err == nil
	})
	if status.Members[0].Role != kv.UnknownRole || status.Leader() != nil {
		t.Errorf("without backends in the access, the status is %+v", status)
	}
}

// noQuorum is how long a test waits to be sure that no reply arrives.
const noQuorum = 3 * time.Second

// TestLiveWithoutQuorum checks that, without a quorum, local reads succeed but writes and
// linearizable reads do not.
func TestLiveWithoutQuorum(t *testing.T) {
	c := proxied.Start(t, New(), servers.InstalledServer(t, New()), 3)
	w := storetest.Dial(t, New(), c.Access)
	other := storetest.Dial(t, New(), c.Access)
	other.Ready() // wait for the session now, because opening it needs a write
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	c.EndServers(1, 2)
	w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	w.SetTimeLimit(noQuorum)
	e, err := w.Try(store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Linearizable})
	if !e.Outcome.Failed() {
		t.Errorf("a linearizable read without a quorum returned %v, %v", e.Outcome, err)
	}
	status, err := c.Admin.Status(t.Context())
	if err != nil || status.Members[1].Err == nil || !strings.Contains(status.Members[1].Err.Error(), "the etcd member behind zetcd") {
		t.Errorf("status %+v, %v", status, err)
	}
	other.SetTimeLimit(noQuorum)
	if e, err := other.Try(store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("w")}); !e.Outcome.Failed() || e.Outcome.Definite() {
		t.Errorf("a put without a quorum returned %v, %v", e.Outcome, err)
	}
}
