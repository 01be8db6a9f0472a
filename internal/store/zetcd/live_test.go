package zetcd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/testservers/proxytest"
)

// installed is the real zetcd, built if need be.
func installed(t *testing.T) string {
	t.Helper()
	source, err := New().Server("")
	if err != nil {
		t.Fatal(err)
	}
	path, err := install.Ensure(t.Context(), source, func(u install.Update) { t.Log(u) })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// silent keeps the official client's messages out of the tests' output.
type silent struct{}

func (silent) Printf(string, ...any) {}

func official(t *testing.T, endpoint string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{endpoint}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func TestLive(t *testing.T) {
	c := proxytest.Start(t, New(), installed(t), 1)
	endpoint := c.Access.Endpoints[0]
	w := proxytest.Dial(t, New(), c.Access, endpoint)
	client := official(t, endpoint)
	for _, key := range []string{"k", "a b", "ключ", "folder/deep/er", "%41?b=c", strings.Repeat("k", 200)} {
		agreeOnKey(t, w, client, key)
	}
	for _, n := range []int{0, 1, 127, 128, 4096, 70_000} {
		agreeOnValue(t, w, client, bytes.Repeat([]byte{0, 'v', 0xff}, n)[:n])
	}
	t.Run("range", func(t *testing.T) { agreeOnRanges(t, w, client) })
	t.Run("txn", func(t *testing.T) { agreeOnTxn(t, w, client) })
	t.Run("status", func(t *testing.T) { statusOf(t, c) })
}

var levels = []kv.Consistency{kv.Linearizable, kv.Local}

func agreeOnKey(t *testing.T, w *proxytest.Wire, client *zk.Conn, key string) {
	t.Helper()
	k := []byte(key)
	same := func(want string) int64 {
		t.Helper()
		theirs, stat, err := client.Get("/" + key)
		if err != nil || string(theirs) != want {
			t.Fatalf("key %q: the official client reads %q, %v, not %q", key, theirs, err, want)
		}
		for _, level := range levels {
			e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: level})
			if string(e.Value) != want || e.Revision != int64(stat.Version)+1 {
				t.Fatalf("key %q: %v read %q at %d, not %q at %d", key, level, e.Value, e.Revision, want, stat.Version+1)
			}
		}
		return int64(stat.Version) + 1
	}
	for _, level := range levels {
		w.Want(kv.Miss, store.Op{Kind: kv.Get, Key: k, Consistency: level})
	}
	if e := w.Want(kv.OK, store.Op{Kind: kv.Put, Key: k, Value: []byte("one")}); e.Extra == 0 {
		t.Error("a put of a key that is not there took one request")
	}
	old := same("one")
	if _, err := client.Set("/"+key, []byte("two"), -1); err != nil {
		t.Fatal(err)
	}
	now := same("two")
	w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: []byte("x"), Revision: old})
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte("three"), Revision: now})
	same("three")
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte("four"), Revision: -1})
	same("four")
	w.Want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: []byte("x"), Revision: 0})
	w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
	w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
	if there, _, err := client.Exists("/" + key); err != nil || there {
		t.Fatalf("key %q: it is there after a delete: %v", key, err)
	}
	w.Want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: []byte("five"), Revision: 0})
	same("five")
	w.Want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
}

func agreeOnValue(t *testing.T, w *proxytest.Wire, client *zk.Conn, value []byte) {
	t.Helper()
	k := []byte("values")
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: k, Value: value})
	if theirs, _, err := client.Get("/values"); err != nil || !bytes.Equal(theirs, value) {
		t.Fatalf("the official client reads %d bytes, %v, not %d", len(theirs), err, len(value))
	}
	if e := w.Want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: kv.Local}); !bytes.Equal(e.Value, value) {
		t.Fatalf("read %d bytes, not %d", len(e.Value), len(value))
	}
}

