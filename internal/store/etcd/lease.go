package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// maxConcurrentLeases is the number of leases that are granted or revoked concurrently. A member
// can write many concurrent requests with a single sync of its log.
const maxConcurrentLeases = 128

// grantGrace is how long Grant waits for a reply after its context has ended.
const grantGrace = 3 * time.Second

// Grant implements store.Leaser. It rounds ttl up to whole seconds. etcd may grant a longer
// time to live, but never a shorter one.
func (a *admin) Grant(ctx context.Context, n int, ttl time.Duration) ([]int64, error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return nil, err
	}
	seconds := int64((ttl + time.Second - 1) / time.Second)
	ids := make([]int64, n)
	err = runConcurrently(ctx, n, maxConcurrentLeases, func(ctx context.Context, i int) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// If ctx ends, still wait for the reply, because it contains the lease's ID. Without this
		// ID, the lease could not be revoked.
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
	return granted, fmt.Errorf("etcd granted only %d of %d leases: %s", len(granted), n, reason(ctx, err))
}

// Revoke implements store.Leaser.
func (a *admin) Revoke(ctx context.Context, ids []int64) error {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return err
	}
	var revoked atomic.Int64
	err = runConcurrently(ctx, len(ids), maxConcurrentLeases, func(ctx context.Context, i int) error {
		_, err := c.Revoke(ctx, clientv3.LeaseID(ids[i]))
		if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) || isUnimplementedError(err) {
			revoked.Add(1)
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("etcd revoked only %d of %d leases: %s", revoked.Load(), len(ids), reason(ctx, err))
	}
	return nil
}

// Constants for reading keys in pages. The first page has firstPage keys. gRPC refuses a message
// above 4 MiB, so each later page should have about pageBytes bytes. Its number of keys is computed
// from the average size of the keys and values on the previous page. A page that cannot be read is
// requested up to pageTries times.
const (
	firstPage = 2
	pageBytes = 1 << 20
	pageTries = 3
)

// nextPage returns how many keys to request for the next page, which is at most maxKeys. The
// response with the n keys of the previous page had `size` bytes.
func nextPage(n, size, maxKeys int) int64 {
	if n == 0 {
		return firstPage
	}
	return int64(min(max(pageBytes*n/max(size, 1), 1), maxKeys))
}

// page reads a page of keys and returns the response with its size in bytes. If the page is too
// large for a message, it reads a smaller page. Each try has its own time limit. The bytes of the
// response do not use up the read limit.
func (a *admin) page(ctx context.Context, c *clientv3.Client, from, end string, limit int64, how ...clientv3.OpOption) (r *clientv3.GetResponse, size int, err error) {
	for try := 0; ; {
		asked, cancel := context.WithTimeout(ctx, a.timeout)
		r, err = c.Get(asked, from, append([]clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(limit)}, how...)...)
		cancel()
		if err == nil {
			break
		}
		if status.Code(err) == codes.ResourceExhausted && limit > 1 {
			limit = 1 + limit/8
		} else if try++; try == pageTries || ctx.Err() != nil {
			return nil, 0, err
		}
	}
	size = proto.Size((*etcdserverpb.RangeResponse)(r))
	a.pace.credit(size)
	return r, size, nil
}

// LeaseNames implements store.Leaser. It returns nil, because etcd identifies leases by
// numbers.
func (*admin) LeaseNames([]int64) []string { return nil }

// leasesPage is the maximum number of keys on a page in LeasesWithPrefix.
const leasesPage = 1000

// LeasesWithPrefix implements store.Leaser. Its pages contain the values, because etcd 3.7 omits
// not only the values but also the leases if keys_only is set.
func (a *admin) LeasesWithPrefix(ctx context.Context, prefix []byte) ([]string, error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return nil, err
	}
	fail := func(err error) ([]string, error) {
		return nil, fmt.Errorf("cannot read the leases of etcd's keys with the prefix %q: %s", prefix, reason(ctx, err))
	}
	leases := map[int64]struct{}{} // the leases of keys with the prefix
	end := clientv3.GetPrefixRangeEnd(string(prefix))
	limit := int64(firstPage)
	for from, more := string(prefix), true; more; {
		r, size, err := a.page(ctx, c, from, end, limit)
		if err != nil {
			return fail(err)
		}
		limit = nextPage(len(r.Kvs), size, leasesPage)
		for _, pair := range r.Kvs {
			if from = string(pair.Key) + "\x00"; pair.Lease != 0 {
				leases[pair.Lease] = struct{}{}
			}
		}
		more = r.More && len(r.Kvs) > 0
	}
	var mu sync.Mutex
	var names []string
	all := slices.Collect(maps.Keys(leases))
	err = runConcurrently(ctx, len(all), maxConcurrentLeases, func(ctx context.Context, i int) error {
		r, err := c.TimeToLive(ctx, clientv3.LeaseID(all[i]), clientv3.WithAttachedKeys())
		if isUnimplementedError(err) {
			// The server cannot list the keys of a lease, so the lease stays until it expires.
			return nil
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.ContainsFunc(r.Keys, func(k []byte) bool { return !bytes.HasPrefix(k, prefix) }) {
			names = append(names, strconv.FormatInt(all[i], 10))
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	return names, nil
}

// EndLeases implements store.Leaser. The name of a lease is its number in decimal.
func (a *admin) EndLeases(ctx context.Context, names []string) error {
	ids := make([]int64, 0, len(names))
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return a.Revoke(ctx, ids)
}
