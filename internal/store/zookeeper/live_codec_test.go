package zookeeper_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// awkwardKeys are paths that ZooKeeper takes.
func awkwardKeys() (keys []string) {
	for b := byte(0x20); b < 0x7f; b++ {
		if b != '/' {
			keys = append(keys, "k"+string(rune(b)), "/awkward/"+string(rune(b))+"k")
		}
	}
	return append(keys, "a/deep/er/key", "/abs", "schlüssel/键", "...", "/x/.hidden", "\u00a0", "\uffef",
		strings.Repeat("k", 1000), strings.Repeat("p/", 40)+"end", "!", "~")
}

func awkwardValues() [][]byte {
	return [][]byte{nil, {0}, []byte("v"), message(127), message(16_384), message(70_000), message(1_000_000)}
}

func message(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

func pathOf(key string) string { return "/" + strings.TrimPrefix(key, "/") }

func TestLiveAgreesWithOfficialClient(t *testing.T) {
	a := server(t)
	client, w := official(t, a), dialWire(t, a, nil)
	for i, key := range awkwardKeys() {
		agreeOnKey(t, w, client, key, fmt.Appendf(nil, "value %d", i))
	}
	for i, value := range awkwardValues() {
		agreeOnKey(t, w, client, fmt.Sprintf("values/%d", i), value)
	}
	agreeOnRanges(t, w, client)
	agreeOnTransactions(t, w, client)
}

// agreeOnKey runs every operation through the codec and checks with the
// official client, and the other way round. Some keys are parents of others.
func agreeOnKey(t *testing.T, w *wireConn, client *zk.Conn, key string, value []byte) {
	t.Helper()
	k, path := []byte(key), pathOf(key)
	theirs := func() ([]byte, int64) {
		t.Helper()
		b, stat, err := client.Get(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, 0
		}
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		return b, int64(stat.Version) + 1
	}
	same := func(e store.Event, value []byte) {
		t.Helper()
		v, revision := theirs()
		if !bytes.Equal(v, value) || e.Revision != revision {
			t.Fatalf("key %.40q: the official client reads %d bytes of version %d; we have %d bytes, %d",
				key, len(v), revision, len(value), e.Revision)
		}
	}

	put := w.want(kv.OK, store.Op{Kind: kv.Put, Key: k, Value: value})
	same(put, value)
	if put.Extra == 0 {
		t.Fatalf("%q: a node was made without a second request", key)
	}
	put = w.want(kv.OK, store.Op{Kind: kv.Put, Key: k, Value: value})
	if same(put, value); put.Extra != 0 || put.Revision != 2 {
		t.Fatalf("%q: put again is %+v", key, put)
	}
	for level, extra := range map[kv.Consistency]uint32{kv.Linearizable: 1, kv.Local: 0} {
		e := w.want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: level})
		if same(e, value); !bytes.Equal(e.Value, value) || e.Count != 1 || e.Extra != extra {
			t.Fatalf("%q: %v read %d bytes with %d requests more", key, level, len(e.Value), e.Extra)
		}
	}

	other := []byte("theirs")
	if _, err := client.Set(path, other, -1); err != nil {
		t.Fatal(err)
	}
	if e := w.want(kv.OK, store.Op{Kind: kv.Get, Key: k, Consistency: kv.Local}); !bytes.Equal(e.Value, other) {
		t.Fatalf("%q: read %q", key, e.Value)
	}
	if e := w.want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: value, Revision: put.Revision}); e.Revision != -1 {
		t.Fatalf("a conflict tells revision %d", e.Revision)
	}
	w.want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Value: value})
	same(w.want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: value, Revision: put.Revision + 1}), value)
	if e := w.want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: other, Revision: -1}); e.Extra != 1 {
		t.Fatalf("an unknown version took %d requests more", e.Extra)
	} else {
		same(e, other)
	}

	if e := w.want(kv.OK, store.Op{Kind: kv.Delete, Key: k}); e.Count != 1 {
		t.Fatalf("%d keys were deleted", e.Count)
	}
	if _, revision := theirs(); revision != 0 {
		t.Fatal("the official client reads a deleted key")
	}
	if e := w.want(kv.OK, store.Op{Kind: kv.Delete, Key: k}); e.Count != 0 {
		t.Fatalf("%d keys were deleted again", e.Count)
	}
	for _, level := range []kv.Consistency{kv.Linearizable, kv.Local} {
		w.want(kv.Miss, store.Op{Kind: kv.Get, Key: k, Consistency: level})
	}
	if e := w.want(kv.Conflict, store.Op{Kind: kv.CAS, Key: k, Revision: 1}); e.Revision != 0 {
		t.Fatalf("a key that is not there has revision %d", e.Revision)
	}
	same(w.want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: value}), value)
	w.want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
	same(w.want(kv.OK, store.Op{Kind: kv.CAS, Key: k, Value: value, Revision: -1}), value)
	w.want(kv.OK, store.Op{Kind: kv.Delete, Key: k})
}

