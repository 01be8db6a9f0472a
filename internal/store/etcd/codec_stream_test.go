package etcd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// beginAnswer returns the start of a reply on a stream. It builds the header block without an HPACK
// encoder.
func beginAnswer(id uint32) []byte {
	headers := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	return append(h2.AppendFrameHeader(nil, len(headers), h2.FrameHeaders, h2.FlagEndHeaders, id), headers...)
}

// onStream returns a message, divided into DATA frames.
func onStream(id uint32, body []byte) (b []byte) {
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	for n := 0; len(message) > 0; message = message[n:] {
		n = min(len(message), h2.DefaultMaxFrameSize)
		b = append(h2.AppendFrameHeader(b, n, h2.FrameData, 0, id), message[:n]...)
	}
	return b
}

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func watchEvents(n int) []*mvccpb.Event {
	var events []*mvccpb.Event
	for i := range n {
		e := &mvccpb.Event{Kv: &mvccpb.KeyValue{
			Key: fmt.Appendf(nil, "key%d", i), CreateRevision: 5, ModRevision: int64(1000 + i), Version: int64(i), Value: benchValue,
		}}
		if i%3 == 1 {
			e.PrevKv = &mvccpb.KeyValue{Key: []byte("not this"), Version: 99, Value: []byte("nor this")}
		}
		events = append(events, e)
	}
	return events
}

// watching returns a codec whose stream 1 has the watchers 10 and 11.
func watching(t testing.TB) store.Codec {
	t.Helper()
	c := newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"})
	in := append(h2.AppendSettings(nil), beginAnswer(1)...)
	for i := range uint32(2) {
		in = append(in, onStream(1, encoded(t, &pb.WatchResponse{Header: benchHeader, WatchId: int64(i), Created: true}))...)
	}
	if _, err := c.Feed(h2.AppendSettings(nil), nil); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(2) {
		c.Submit(&store.Op{Kind: kv.Watch, Tag: i, Key: []byte("k"), Watch: &store.WatchOp{Watcher: 10 + i}})
	}
	c.Wrote(len(c.Out()))
	events, err := c.Feed(in, nil)
	if err != nil || len(events) != 2 || events[1].Watcher != 11 || events[1].Revision != benchHeader.Revision {
		t.Fatal(events, err)
	}
	return c
}

// TestRequestedCancellationIsNotTheStores checks the reply to a recorded call that cancels a
// watcher. The codec must not report that the store cancelled the watcher, even if the call was
// abandoned before the reply arrived.
func TestRequestedCancellationIsNotTheStores(t *testing.T) {
	for _, givenUp := range []bool{false, true} {
		c := watching(t)
		c.Submit(&store.Op{
			Kind: kv.Watch, Tag: 7, Watch: &store.WatchOp{Watcher: 10},
			Call: &call.Call{Method: methodWatch, Parts: []call.Part{{Action: call.Unwatch}}},
		})
		c.Wrote(len(c.Out()))
		if givenUp {
			c.Cancel(7)
		}
		events, err := c.Feed(onStream(1, encoded(t, &pb.WatchResponse{Header: benchHeader, Canceled: true})), nil)
		if err != nil || givenUp && len(events) > 0 || !givenUp && (len(events) != 1 || events[0].Type != store.OperationDone || events[0].Tag != 7) {
			t.Errorf("operation cancelled: %v; the events are %+v, %v", givenUp, events, err)
		}
	}
}

// wantWatch parses a message for watcher 10 or 11 with the official library. It returns the
// events that the codec should return.
func wantWatch(r *pb.WatchResponse) (events []store.Event) {
	n := 10 + uint32(r.WatchId)
	for _, e := range r.Events {
		want := store.Event{Type: store.WatchChange, Watcher: n, Key: e.Kv.Key, Value: e.Kv.Value, Revision: e.Kv.ModRevision, Version: e.Kv.Version}
		switch {
		case e.Type == mvccpb.Event_DELETE:
			want.Version, want.Value = 0, nil
		case want.Version <= 0:
			want.Version = -1
		}
		events = append(events, want)
	}
	switch {
	case r.Canceled:
		events = append(events, store.Event{Type: store.WatchEnded, Watcher: n})
	case len(events) == 0:
		events = append(events, store.Event{Type: store.WatchProgress, Watcher: n, Revision: r.Header.GetRevision()})
	}
	return events
}

// FuzzWatchReply checks that the codec returns exactly the events in messages that the official
// library can parse.
func FuzzWatchReply(f *testing.F) {
	for _, m := range []*pb.WatchResponse{
		{Header: benchHeader, Events: watchEvents(1)},
		{Header: benchHeader, WatchId: 1, Events: watchEvents(5)},
		{Header: benchHeader, WatchId: 1},
		{Header: benchHeader, Canceled: true, CompactRevision: 77},
		{Header: benchHeader, WatchId: 1, Canceled: true, CancelReason: "etcdserver: permission denied"},
		{Header: benchHeader, WatchId: -1},
		{Header: benchHeader, WatchId: 3, Created: true},
		{Header: benchHeader, WatchId: 3, Events: watchEvents(1)},
	} {
		f.Add(encoded(f, m))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := watching(t)
		events, err := c.Feed(onStream(1, body), nil)
		for _, e := range events {
			if e.Type != store.WatchChange && e.Type != store.WatchProgress && e.Type != store.WatchEnded || e.Watcher != 10 && e.Watcher != 11 {
				t.Fatalf("%+v", e)
			}
		}
		r := &pb.WatchResponse{}
		if proto.Unmarshal(body, r) != nil || r.Created || r.WatchId < 0 || r.WatchId > 1 {
			return
		}
		usual, merr := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		if merr != nil || !bytes.Equal(usual, body) || slices.ContainsFunc(r.Events, func(e *mvccpb.Event) bool { return len(e.GetKv().GetKey()) == 0 }) {
			return
		}
		if err != nil {
			t.Fatalf("the codec rejected a response that the official library accepts: %v", err)
		}
		want := wantWatch(r)
		if len(events) != len(want) {
			t.Fatalf("%d events, want %d", len(events), len(want))
		}
		for i, w := range want {
			g := events[i]
			if g.Type != w.Type || g.Watcher != w.Watcher || !bytes.Equal(g.Key, w.Key) || !bytes.Equal(g.Value, w.Value) || g.Revision != w.Revision || g.Version != w.Version {
				t.Fatalf("%+v, want %+v", g, w)
			}
		}
	})
}

