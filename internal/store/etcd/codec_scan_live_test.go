package etcd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

const manyKeys = 5_000

func manyKey(i int) string { return fmt.Sprintf("many/%05d", i) }

// putMany puts manyKeys keys with the official client.
func (l *live) putMany(t *testing.T, value string) {
	t.Helper()
	const together = 125 // fewer than etcd's limit of 128 operations in a transaction
	for i := 0; i < manyKeys; i += together {
		var puts []clientv3.Op
		for k := range together {
			puts = append(puts, clientv3.OpPut(manyKey(i+k), value))
		}
		if _, err := l.client.Txn(longTimeout(t)).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLiveRangesInEveryForm checks that every form of a range returns the same first key and
// the same number of keys as the official client.
func TestLiveRangesInEveryForm(t *testing.T) {
	l, w := dialLive(t)
	l.putMany(t, strings.Repeat("some value", 10))
	for _, tc := range []struct {
		name     string
		form     store.RangeOp
		options  []clientv3.OpOption
		requests uint32 // in addition to the first
	}{
		{"plain", store.RangeOp{}, nil, 0},
		{"limited", store.RangeOp{Limit: 2_001}, []clientv3.OpOption{clientv3.WithLimit(2_001)}, 0},
		{"keys", store.RangeOp{KeysOnly: true}, []clientv3.OpOption{clientv3.WithKeysOnly()}, 0},
		{"limited keys", store.RangeOp{KeysOnly: true, Limit: 7}, []clientv3.OpOption{clientv3.WithKeysOnly(), clientv3.WithLimit(7)}, 0},
		{"pages", store.RangeOp{PageSize: 2_000}, nil, 2},
		{"even pages", store.RangeOp{PageSize: 1_000}, nil, 4},
		{"one page", store.RangeOp{PageSize: manyKeys}, nil, 0},
		{"a larger page", store.RangeOp{PageSize: manyKeys + 1}, nil, 0},
		{"limited pages", store.RangeOp{PageSize: 2_000, Limit: 4_001}, []clientv3.OpOption{clientv3.WithLimit(4_001)}, 2},
		{"as many pages as the limit", store.RangeOp{PageSize: 2_000, Limit: 4_000}, []clientv3.OpOption{clientv3.WithLimit(4_000)}, 1},
		{"pages of keys", store.RangeOp{PageSize: 2_000, KeysOnly: true}, []clientv3.OpOption{clientv3.WithKeysOnly()}, 2},
		{"stream", store.RangeOp{Streamed: true}, nil, 0},
		{"limited stream", store.RangeOp{Streamed: true, Limit: 2_345}, []clientv3.OpOption{clientv3.WithLimit(2_345)}, 0},
		{"stream of keys", store.RangeOp{Streamed: true, KeysOnly: true}, []clientv3.OpOption{clientv3.WithKeysOnly()}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.t = t
			r, err := l.client.Get(longTimeout(t), "many/", append(tc.options, clientv3.WithRange("many0"))...)
			if err != nil {
				t.Fatal(err)
			}
			first := r.Kvs[0]
			for _, level := range []kv.Consistency{kv.Linearizable, kv.Local} {
				tc.form.End = []byte("many0")
				op := store.Op{Kind: kv.Range, Key: []byte("many/"), Consistency: level, Range: &tc.form}
				e := w.want(kv.OK, op)
				if e.Count != int64(len(r.Kvs)) || e.ExtraRequests != tc.requests || e.Revision != first.ModRevision ||
					!bytes.Equal(e.Key, first.Key) || !bytes.Equal(e.Value, first.Value) {
					t.Errorf("%v: got %+v, want %d keys, %d extra requests, and the first key %v", level, e, len(r.Kvs), tc.requests, first)
				}
				if tc.form.PageSize == 0 && !tc.form.Streamed {
					op.Kind = kv.TxnGet
					if e := w.want(kv.OK, op); e.Count != int64(len(r.Kvs)) || !bytes.Equal(e.Value, first.Value) {
						t.Errorf("%v in a transaction: %+v", level, e)
					}
				}
			}
		})
	}
	if n := len(w.Codec.(*codec).scans.table); n != 1 {
		t.Errorf("%d slots were used although only one range was open at a time", n)
	}
}

// TestLiveCounts checks that a count includes all keys in the interval, regardless of the limit.
func TestLiveCounts(t *testing.T) {
	l, w := dialLive(t)
	l.putMany(t, "v")
	for _, tc := range []struct{ key, end string }{
		{"many/", "many0"}, {"many/00100", "many/00200"}, {manyKey(7), ""}, {"\x00", "\x00"}, {"none", ""}, {"none", "nonf"},
	} {
		r, err := l.client.Get(longTimeout(t), tc.key, clientv3.WithRange(tc.end), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range []store.Op{
			{Kind: kv.Range, Range: &store.RangeOp{}}, {Kind: kv.Range, Range: &store.RangeOp{Limit: 5}}, {Kind: kv.Range, Range: &store.RangeOp{PageSize: 10}}, {Kind: kv.Range, Range: &store.RangeOp{Streamed: true}},
			{Kind: kv.Range, Consistency: kv.Local, Range: &store.RangeOp{}}, {Kind: kv.TxnGet, Range: &store.RangeOp{}}, {Kind: kv.TxnGet, Range: &store.RangeOp{Limit: 5}},
		} {
			op.Range.CountOnly, op.Key, op.Range.End = true, []byte(tc.key), []byte(tc.end)
			if e := w.want(kv.OK, op); e.Count != r.Count || e.ExtraRequests != 0 || len(e.Key) != 0 {
				t.Errorf("%q to %q: %+v, want %d keys", tc.key, tc.end, e, r.Count)
			}
		}
	}
}

// TestLivePagesAreOfOneRevision checks that all pages of a range are read at the same revision,
// so that writes and deletions between two pages are not visible.
func TestLivePagesAreOfOneRevision(t *testing.T) {
	l, w := dialLive(t)
	l.putMany(t, "v")
	w.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte(manyKey(0))})
	c := w.Codec.(*codec)
	w.Codec.Submit(&store.Op{Kind: kv.Range, Tag: 100, Key: []byte("many/"), Range: &store.RangeOp{End: []byte("many0"), PageSize: 2_000}})
	turn := func() []store.Event {
		t.Helper()
		events, err := w.Turn(nil)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	for c.scans.table[0].pages < 2 {
		turn()
	}
	if _, err := l.client.Delete(longTimeout(t), manyKey(2_400), clientv3.WithRange("many0")); err != nil {
		t.Fatal(err)
	}
	for {
		if events := turn(); len(events) > 0 {
			if e := events[0]; e.Tag != 100 || e.Outcome != kv.OK || e.Count != manyKeys || e.ExtraRequests != 2 {
				t.Fatalf("%+v (%s)", e, e.Text)
			}
			break
		}
	}
	if e := w.want(kv.OK, store.Op{Kind: kv.Range, Key: []byte("many/"), Range: &store.RangeOp{End: []byte("many0"), PageSize: 2_000}}); e.Count != 2_400 || e.ExtraRequests != 1 {
		t.Fatalf("%+v", e)
	}
	// A compaction between two pages ends the range with an error that mentions the compaction.
	w.Codec.Submit(&store.Op{Kind: kv.Range, Tag: 101, Key: []byte("many/"), Range: &store.RangeOp{End: []byte("many0"), PageSize: 2_000}})
	for c.scans.table[0].pages < 2 {
		turn()
	}
	put, err := l.client.Put(longTimeout(t), manyKey(1), "v")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.client.Compact(longTimeout(t), put.Header.Revision); err != nil {
		t.Fatal(err)
	}
	for {
		if events := turn(); len(events) > 0 {
			if e := events[0]; e.Tag != 101 || e.Outcome != kv.BadRequest || !strings.Contains(string(e.Text), "compacted") {
				t.Fatalf("%+v (%s)", e, e.Text)
			}
			break
		}
	}
}

// TestLiveRangesTogether runs many paged and streamed ranges at the same time on one
// connection, and cancels some of them.
func TestLiveRangesTogether(t *testing.T) {
	l, w := dialLive(t)
	l.putMany(t, "v")
	w.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte(manyKey(0))})
	const n = 12
	for round := range 2 {
		for i := range uint32(n) {
			w.Codec.Submit(&store.Op{
				Kind: kv.Range, Tag: 200 + i, Key: []byte(manyKey(int(i))), Range: &store.RangeOp{End: []byte("many0"), Streamed: i%2 == 0, PageSize: 800},
			})
		}
		if _, err := w.Turn(nil); err != nil {
			t.Fatal(err)
		}
		for _, tag := range []uint32{203, 206} {
			w.Codec.Cancel(tag)
		}
		for _, e := range w.AwaitEvents(n-2, func(e *store.Event) bool { return e.Type == store.OperationDone }) {
			i := int(e.Tag - 200)
			if e.Outcome != kv.OK || e.Count != int64(manyKeys-i) || string(e.Key) != manyKey(i) || i == 3 || i == 6 {
				t.Fatalf("round %d: %+v (%s)", round, e, e.Text)
			}
		}
	}
	if left := w.Codec.Lost(nil); len(left) != 0 {
		t.Errorf("operations are still open at the end: %+v", left)
	}
}
