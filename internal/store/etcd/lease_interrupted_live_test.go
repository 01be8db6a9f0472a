package etcd

import (
	"context"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// TestLiveInterruptedGrantReturnsAllLeases checks that an interrupted Grant returns all leases that
// it has created, so that the caller can revoke them.
func TestLiveInterruptedGrantReturnsAllLeases(t *testing.T) {
	l, _ := dialLive(t)
	a, err := New().Admin(store.Access{Endpoints: []string{l.endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	leases := func() int {
		all, err := l.client.Leases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all.Leases)
	}
	before := leases()
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() { // interrupts Grant once some leases exist
		defer close(watched)
		defer cancel()
		for ctx.Err() == nil {
			if all, err := l.client.Leases(ctx); err != nil || len(all.Leases) > before {
				return
			}
		}
	}()
	leaser := a.(store.Leaser)
	ids, err := leaser.Grant(ctx, 100_000, 600*time.Second)
	<-watched
	if err == nil {
		t.Fatal("Grant completed without an interruption")
	}
	if there := leases() - before; len(ids) == 0 || there != len(ids) {
		t.Errorf("etcd has %d new leases, and Grant returned %d", there, len(ids))
	}
	if err := leaser.Revoke(t.Context(), ids); err != nil {
		t.Error(err)
	}
	if left := leases() - before; left != 0 {
		t.Errorf("%d leases still exist after the revocation", left)
	}
}
