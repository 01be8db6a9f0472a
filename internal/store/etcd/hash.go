package etcd

import (
	"context"
	"fmt"

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
		r, err := c.HashKV(ctx, a.url(e), revision)
		if err != nil {
			return nil, fmt.Errorf("%s does not tell the hash of its keys and values: %s", e, reason(ctx, err))
		}
		if revision == 0 {
			revision = r.Header.GetRevision()
		}
		all = append(all, store.MemberHash{Endpoint: e, Hash: uint64(r.Hash), Revision: revision, Compacted: r.CompactRevision})
	}
	return all, nil
}
