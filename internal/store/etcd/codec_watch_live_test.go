package etcd

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func isNotify(e *store.Event) bool { return e.Type == store.WatchChange }

// subscribe creates watchers, and waits until the server has created them.
func (w *wire) subscribe(ops ...store.Op) []store.Event {
	w.t.Helper()
	w.Ready()
	for i := range ops {
		ops[i].Kind, ops[i].Tag = kv.Watch, w.NextTag()
		w.Codec.Submit(&ops[i])
	}
	created := w.AwaitEvents(len(ops), func(e *store.Event) bool { return e.Type == store.OperationDone })
	// The server must create the watchers on each stream in the order of the requests.
	for _, e := range created {
		if i := e.Tag - ops[0].Tag; e.Outcome != kv.OK || e.Watcher != ops[i].Watch.Watcher || e.Revision == 0 || e.Member == 0 || e.Term == 0 {
			w.t.Fatalf("creating watcher %d: %+v (%s)", ops[i].Watch.Watcher, e, e.Text)
		}
	}
	return created
}

func dialLive(t *testing.T) (*live, *wire) {
	t.Helper()
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	return l, dialWire(t, a, newCodecs(a))
}

// TestLiveOfficialWatcherSeesOurPuts puts keys with the codec, and checks that watchers of the
// official client and of the codec see the puts. The codec's watcher watches an interval and
// starts at an earlier revision.
func TestLiveOfficialWatcherSeesOurPuts(t *testing.T) {
	l, w := dialLive(t)
	ctx, cancel := context.WithCancel(longTimeout(t))
	defer cancel()
	theirs := l.client.Watch(ctx, "k", clientv3.WithPrefix(), clientv3.WithRev(1))
	const n = 50
	var first int64
	for i := range n {
		e := w.want(kv.OK, store.Op{Kind: kv.Put, Key: fmt.Appendf(nil, "k%02d", i), Value: storetest.Bytes(i * 400)})
		if i == 0 {
			first = e.Revision
		}
	}
	w.subscribe(store.Op{Key: []byte("k"), Watch: &store.WatchOp{End: []byte("l"), Watcher: 7, Start: first}})
	ours := w.AwaitEvents(n, isNotify)
	for i := 0; i < n; {
		for _, ev := range (<-theirs).Events {
			o := ours[i]
			if o.Watcher != 7 || string(ev.Kv.Key) != fmt.Sprintf("k%02d", i) || !bytes.Equal(ev.Kv.Key, o.Key) || !bytes.Equal(ev.Kv.Value, o.Value) ||
				!bytes.Equal(ev.Kv.Value, storetest.Bytes(i*400)) || ev.Kv.ModRevision != o.Revision || ev.Kv.Version != o.Version {
				t.Fatalf("event %d: theirs %v, ours %+v", i, ev.Kv, o)
			}
			i++
		}
	}
}

// TestLiveWatchOfCompactedRevision checks that a watcher that starts at a compacted revision ends
// with an error that mentions the compaction. The other watchers on the stream must continue.
func TestLiveWatchOfCompactedRevision(t *testing.T) {
	l, w := dialLive(t)
	var last int64
	for i := range 10 {
		last = w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("k"), Value: fmt.Appendf(nil, "%d", i)}).Revision
	}
	if _, err := l.client.Compact(longTimeout(t), last); err != nil {
		t.Fatal(err)
	}
	w.subscribe(store.Op{Key: []byte("k"), Watch: &store.WatchOp{Watcher: 1, Start: 2}}, store.Op{Key: []byte("k"), Watch: &store.WatchOp{Watcher: 2}})
	e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.WatchEnded })[0]
	if e.Watcher != 1 || e.Outcome != kv.BadRequest || !strings.Contains(string(e.Text), fmt.Sprintf("compacted (up to revision %d", last)) {
		t.Fatalf("%+v (%s)", e, e.Text)
	}
	if _, err := l.client.Put(longTimeout(t), "k", "v"); err != nil {
		t.Fatal(err)
	}
	if e := w.AwaitEvents(1, isNotify)[0]; e.Watcher != 2 || e.Version != 11 {
		t.Fatalf("%+v", e)
	}
}

// TestLiveTenThousandWatchersOnOneConnection checks that each of 10,000 watchers, on ten
// streams of one connection, receives every event exactly once.
func TestLiveTenThousandWatchersOnOneConnection(t *testing.T) {
	l, w := dialLive(t)
	const watchers, keys, puts = 10_000, 10, 3
	var ops []store.Op
	for i := range watchers {
		ops = append(ops, store.Op{Key: fmt.Appendf(nil, "k%d", i%keys), Watch: &store.WatchOp{Watcher: uint32(i), Stream: uint32(i / 1000)}})
	}
	w.subscribe(ops...)
	for version := range puts {
		for k := range keys {
			if _, err := l.client.Put(longTimeout(t), fmt.Sprintf("k%d", k), fmt.Sprintf("v%d", version)); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := make([]int64, watchers)
	for _, e := range w.AwaitEvents(watchers*puts, isNotify) {
		if want := fmt.Sprintf("k%d", e.Watcher%keys); string(e.Key) != want || e.Version != seen[e.Watcher]+1 {
			t.Fatalf("watcher %d after version %d: %+v", e.Watcher, seen[e.Watcher], e)
		}
		seen[e.Watcher]++
	}
}