func agreeOnRanges(t *testing.T, w *proxytest.Wire, client *zk.Conn) {
	for i := range 20 {
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: fmt.Appendf(nil, "range/%03d", i)})
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: fmt.Appendf(nil, "top%03d", i)})
	}
	children, _, err := client.Children("/range")
	if err != nil || len(children) != 20 {
		t.Fatalf("the official client lists %q, %v", children, err)
	}
	for _, tc := range []struct {
		key, end    string
		limit, want int64
	}{
		{"range/", "range0", 0, 20}, {"range/005", "range/010", 0, 5}, {"range/", "range0", 7, 7},
		{"none/", "none0", 0, 0}, {"top", "toq", 0, 20}, {"top003", "top005", 0, 2},
	} {
		for _, level := range levels {
			e := w.Want(kv.OK, store.Op{Kind: kv.Range, Key: []byte(tc.key), Consistency: level, Range: &store.RangeOp{End: []byte(tc.end), Limit: tc.limit}})
			if e.Count != tc.want {
				t.Errorf("%v from %s to %s: %d keys, not %d", level, tc.key, tc.end, e.Count, tc.want)
			}
		}
	}
}

func agreeOnTxn(t *testing.T, w *proxytest.Wire, client *zk.Conn) {
	pairs := []store.Pair{{Key: []byte("t1"), Value: []byte("v1")}, {Key: []byte("t2"), Value: []byte("v2")}}
	e, err := w.Try(store.Op{Kind: kv.Txn, Pairs: pairs})
	if err != nil || e.Outcome != kv.StoreError || e.Outcome.Definite() {
		t.Errorf("a multi of keys that are not there: %v %s, %v", e.Outcome, e.Text, err)
	}
	for _, p := range pairs {
		w.Want(kv.OK, store.Op{Kind: kv.Put, Key: p.Key})
	}
	if e := w.Want(kv.OK, store.Op{Kind: kv.Txn, Pairs: pairs}); e.Count != 2 {
		t.Errorf("%d keys written", e.Count)
	}
	// The Stats of both results are of the second write.
	same := []store.Pair{{Key: []byte("t1"), Value: []byte("first")}, {Key: []byte("t1"), Value: pairs[0].Value}}
	if e := w.Want(kv.OK, store.Op{Kind: kv.Txn, Pairs: same}); e.Count != 2 {
		t.Errorf("%d keys written, of one key twice", e.Count)
	}
	for _, p := range pairs {
		if theirs, _, err := client.Get("/" + string(p.Key)); err != nil || !bytes.Equal(theirs, p.Value) {
			t.Errorf("%s: %q, %v", p.Key, theirs, err)
		}
	}
}

func statusOf(t *testing.T, c *proxytest.Cluster) {
	status, err := c.Admin.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := status.Members[0]
	if m.Endpoint != c.Access.Endpoints[0] || m.Role != kv.Leader || m.ID == 0 || m.Name != "m1" || !strings.HasPrefix(status.Version, "on etcd 3.") {
		t.Errorf("status %+v", status)
	}
	if members, err := c.Admin.Members(t.Context()); err != nil || !slices.Equal(members, c.Access.Endpoints) {
		t.Errorf("members %q, %v", members, err)
	}
	// Of a proxy that somebody else started nothing is known but that it serves.
	a := c.Access
	a.Behind = nil
	admin, err := New().Admin(a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if status, err = admin.Status(t.Context()); err != nil || status.Members[0].Role != kv.Unknown || status.Leader() != nil {
		t.Errorf("status of a stranger %+v, %v", status, err)
	}
}

// noQuorum is how long a test waits for an answer that must not come.
const noQuorum = 3 * time.Second

// Without a quorum a write and a linearizable read do not succeed, and a local
// read is still answered.
func TestLiveWithoutQuorum(t *testing.T) {
	c := proxytest.Start(t, New(), installed(t), 3)
	w := proxytest.Dial(t, New(), c.Access, c.Access.Endpoints[0])
	other := proxytest.Dial(t, New(), c.Access, c.Access.Endpoints[0])
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")})
	c.EndServers(1, 2)
	w.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local})
	w.Within(noQuorum)
	e, err := w.Try(store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Linearizable})
	if !e.Outcome.Failed() {
		t.Errorf("a linearizable read without a quorum: %v, %v", e.Outcome, err)
	}
	status, err := c.Admin.Status(t.Context())
	if err != nil || status.Members[1].Err == nil || !strings.Contains(status.Members[1].Err.Error(), "the etcd behind zetcd") {
		t.Errorf("status %+v, %v", status, err)
	}
	other.Within(noQuorum)
	if e, err := other.Try(store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("w")}); !e.Outcome.Failed() || e.Outcome.Definite() {
		t.Errorf("a put without a quorum: %v, %v", e.Outcome, err)
	}
}