// TestWatchStreamEnds checks that the end of a stream ends its watchers, and its pending create
// requests, with the same outcome. The next watcher must open a new stream.
func TestWatchStreamEnds(t *testing.T) {
	c := watching(t)
	c.Submit(&store.Op{Kind: kv.Watch, Tag: 5, Key: []byte("k"), Watch: &store.WatchOp{Watcher: 12}})
	trailers := append([]byte{0x00, 11}, "grpc-status\x0214"...)
	trailers = append(append(trailers, 0x00, 12), "grpc-message\x04gone"...)
	events, err := c.Feed(append(h2.AppendFrameHeader(nil, len(trailers), h2.FrameHeaders, h2.FlagEndHeaders|h2.FlagEndStream, 1), trailers...), nil)
	if err != nil || len(events) != 3 {
		t.Fatal(events, err)
	}
	for _, e := range events {
		if e.Outcome != kv.StoreError || string(e.Text) != "gone" || (e.Type == store.OperationDone) != (e.Watcher == 12) {
			t.Errorf("%+v", e)
		}
	}
	c.Submit(&store.Op{Kind: kv.Watch, Tag: 6, Key: []byte("k"), Watch: &store.WatchOp{Watcher: 13}})
	if lost := c.Lost(nil); len(lost) != 1 || lost[0].Tag != 6 || lost[0].Outcome != kv.NotSent {
		t.Errorf("%+v", lost)
	}
}

// TestImpossibleWatchReplies checks that an impossible message ends the connection with an
// error that explains what is wrong.
func TestImpossibleWatchReplies(t *testing.T) {
	for name, m := range map[string]*pb.WatchResponse{
		"which does not exist":   {WatchId: 7, Events: watchEvents(1)},
		"that was not requested": {WatchId: 7, Created: true},
	} {
		if _, err := watching(t).Feed(onStream(1, encoded(t, m)), nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := watching(t)
	c.Submit(&store.Op{Kind: kv.Watch, Tag: 5, Key: []byte("k"), Watch: &store.WatchOp{Watcher: 12}})
	c.Cancel(5) // the codec must skip the reply to this operation, and the watcher's events
	in := onStream(1, encoded(t, &pb.WatchResponse{Header: benchHeader, WatchId: 2, Created: true}))
	in = append(in, onStream(1, encoded(t, &pb.WatchResponse{Header: benchHeader, WatchId: 2, Events: watchEvents(1)}))...)
	if events, err := c.Feed(in, nil); err != nil || len(events) != 0 {
		t.Errorf("%v, %v", events, err)
	}
}

// rounds returns two functions by name: one function processes a watch event, and the other
// processes a keep-alive.
func rounds(t testing.TB) map[string]func() {
	var events []store.Event
	var err error
	watch := watching(t)
	event := onStream(1, encoded(t, &pb.WatchResponse{Header: benchHeader, WatchId: 1, Events: watchEvents(1)}))

	keep := newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"})
	answer := onStream(1, encoded(t, &pb.LeaseKeepAliveResponse{Header: benchHeader, ID: 1 << 60, TTL: 90}))
	// The server also sends window updates.
	answer = append(answer, h2.AppendWindowUpdate(h2.AppendWindowUpdate(nil, 0, 15), 1, 15)...)
	alive := store.Op{Kind: kv.KeepAlive, Lease: 1 << 60}
	if _, err := keep.Feed(h2.AppendSettings(nil), nil); err != nil {
		t.Fatal(err)
	}
	keep.Submit(&alive)
	if _, err := keep.Feed(append(beginAnswer(1), answer...), nil); err != nil {
		t.Fatal(err)
	}
	return map[string]func(){
		"event": func() {
			if events, err = watch.Feed(event, events[:0]); err != nil || len(events) != 1 || events[0].Watcher != 11 {
				t.Fatal(events, err)
			}
		},
		"keepalive": func() {
			keep.Submit(&alive)
			keep.Wrote(len(keep.Out()))
			if events, err = keep.Feed(answer, events[:0]); err != nil || len(events) != 1 || events[0].Outcome != kv.OK {
				t.Fatal(events, err)
			}
		},
	}
}

func TestStreamsDoNotAllocate(t *testing.T) {
	for name, once := range rounds(t) {
		once()
		if n := testing.AllocsPerRun(1000, once); n != 0 {
			t.Errorf("%v allocations for a %s", n, name)
		}
	}
}

func BenchmarkStreams(b *testing.B) {
	for name, once := range rounds(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}
