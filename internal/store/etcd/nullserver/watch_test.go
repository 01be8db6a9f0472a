package nullserver

import (
	"context"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The official client watches the null server: keys and intervals, with what
// was there before, deletions, progress, and cancellation.
func TestOfficialClientWatches(t *testing.T) {
	c := official(t, clientv3.Config{Endpoints: start(t, 1, Options{}, nil)})
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
			t.Errorf("event %d is of revision %d", i, e.Kv.ModRevision)
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
		t.Errorf("what was is there: %+v", r)
	}
	// A watcher that is cancelled is forgotten.
	short, stop := context.WithCancel(ctx)
	ch := c.Watch(short, "gone", clientv3.WithCreatedNotify())
	<-ch
	stop()
	if _, ok := <-ch; ok {
		t.Error("it goes on")
	}
}

func TestOfficialClientLeases(t *testing.T) {
	c := official(t, clientv3.Config{Endpoints: start(t, 1, Options{}, nil)})
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
	if _, err := c.Revoke(ctx, l.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.KeepAliveOnce(ctx, l.ID); err == nil {
		t.Error("a lease that is gone is kept alive")
	}
	if _, err := c.Revoke(ctx, l.ID); err == nil {
		t.Error("it is revoked twice")
	}
}
