package etcd

import (
	"bytes"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// TestLiveStreamIDsUsedUp checks that no operation is lost or counted twice when a connection
// has used up its stream IDs.
func TestLiveStreamIDsUsedUp(t *testing.T) {
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	short := func(d store.ConnectionInfo) store.Codec {
		return newCodec(h2.Config{Authority: d.Endpoint, FirstStream: h2.LastStreamID - 100}, nil, d.Now)
	}
	done := map[uint32]bool{}
	const total = 200
	for tag := uint32(1); tag <= total; {
		w := dialWire(t, a, short)
		for !w.Codec.Draining() || len(done) < int(tag)-1 {
			for ; tag <= total && w.Codec.Room() > 0; tag++ {
				w.Codec.Submit(&store.Op{Tag: tag, Kind: kv.Put, Key: fmt.Appendf(nil, "%d", tag)})
			}
			if tag > total && len(done) == total {
				break
			}
			events, err := w.Turn(nil)
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
		if lost := w.Codec.Lost(nil); len(lost) != 0 {
			t.Fatalf("operations are still open: %+v", lost)
		}
	}
	r, err := l.client.Get(longTimeout(t), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || r.Count != total || r.Header.Revision != total+1 {
		t.Errorf("etcd has %d keys at revision %d, want %d keys: %v", r.Count, r.Header.Revision, total, err)
	}
}

// TestLiveLargeValuesTogether sends large values in both directions at the same time on one
// connection.
func TestLiveLargeValuesTogether(t *testing.T) {
	l := startLive(t, nil, false)
	a := store.Access{Endpoints: []string{l.endpoint}}
	w := dialWire(t, a, newCodecs(a))
	w.Do(store.Op{Kind: kv.Get, Key: []byte("x")})
	value := storetest.Bytes(1 << 20)
	const n = 12
	for _, kind := range []kv.Kind{kv.Put, kv.Get} {
		for sent, done := uint32(0), 0; done < n; {
			for ; sent < n && w.Codec.Room() > 0; sent++ {
				w.Codec.Submit(&store.Op{Tag: 100 + sent, Kind: kind, Key: fmt.Appendf(nil, "large-%d", sent), Value: value})
			}
			events, err := w.Turn(nil)
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
	if w.Codec.Lost(nil) != nil {
		t.Error("a request is still open")
	}
}
