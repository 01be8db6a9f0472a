package etcd

import (
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TestLiveLeases grants a thousand leases on one connection. It renews each lease on the
// lease's own stream, which restores the lease's full time to live. Then it revokes the leases.
func TestLiveLeases(t *testing.T) {
	l, w := dialLive(t)
	ctx := longTimeout(t)
	a, err := New().Admin(store.Access{Endpoints: []string{l.endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	leaser := a.(store.Leaser)
	const n = 1000
	const ttl = 600 // seconds; enough for any machine
	ids, err := leaser.Grant(ctx, n, ttl*time.Second)
	if err != nil || len(ids) != n {
		t.Fatal(len(ids), err)
	}
	// Wait until the first lease's remaining time has decreased on the server's clock.
	for {
		left, err := l.client.TimeToLive(ctx, clientv3.LeaseID(ids[0]))
		if err != nil {
			t.Fatal(err)
		}
		if left.TTL < ttl-1 {
			break
		}
	}
	w.Ready()
	var asked time.Time
	for range 3 { // the second and third round use the streams that the first round opened
		open := map[uint32]bool{}
		asked = time.Now()
		for _, id := range ids {
			tag := w.NextTag()
			open[tag] = true
			w.Codec.Submit(&store.Op{Tag: tag, Kind: kv.KeepAlive, Lease: id})
		}
		for _, e := range w.AwaitEvents(n, func(e *store.Event) bool { return e.Type == store.OperationDone }) {
			if !open[e.Tag] || e.Outcome != kv.OK || e.Count < ttl || e.Member == 0 || e.Term == 0 {
				t.Fatalf("%+v (%s)", e, e.Text)
			}
			delete(open, e.Tag)
		}
	}
	if got := w.Codec.(*codec).conn.Open(); got != n {
		t.Errorf("%d streams are open, want one stream for each of %d leases", got, n)
	}
	left, err := l.client.TimeToLive(ctx, clientv3.LeaseID(ids[0]))
	if least := ttl - 1 - int64(time.Since(asked).Seconds()); err != nil || left.TTL < least {
		t.Fatal(left, least, err)
	}
	// A slow member may drop requests, so send them again.
	for err = errors.New("request timed out"); err != nil; err = leaser.Revoke(ctx, append(ids, 12345)) {
		if !strings.Contains(err.Error(), "request timed out") {
			t.Fatal(err)
		}
	}
	if leases, err := l.client.Leases(ctx); err != nil || len(leases.Leases) != 0 {
		t.Fatal(leases, err)
	}
	e := w.Do(store.Op{Kind: kv.KeepAlive, Lease: ids[0]})
	if e.Outcome != kv.BadRequest || !strings.Contains(string(e.Text), "lease not found") {
		t.Fatalf("an operation on an expired lease returned %+v (%s)", e, e.Text)
	}
}
