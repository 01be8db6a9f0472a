package etcd

import (
	"bytes"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

func awkwardKeys() (keys [][]byte) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
		keys = append(keys, []byte{byte(i)}, []byte{'k', byte(i)})
	}
	return append(keys, every, bytes.Repeat([]byte{0xff}, 256), bytes.Repeat([]byte("k"), 256))
}

func awkwardValues() [][]byte {
	return [][]byte{nil, {0}, []byte("v"), message(127), message(128), message(16_360), message(16_384), message(70_000), message(1 << 20)}
}

func message(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

func TestLiveAgreesWithOfficialClient(t *testing.T) {
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	agree(t, dialWire(t, a, newCodecs(a)), l.client)
}

// agree runs every operation through the codec and checks with the official
// client, and the other way round.
func agree(t *testing.T, w *wireConn, client *clientv3.Client) {
	t.Helper()
	for i, key := range awkwardKeys() {
		agreeOnKey(t, w, client, key, fmt.Appendf(nil, "value %d", i))
	}
	for _, value := range awkwardValues() {
		agreeOnKey(t, w, client, []byte("values"), value)
	}
	agreeOnRanges(t, w, client)
}

func agreeOnKey(t *testing.T, w *wireConn, client *clientv3.Client, key, value []byte) {
	t.Helper()
	ctx := patient(t)
	same := func(wire store.Event, value []byte, revision int64) {
		t.Helper()
		if !bytes.Equal(wire.Key, key) || !bytes.Equal(wire.Value, value) || wire.Revision != revision || wire.Count != 1 {
			t.Fatalf("key %.40q: got %.40q at revision %d with %d bytes, want %d bytes at %d",
				key, wire.Key, wire.Revision, len(wire.Value), len(value), revision)
		}
	}
	theirs := func() (value []byte, revision int64) {
		t.Helper()
		r, err := client.Get(ctx, string(key))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Kvs) == 0 {
			return nil, 0
		}
		return r.Kvs[0].Value, r.Kvs[0].ModRevision
	}

	put := w.want(kv.OK, store.Op{Kind: kv.Put, Key: key, Value: value})
	if v, revision := theirs(); !bytes.Equal(v, value) || revision != put.Revision {
		t.Fatalf("key %.40q: the official client reads %d bytes at %d", key, len(v), revision)
	}
	for _, level := range []kv.Consistency{kv.Linearizable, kv.Local} {
		same(w.want(kv.OK, store.Op{Kind: kv.Get, Key: key, Consistency: level}), value, put.Revision)
	}

	other := append(bytes.Clone(value), 'x')
	if _, err := client.Put(ctx, string(key), string(other)); err != nil {
		t.Fatal(err)
	}
	_, revision := theirs()
	same(w.want(kv.OK, store.Op{Kind: kv.Range, Key: key, Range: &store.RangeOp{}}), other, revision)

	conflict := w.want(kv.Conflict, store.Op{Kind: kv.CAS, Key: key, Value: value, Revision: put.Revision})
	if conflict.Revision != revision {
		t.Fatalf("a conflict tells revision %d, want %d", conflict.Revision, revision)
	}
	swapped := w.want(kv.OK, store.Op{Kind: kv.CAS, Key: key, Value: value, Revision: conflict.Revision})
	if v, revision := theirs(); !bytes.Equal(v, value) || revision != swapped.Revision {
		t.Fatalf("key %.40q: the official client reads %d bytes at %d after a CAS", key, len(v), revision)
	}

	if e := w.want(kv.OK, store.Op{Kind: kv.Delete, Key: key}); e.Count != 1 {
		t.Fatalf("%d keys were deleted", e.Count)
	}
	if _, revision := theirs(); revision != 0 {
		t.Fatal("the official client reads a deleted key")
	}
	if e := w.want(kv.OK, store.Op{Kind: kv.Delete, Key: key}); e.Count != 0 {
		t.Fatalf("%d keys were deleted again", e.Count)
	}
	w.want(kv.Miss, store.Op{Kind: kv.Get, Key: key})
	if e := w.want(kv.Conflict, store.Op{Kind: kv.CAS, Key: key, Revision: 1}); e.Revision != 0 {
		t.Fatalf("a key that is not there has revision %d", e.Revision)
	}
	w.want(kv.OK, store.Op{Kind: kv.CAS, Key: key, Value: value}) // 0: create
	same(w.want(kv.OK, store.Op{Kind: kv.Get, Key: key}), value, func() int64 { _, r := theirs(); return r }())
	w.want(kv.OK, store.Op{Kind: kv.Delete, Key: key})
}

