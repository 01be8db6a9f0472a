package replay_test

import (
	"context"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The test records a compaction and two watchers of etcd's official client, and then replays them.
// One watcher starts at the current revision, the other at an earlier revision.
func TestWatchersReceiveTheirEventsAgain(t *testing.T) {
	from, to := embedded.Etcd(t), embedded.Etcd(t)
	st := etcd.New()
	for _, name := range settle.Sample(t, 1, []string{"plain", "hashed"}) {
		redactor := &call.Redactor{}
		if name == "hashed" {
			redactor = call.NewRedactor()
		}
		t.Run(name, func(t *testing.T) {
			var received int
			path := relayed(t, st, from, redactor, func(relay string) {
				c := official.Etcd(t, store.Access{Endpoints: []string{relay}})
				received = watchAndWrite(t, c, "/registry-"+name+"/")
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			})
			plan, o := resend(t, st, path, to, replay.Options{Speed: 5, Prefix: name + "/", Salt: 7, Compactions: true})
			// The replay may execute writes of other keys in a different order, and may end before
			// the last events arrive.
			if o.Watchers != 3 || o.RecordedEvents != uint64(received) || o.ReplayedEvents+6 < o.RecordedEvents || o.ReplayedEvents > o.RecordedEvents+6 {
				t.Errorf("the watchers received %d events: %+v", received, o)
			}
			if len(plan.Omitted) > 0 {
				t.Errorf("not replayed: %v", plan.Omitted)
			}
			c := official.Etcd(t, store.Access{Endpoints: []string{to}})
			// Revisions before the compaction no longer exist.
			if _, err := c.Get(t.Context(), "a", clientv3.WithRev(2)); err == nil {
				t.Error("a revision before the compaction still exists")
			}
			plan, err := replay.Read(path, st, replay.Options{Speed: 5})
			if err != nil || plan.Omitted["KV/Compact"] != 1 {
				t.Errorf("%v, not replayed: %v", err, plan.Omitted)
			}
			if !redactor.Plain() {
				checkHidden(t, path, "registry", "secret")
			}
		})
	}
}

// watchAndWrite sends the calls that the test records. It returns the number of events that its
// watchers received.
func watchAndWrite(t *testing.T, c *clientv3.Client, prefix string) (received int) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	take := func(events clientv3.WatchChan, n int) {
		t.Helper()
		for n > 0 {
			got := <-events
			must(got.Err())
			n -= len(got.Events)
			received += len(got.Events)
		}
	}
	first, end := context.WithCancel(ctx)
	events := c.Watch(first, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify(), clientv3.WithPrevKV())
	<-events // wait until the watcher exists
	var at int64
	for i := range 20 {
		put, err := c.Put(ctx, fmt.Sprintf("%s%d", prefix, i%4), "secret")
		must(err)
		if i == 10 {
			at = put.Header.Revision
		}
	}
	_, err := c.Delete(ctx, prefix+"1")
	must(err)
	take(events, 21)
	// A watcher that starts at an earlier revision immediately receives the writes since that
	// revision.
	later := c.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(at), clientv3.WithFilterDelete())
	take(later, 10)
	end()
	for range events { // wait until the watcher has ended
	}
	_, err = c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(at))
	must(err)
	_, err = c.Compact(ctx, at)
	must(err)
	one := c.Watch(ctx, prefix+"2", clientv3.WithCreatedNotify())
	<-one
	for range 5 {
		_, err = c.Put(ctx, prefix+"2", "secret")
		must(err)
	}
	take(one, 5)
	take(later, 5)
	return received
}
