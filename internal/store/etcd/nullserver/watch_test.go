package nullserver

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// TestOfficialClientWatches checks watchers for keys and intervals: previous values, deletions,
// progress notifications and cancellation.
func TestOfficialClientWatches(t *testing.T) {
	c := official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{Memory: true}, nil)})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	one := c.Watch(ctx, "k1", clientv3.WithCreatedNotify(), clientv3.WithPrevKV())
	all := c.Watch(ctx, "k", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-one
	<-all
	for i := range 6 {
		if _, err := c.Put(ctx, fmt.Sprintf("k%d", i%2), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Delete(ctx, "k1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Txn(ctx).Then(clientv3.OpPut("k1", "x"), clientv3.OpPut("other", "y")).Commit(); err != nil {
		t.Fatal(err)
	}
	collect := func(ch clientv3.WatchChan, n int) (events []*clientv3.Event) {
		for len(events) < n {
			r, ok := <-ch
			if !ok || r.Err() != nil {
				t.Fatal(ok, r.Err())
			}
			events = append(events, r.Events...)
		}
		return events
	}
	for i, e := range collect(all, 8) {
		if e.Kv.ModRevision != int64(i+2) {
			t.Errorf("event %d has the modification revision %d", i, e.Kv.ModRevision)
		}
	}
	events := collect(one, 5)
	for i, want := range []string{"1", "3", "5"} {
		if e := events[i]; string(e.Kv.Value) != want || e.Kv.Version != int64(i+1) || (i > 0) != (e.PrevKv != nil) {
			t.Errorf("event %d: %+v before %+v", i, e.Kv, e.PrevKv)
		}
	}
	if e := events[3]; e.IsCreate() || e.Type != clientv3.EventTypeDelete || string(e.PrevKv.Value) != "5" {
		t.Errorf("%+v", e)
	}
	if e := events[4]; !e.IsCreate() || e.Kv.Version != 1 {
		t.Errorf("%+v", e)
	}
	if r := <-c.Watch(ctx, "k1", clientv3.WithRev(2)); r.CompactRevision == 0 {
		t.Errorf("the watcher did not fail because of compaction: %+v", r)
	}
	// A watcher that the client cancels must be removed.
	short, stop := context.WithCancel(ctx)
	ch := c.Watch(short, "gone", clientv3.WithCreatedNotify())
	<-ch
	stop()
	if _, ok := <-ch; ok {
		t.Error("the cancelled watch still delivers events")
	}
}

func TestOfficialClientLeases(t *testing.T) {
	c := official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{Memory: true}, nil)})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l, err := c.Grant(ctx, 60)
	if err != nil || l.TTL != 60 {
		t.Fatal(l, err)
	}
	for range 3 {
		if r, err := c.KeepAliveOnce(ctx, l.ID); err != nil || r.TTL != 60 {
			t.Fatal(r, err)
		}
	}
	for key, lease := range map[string]clientv3.LeaseID{"ends": l.ID, "written again": l.ID, "without": clientv3.NoLease} {
		if _, err := c.Put(ctx, key, "1", clientv3.WithLease(lease)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Put(ctx, "written again", "2"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Revoke(ctx, l.ID); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Get(ctx, "", clientv3.WithFromKey()); err != nil || r.Count != 2 || string(r.Kvs[0].Key) != "without" || string(r.Kvs[1].Key) != "written again" {
		t.Errorf("after the lease was revoked, etcd returned %v, %v", r, err)
	}
	if _, err := c.Put(ctx, "late", "1", clientv3.WithLease(l.ID)); err == nil {
		t.Error("the server accepted a put with a revoked lease")
	}
	if _, err := c.KeepAliveOnce(ctx, l.ID); err == nil {
		t.Error("the server renewed a revoked lease")
	}
	if _, err := c.Revoke(ctx, l.ID); err == nil {
		t.Error("the server revoked a lease twice")
	}
}

// TestWatchRespectsFlowControl checks that the server holds back messages that exceed a small
// window, and sends them when the client enlarges the window. It also checks that the server
// removes all state of a stream after a reset.
func TestWatchRespectsFlowControl(t *testing.T) {
	c := dial(t, start(t, 1, store.NullOptions{Memory: true}, nil)[0], h2.Setting{ID: h2.SettingInitialWindowSize, Value: 10})
	id := c.next
	c.next += 2
	head := block("/etcdserverpb.Watch/Watch")
	c.out = append(h2.AppendFrameHeader(c.out, len(head), h2.FrameHeaders, h2.FlagEndHeaders, id), head...)
	for range 2 {
		ask := grpcMessage(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{Key: []byte("k")}}})
		c.out = append(h2.AppendFrameHeader(c.out, len(ask), h2.FrameData, 0, id), ask...)
	}
	arrived := c.sync()[id].body
	c.out = h2.AppendSettings(c.out, h2.Setting{ID: h2.SettingInitialWindowSize, Value: 15})
	arrived = append(arrived, c.sync()[id].body...)
	if len(arrived) != 15 {
		t.Fatalf("the client received %d bytes with a window of 15 bytes", len(arrived))
	}
	c.out = h2.AppendWindowUpdate(c.out, id, 1000)
	arrived = append(arrived, c.sync()[id].body...)
	for n := range int64(2) {
		size := prefixLen + int(binary.BigEndian.Uint32(arrived[1:]))
		answer := &pb.WatchResponse{}
		if err := proto.Unmarshal(arrived[prefixLen:size], answer); err != nil || !answer.Created || answer.WatchId != n {
			t.Errorf("%v, %v", answer, err)
		}
		arrived = arrived[size:]
	}
	c.out = h2.AppendSettings(c.out, h2.Setting{ID: h2.SettingInitialWindowSize, Value: 0})
	c.out = h2.AppendRSTStream(c.out, id, h2.ErrCodeCancel)
	c.put("k", "v")
	if got := c.sync(); got[id] != nil {
		t.Errorf("after the watch ended, the client received %+v", got[id])
	}
}

// TestHubForgetsRanges checks that the events of different keys need not stay in order after the
// last watcher of an interval was removed.
func TestHubForgetsRanges(t *testing.T) {
	h := &hub{keys: map[string][]*watcher{}}
	h.add(&watcher{stream: 1, id: 0, key: "k", end: "l"})
	h.add(&watcher{stream: 1, id: 1, key: "a", end: "b"})
	for id, want := range []bool{true, false} {
		h.remove(nil, 1, int64(id))
		if got := h.ordersAllEvents(); got != want {
			t.Errorf("after watcher %d was removed, ordersAllEvents returned %v, want %v", id, got, want)
		}
	}
}
