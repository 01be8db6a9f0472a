package zookeeper_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	clients "github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// awkwardKeys returns valid but unusual paths. In CI, they contain only some of the printable
// characters.
func awkwardKeys() (keys []string) {
	for b := byte(0x20); b < 0x7f; b++ {
		if b != '/' && (settle.Long() || storetest.SpecialByte(b)) {
			keys = append(keys, "k"+string(rune(b)), "/awkward/"+string(rune(b))+"k")
		}
	}
	return append(keys, "a/deep/er/key", "/abs", "schlüssel/键", "...", "/x/.hidden", "\u00a0", "\uffef",
		strings.Repeat("k", 1000), strings.Repeat("p/", 40)+"end", "!", "~")
}

func pathOf(key string) string { return clients.ZooKeeperPath(key) }

func TestConform(t *testing.T) { storetest.Conform(t, fixture()) }

func fixture() storetest.Fixture {
	return storetest.Fixture{
		Store: zookeeper.New(), Start: start, Slash: true,
		Official: func(t testing.TB, a store.Access) storetest.Client {
			return clients.ZooKeeperView{Conn: official(t, a)}
		},
		Keys: awkwardKeys(), Values: storetest.Values(127, 16_384, 70_000, 1_000_000),
		Refused: []storetest.Refusal{
			{Op: storetest.Put("a//b", nil), Outcome: kv.BadRequest, Text: "cannot be a"},
			{Op: storetest.Put("", nil), Outcome: kv.BadRequest, Text: "cannot be a"},
		},
		// The server closes the connection, and the event's text explains why.
		TooLarge: storetest.Refusal{Op: storetest.Put("large", storetest.Bytes(1<<20)), Outcome: kv.ConnectionLost, Text: "jute.maxbuffer"},
	}
}

// start returns the shared server unless the options require another one.
func start(t *testing.T, o storetest.Options) *storetest.Server {
	switch {
	case o.TLS:
		return nil
	case o.Members > 1:
		return startEnsemble(t, o.Members)
	}
	s := &storetest.Server{Access: server(t)}
	if o.User {
		s.Denied = []store.Access{s.Access, s.Access}
		s.Denied[1].User, s.Denied[1].Password = "u", "wrong"
		s.Access.User, s.Access.Password = "u", "secret"
	}
	return s
}

// TestLiveRequests checks how many requests each operation sends: creating a node needs a second
// request, and a linearizable read sends a sync first.
func TestLiveRequests(t *testing.T) {
	w := dialWire(t, server(t), nil)
	if e := w.Want(kv.OK, storetest.Put("requests/a/b", nil)); e.ExtraRequests == 0 || e.Revision != 1 {
		t.Errorf("a put that creates a node took only one request: %+v", e)
	}
	if e := w.Want(kv.OK, storetest.Put("requests/a/b", nil)); e.ExtraRequests != 0 || e.Revision != 2 {
		t.Errorf("the second put of the same key returned %+v", e)
	}
	for level, extra := range map[kv.Consistency]uint32{kv.Linearizable: 1, kv.Local: 0} {
		if e := w.Want(kv.OK, storetest.Get("requests/a/b", level)); e.ExtraRequests != extra {
			t.Errorf("a %v read took %d extra requests", level, e.ExtraRequests)
		}
	}
}

func TestLiveTransactions(t *testing.T) {
	a := server(t)
	agreeOnTransactions(t, dialWire(t, a, nil), official(t, a))
}

func agreeOnTransactions(t *testing.T, w *storetest.Wire, client *zk.Conn) {
	t.Helper()
	var pairs []store.Pair
	for i := range 4 {
		pairs = append(pairs, store.Pair{Key: fmt.Appendf(nil, "txn/%d/key", i/2*2+i%2*5), Value: fmt.Appendf(nil, "value %d", i)})
	}
	check := func(extra uint32) {
		t.Helper()
		e := w.Want(kv.OK, store.Op{Kind: kv.Txn, Pairs: pairs})
		if e.Count != 4 || e.ExtraRequests != extra {
			t.Errorf("a transaction of 4 keys returned %+v", e)
		}
		for _, p := range pairs {
			if b, _, err := client.Get(pathOf(string(p.Key))); err != nil || !bytes.Equal(b, p.Value) {
				t.Errorf("%s: the official client read %q: %v", p.Key, b, err)
			}
		}
	}
	// Each missing key needs one more multi, and another one after its parents were created. The
	// parent /txn is requested four times.
	check(4 + 4 + 4*2)
	check(0)
	if err := client.Delete("/txn/2/key", -1); err != nil {
		t.Fatal(err)
	}
	check(1)
	same := []store.Pair{{Key: []byte("twice"), Value: []byte("first")}, {Key: []byte("twice"), Value: []byte("second")}}
	w.Want(kv.OK, store.Op{Kind: kv.Txn, Pairs: same})
	if b, _, err := client.Get("/twice"); err != nil || string(b) != "second" {
		t.Errorf("the value of a key that was written twice is %q: %v", b, err)
	}
	w.Want(kv.OK, store.Op{Kind: kv.Txn})
}

func TestLiveRefusedKeys(t *testing.T) {
	w := dialWire(t, server(t), nil)
	for _, key := range []string{
		"", "/", "a/", "a//b", "//", ".", "..", "a/./b", "a/..", "\x00", "a\x1f", "\x7f", "\u0080", "\u009f",
		"\xff", "a\xc3", "\ue000", "\uf8ff", "\ufff0", "\U0001f511",
	} {
		for kind := kv.Put; kind < kv.NumKinds; kind++ {
			if kind == kv.Range || kind == kv.KeepAlive {
				continue
			}
			e := w.Want(kv.BadRequest, store.Op{Kind: kind, Key: []byte(key), Pairs: []store.Pair{{Key: []byte(key)}}})
			if !strings.Contains(string(e.Text), "cannot be a") {
				t.Errorf("%v of %q: %s", kind, key, e.Text)
			}
		}
	}
	w.Want(kv.BadRequest, store.Op{Kind: kv.Range, Key: []byte("a//b/"), Range: &store.RangeOp{}})
	w.Want(kv.BadRequest, store.Op{Kind: kv.NumKinds, Key: []byte("a")})
}

func TestLiveErrors(t *testing.T) {
	a := server(t)
	w, client := dialWire(t, a, nil), official(t, a)
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("parent/child")})
	if e := w.Want(kv.BadRequest, store.Op{Kind: kv.Delete, Key: []byte("parent")}); !strings.Contains(string(e.Text), "children") {
		t.Errorf("text %q", e.Text)
	}
	if _, err := client.Create("/closed", nil, 0, zk.DigestACL(zk.PermAll, "somebody", "else")); err != nil {
		t.Fatal(err)
	}
	for _, op := range []store.Op{
		{Kind: kv.Put}, {Kind: kv.Get}, {Kind: kv.Get, Consistency: kv.Local}, {Kind: kv.CAS, Revision: 1},
		{Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("closed")}}},
	} {
		op.Key = []byte("closed")
		if e := w.Want(kv.Denied, op); !strings.Contains(string(e.Text), "NoAuth") {
			t.Errorf("%v: %s", op.Kind, e.Text)
		}
	}
	w.Want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("closed/below")})

	a.User, a.Password = "somebody", "else"
	u := dialWire(t, a, nil)
	u.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("closed/below/it"), Value: []byte("v")})
	u.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("closed/below/it")})
	w.Want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("closed/below/it")})
}
