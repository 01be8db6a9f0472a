package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// leasesAtOnce is how many leases are granted or revoked at the same time: a
// member writes what comes together with one sync of its log.
const leasesAtOnce = 128

// grantGrace is how long a grant under way is awaited after its context ended.
const grantGrace = 3 * time.Second

// Grant implements store.Leaser. etcd counts in whole seconds, and may grant
// more than was asked for, never less.
func (a *admin) Grant(ctx context.Context, n int, ttl time.Duration) ([]int64, error) {
	c, err := a.connected(ctx)
	if err != nil {
		return nil, err
	}
	seconds := int64((ttl + time.Second - 1) / time.Second)
	ids := make([]int64, n)
	err = many(ctx, n, func(ctx context.Context, i int) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// One under way is awaited: a lease whose answer nobody hears is left behind.
		asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(grantGrace, cancel) })()
		r, err := c.Grant(asked, seconds)
		if err == nil {
			ids[i] = int64(r.ID)
		}
		return err
	})
	if err == nil {
		return ids, nil
	}
	granted := ids[:0]
	for _, id := range ids {
		if id != 0 {
			granted = append(granted, id)
		}
	}
	return granted, fmt.Errorf("etcd granted %d leases of %d: %s", len(granted), n, reason(ctx, err))
}

// Revoke implements store.Leaser.
func (a *admin) Revoke(ctx context.Context, ids []int64) error {
	c, err := a.connected(ctx)
	if err != nil {
		return err
	}
	var revoked atomic.Int64
	err = many(ctx, len(ids), func(ctx context.Context, i int) error {
		_, err := c.Revoke(ctx, clientv3.LeaseID(ids[i]))
		if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
			revoked.Add(1)
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("etcd revoked %d leases of %d: %s", revoked.Load(), len(ids), reason(ctx, err))
	}
	return nil
}

// many does n things, some at the same time, until one fails. What is under
// way then is waited for, and nothing more begins.
func many(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	var once sync.Once
	var first error
	var wg sync.WaitGroup
	for range min(n, leasesAtOnce) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					once.Do(func() { first = err })
					failed.Store(true)
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}
