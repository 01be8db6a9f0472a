package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
)

var _ store.Hasher = (*admin)(nil)

// Hash implements store.Hasher with the maintenance service's HashKV: the hash
// is of all keys and values up to a revision, so that all members are asked for
// the same one.
func (a *admin) Hash(ctx context.Context) ([]store.MemberHash, error) {
	c, err := a.connected(ctx)
	if err != nil {
		return nil, err
	}
	var (
		revision int64 // that of the first answer; 0 is the member's present one
		all      []store.MemberHash
	)
	for _, e := range a.access.Endpoints {
		r, err := a.hashOf(ctx, c, e, revision)
		if err != nil {
			return nil, err
		}
		if revision == 0 {
			revision = r.Header.GetRevision()
		}
		all = append(all, store.MemberHash{Endpoint: e, Hash: uint64(r.Hash), Revision: revision, Compacted: r.CompactRevision})
	}
	return all, nil
}

// hashOf asks one endpoint.
func (a *admin) hashOf(ctx context.Context, c *clientv3.Client, endpoint string, revision int64) (*clientv3.HashKVResponse, error) {
	r, err := c.HashKV(ctx, a.url(endpoint), revision)
	switch {
	case errors.Is(err, rpctypes.ErrFutureRev):
		return nil, fmt.Errorf("%s has not come to revision %d: %w", endpoint, revision, store.ErrBehind)
	case err != nil:
		return nil, fmt.Errorf("%s does not tell the hash of its keys and values: %s", endpoint, reason(ctx, err))
	}
	return r, nil
}