func agreeOnRanges(t *testing.T, w *wireConn, client *clientv3.Client) {
	t.Helper()
	for i := range 300 {
		w.want(kv.OK, store.Op{Kind: kv.Put, Key: fmt.Appendf(nil, "range/%03d", i), Value: message(1000)})
	}
	for _, tc := range []struct {
		key, end string
		limit    int64
	}{{"range/", "range0", 0}, {"range/100", "range/200", 0}, {"range/", "range0", 128}, {"range/", "\x00", 1}, {"none", "nonf", 0}} {
		options := []clientv3.OpOption{clientv3.WithRange(tc.end), clientv3.WithLimit(tc.limit)}
		r, err := client.Get(patient(t), tc.key, options...)
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range []kv.Consistency{kv.Linearizable, kv.Local} {
			e := w.want(kv.OK, store.Op{Kind: kv.Range, Key: []byte(tc.key), Consistency: level, Range: &store.RangeOp{End: []byte(tc.end), Limit: tc.limit}})
			if e.Count != int64(len(r.Kvs)) {
				t.Errorf("%q to %q: %d keys, want %d", tc.key, tc.end, e.Count, len(r.Kvs))
			}
			if len(r.Kvs) > 0 && (!bytes.Equal(e.Key, r.Kvs[0].Key) || !bytes.Equal(e.Value, r.Kvs[0].Value)) {
				t.Errorf("%q to %q: first key %q, want %q", tc.key, tc.end, e.Key, r.Kvs[0].Key)
			}
		}
	}
}

func TestLiveErrors(t *testing.T) {
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	w := dialWire(t, a, newCodecs(a))
	e := w.want(kv.BadRequest, store.Op{Kind: kv.Put, Value: []byte("v")})
	if string(e.Text) != "etcdserver: key is not provided" {
		t.Errorf("text %q", e.Text)
	}
	w.want(kv.BadRequest, store.Op{Kind: kv.Put, Key: []byte("k"), Value: message(1600 << 10)})
	w.want(kv.BadRequest, store.Op{Kind: kv.Put, Key: []byte("k"), Value: message(3 << 20)})
	w.want(kv.Miss, store.Op{Kind: kv.Get, Key: []byte("k")})
}

// A connection whose stream ids end: nothing is lost or counted twice.
func TestLiveStreamIDsUsedUp(t *testing.T) {
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	short := func(d store.Dialed) store.Codec {
		return newCodec(h2.Config{Authority: d.Endpoint, FirstStream: h2.LastStreamID - 100}, nil, d.Now)
	}
	done := map[uint32]bool{}
	const total = 200
	for tag := uint32(1); tag <= total; {
		w := dialWire(t, a, short)
		for !w.c.Draining() || len(done) < int(tag)-1 {
			for ; tag <= total && w.c.Room() > 0; tag++ {
				w.c.Submit(&store.Op{Tag: tag, Kind: kv.Put, Key: fmt.Appendf(nil, "%d", tag)})
			}
			if tag > total && len(done) == total {
				break
			}
			events, err := w.turn()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Outcome != kv.OK || done[e.Tag] {
					t.Fatalf("%d: %v, %s", e.Tag, e.Outcome, e.Text)
				}
				done[e.Tag] = true
			}
		}
		if lost := w.c.Lost(nil); len(lost) != 0 {
			t.Fatalf("lost %+v", lost)
		}
	}
	r, err := l.client.Get(patient(t), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || r.Count != total || r.Header.Revision != total+1 {
		t.Errorf("%d keys at revision %d, want %d: %v", r.Count, r.Header.Revision, total, err)
	}
}

// Several large values in both directions at once, on one connection.
func TestLiveLargeValuesTogether(t *testing.T) {
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	w := dialWire(t, a, newCodecs(a))
	w.do(store.Op{Kind: kv.Get, Key: []byte("x")})
	value := message(1 << 20)
	const n = 12
	for _, kind := range []kv.Kind{kv.Put, kv.Get} {
		for sent, done := uint32(0), 0; done < n; {
			for ; sent < n && w.c.Room() > 0; sent++ {
				w.c.Submit(&store.Op{Tag: 100 + sent, Kind: kind, Key: fmt.Appendf(nil, "large-%d", sent), Value: value})
			}
			events, err := w.turn()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if done++; e.Outcome != kv.OK || (kind == kv.Get && !bytes.Equal(e.Value, value)) {
					t.Fatalf("%v %d: %v %s, %d bytes", kind, e.Tag, e.Outcome, e.Text, len(e.Value))
				}
			}
		}
	}
	if w.c.Lost(nil) != nil {
		t.Error("something is still open")
	}
}