func agreeOnRanges(t *testing.T, w *wireConn, client *zk.Conn) {
	t.Helper()
	for i := range 100 {
		w.want(kv.OK, store.Op{Kind: kv.Put, Key: fmt.Appendf(nil, "range/%03d", i), Value: message(10)})
	}
	names, _, err := client.Children("/range")
	if err != nil || len(names) != 100 {
		t.Fatalf("the official client reads %d names: %v", len(names), err)
	}
	for _, tc := range []struct {
		key, end string
		limit    int64
	}{
		{"range/", "range0", 0}, {"/range/", "/range0", 0}, {"range/010", "range/020", 0}, {"range/000", "range/099\x00", 0},
		{"range/050", "range/099\x00", 7}, {"range/007", "", 0}, {"none/", "none0", 0}, {"range/050", "s", 0},
	} {
		key, end := pathOf(tc.key), pathOf(tc.end)
		want := int64(len(names) - len(slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			path := "/range/" + name
			return tc.end == "" && path == key || tc.end != "" && path >= key && path < end
		})))
		if tc.limit > 0 {
			want = min(want, tc.limit)
		}
		for _, level := range []kv.Consistency{kv.Linearizable, kv.Local} {
			e := w.want(kv.OK, store.Op{Kind: kv.Range, Key: []byte(tc.key), Consistency: level, Range: &store.RangeOp{End: []byte(tc.end), Limit: tc.limit}})
			if e.Count != want {
				t.Errorf("%q to %q: %d keys, want %d", tc.key, tc.end, e.Count, want)
			}
		}
	}
}

func agreeOnTransactions(t *testing.T, w *wireConn, client *zk.Conn) {
	t.Helper()
	var pairs []store.Pair
	for i := range 4 {
		pairs = append(pairs, store.Pair{Key: fmt.Appendf(nil, "txn/%d/key", i/2*2+i%2*5), Value: fmt.Appendf(nil, "value %d", i)})
	}
	check := func(extra uint32) {
		t.Helper()
		e := w.want(kv.OK, store.Op{Kind: kv.Txn, Pairs: pairs})
		if e.Count != 4 || e.Extra != extra {
			t.Errorf("a transaction of 4 keys says %+v", e)
		}
		for _, p := range pairs {
			if b, _, err := client.Get(pathOf(string(p.Key))); err != nil || !bytes.Equal(b, p.Value) {
				t.Errorf("%s: the official client reads %q: %v", p.Key, b, err)
			}
		}
	}
	// Each missing key costs one more multi, and one after its parents; of the
	// parents /txn is asked for four times.
	check(4 + 4 + 4*2)
	check(0)
	if err := client.Delete("/txn/2/key", -1); err != nil {
		t.Fatal(err)
	}
	check(1)
	same := []store.Pair{{Key: []byte("twice"), Value: []byte("first")}, {Key: []byte("twice"), Value: []byte("second")}}
	w.want(kv.OK, store.Op{Kind: kv.Txn, Pairs: same})
	if b, _, err := client.Get("/twice"); err != nil || string(b) != "second" {
		t.Errorf("a key written twice is %q: %v", b, err)
	}
	w.want(kv.OK, store.Op{Kind: kv.Txn})
}

func TestLiveRefusedKeys(t *testing.T) {
	w := dialWire(t, server(t), nil)
	for _, key := range []string{
		"", "/", "a/", "a//b", "//", ".", "..", "a/./b", "a/..", "\x00", "a\x1f", "\x7f", "\u0080", "\u009f",
		"\xff", "a\xc3", "\ue000", "\uf8ff", "\ufff0", "\U0001f511",
	} {
		for kind := kv.Put; kind < kv.NumKinds; kind++ {
			if kind == kv.Range {
				continue
			}
			e := w.want(kv.BadRequest, store.Op{Kind: kind, Key: []byte(key), Pairs: []store.Pair{{Key: []byte(key)}}})
			if !strings.Contains(string(e.Text), "cannot be a") {
				t.Errorf("%v of %q: %s", kind, key, e.Text)
			}
		}
	}
	w.want(kv.BadRequest, store.Op{Kind: kv.Range, Key: []byte("a//b/"), Range: &store.RangeOp{}})
	w.want(kv.BadRequest, store.Op{Kind: kv.NumKinds, Key: []byte("a")})
}

func TestLiveErrors(t *testing.T) {
	a := server(t)
	w, client := dialWire(t, a, nil), official(t, a)
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("parent/child")})
	if e := w.want(kv.BadRequest, store.Op{Kind: kv.Delete, Key: []byte("parent")}); !strings.Contains(string(e.Text), "children") {
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
		if e := w.want(kv.Denied, op); !strings.Contains(string(e.Text), "NoAuth") {
			t.Errorf("%v: %s", op.Kind, e.Text)
		}
	}
	w.want(kv.Denied, store.Op{Kind: kv.Put, Key: []byte("closed/below")})

	a.User, a.Password = "somebody", "else"
	u := dialWire(t, a, nil)
	u.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("closed/below/it"), Value: []byte("v")})
	u.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("closed/below/it")})
	w.want(kv.Denied, store.Op{Kind: kv.Get, Key: []byte("closed/below/it")})
}

// A value that the server does not take ends the connection, and the operation
// says why.
func TestLiveTooLarge(t *testing.T) {
	w := dialWire(t, server(t), nil)
	w.ready()
	w.c.Submit(&store.Op{Tag: 7, Kind: kv.Put, Key: []byte("large"), Value: message(1 << 20)})
	out := w.c.Out()
	n, _ := w.conn.Write(out)
	w.c.Wrote(n)
	if n, err := w.conn.Read(w.buf); err == nil {
		t.Fatalf("the server answered %q", w.buf[:n])
	}
	events := w.c.Lost(nil)
	if len(events) != 1 || events[0].Tag != 7 || !strings.Contains(string(events[0].Text), "jute.maxbuffer") {
		t.Fatalf("lost %+v", events)
	}
}
