package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// CheckRights implements store.Operator. To test the right to compact, it requests a compaction at
// a revision that is always compacted already. etcd checks the right first and then refuses the
// revision, so the request has no effect. To test the right to defragment, it lists the users,
// because etcd requires the same role for both requests.
func (a *admin) CheckRights(ctx context.Context, feature kv.Feature) error {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	does := "compacts its history"
	if feature == kv.Compaction {
		_, err = c.Compact(ctx, -1)
	} else {
		does = "defragments its members"
		_, err = c.UserList(ctx)
	}
	if !errors.Is(err, rpctypes.ErrPermissionDenied) {
		return nil
	}
	return fmt.Errorf("etcd %s only for a user with the role root (%s)", does, reason(ctx, err))
}

// Compact implements store.Operator.
func (a *admin) Compact(ctx context.Context) (int64, error) {
	return a.compact(ctx, 0, clientv3.WithCompactPhysical())
}

// TrimHistory implements store.Operator. It does not wait until etcd has freed the space, because
// a load runs at the same time.
func (a *admin) TrimHistory(ctx context.Context, keep int64) (int64, error) {
	return a.compact(ctx, keep)
}

func (a *admin) compact(ctx context.Context, keep int64, how ...clientv3.CompactOption) (int64, error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return 0, err
	}
	r, err := c.Get(ctx, "\x00", clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("cannot read etcd's present revision: %s", reason(ctx, err))
	}
	revision := r.Header.GetRevision() - keep
	if revision <= 0 {
		return 0, nil
	}
	// ErrCompacted means that the history up to this revision was discarded already.
	if _, err := c.Compact(ctx, revision, how...); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return 0, fmt.Errorf("etcd did not compact to revision %d: %s", revision, reason(ctx, err))
	}
	return revision, nil
}

// Defragment implements store.Operator. It defragments one member after the other, because a member
// does not respond during its defragmentation. Learners refuse the request. Defragment skips a
// learner, unless the learner is the only endpoint.
func (a *admin) Defragment(ctx context.Context) error {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return err
	}
	for _, e := range a.access.Endpoints {
		_, err := c.Defragment(ctx, a.access.URL(e))
		if refusedByLearner(err) && len(a.access.Endpoints) > 1 {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s was not defragmented: %s", e, reason(ctx, err))
		}
	}
	return nil
}

// MoveLeader implements store.Operator. It sends the request to the leader, because only the
// leader accepts it.
func (a *admin) MoveLeader(ctx context.Context, member uint64) error {
	s, err := a.Status(ctx)
	if err != nil {
		return err
	}
	leader := s.Leader()
	if leader == nil {
		return errors.New("the etcd cluster has no leader that could transfer its leadership")
	}
	if leader.ID == member {
		return nil
	}
	alone, c, err := a.connectMember(ctx, leader.Endpoint, a.pace)
	if err != nil {
		return err
	}
	defer func() { _ = alone.Close() }()
	if _, err := c.MoveLeader(ctx, member); err != nil {
		return fmt.Errorf("etcd did not transfer leadership from %s to member %x: %s", leader.Endpoint, member, reason(ctx, err))
	}
	return nil
}

// connectMember returns an admin for a single member, and the admin's client. The parameter `pace`
// limits the admin's reads. The caller must close the admin.
func (a *admin) connectMember(ctx context.Context, endpoint string, pace *readPace) (*admin, *clientv3.Client, error) {
	access := a.access
	access.Endpoints = []string{endpoint}
	single := &admin{access: access, timeout: a.timeout, pace: pace, names: map[uint64]string{}, conns: make([]*grpc.ClientConn, 1)}
	c, err := single.ensureClient(ctx)
	return single, c, err
}

// DeletePrefix implements store.Cleaner.
func (a *admin) DeletePrefix(ctx context.Context, prefix []byte) (int64, error) {
	if len(prefix) == 0 {
		return 0, errors.New("an empty prefix would delete every key of the etcd cluster")
	}
	c, err := a.ensureClient(ctx)
	if err != nil {
		return 0, err
	}
	deleted := int64(0)
	r, err := c.Delete(ctx, string(prefix), clientv3.WithPrefix())
	switch {
	case err == nil:
		deleted = r.Deleted
	case isUnimplementedError(err):
		deleted, err = a.deleteEach(ctx, c, string(prefix))
	}
	if err != nil {
		return deleted, fmt.Errorf("etcd did not delete the keys with the prefix %q: %s", prefix, reason(ctx, err))
	}
	return deleted, nil
}

// isUnimplementedError reports whether an error from the official client means that the server does
// not implement a call.
func isUnimplementedError(err error) bool {
	s, ok := status.FromError(err)
	return ok && isUnimplemented(s.Code(), s.Message())
}

// deletePage is the maximum number of keys per page; maxConcurrentDeletes is the number of
// concurrent deletes. More concurrent deletes would not be faster, because the database behind kine
// executes the deletes one after the other.
const (
	deletePage           = 500
	maxConcurrentDeletes = 4
)

// deleteEach deletes each key with a prefix by a separate request. The request is a transaction
// like those that Kubernetes sends, because kine supports no other deletes.
func (a *admin) deleteEach(ctx context.Context, c *clientv3.Client, prefix string) (deleted int64, err error) {
	end := clientv3.GetPrefixRangeEnd(prefix)
	for limit := int64(firstPage); ; {
		r, size, err := a.page(ctx, c, prefix, end, limit)
		if err != nil || len(r.Kvs) == 0 {
			return deleted, err
		}
		limit = nextPage(len(r.Kvs), size, deletePage)
		var gone atomic.Int64
		err = runConcurrently(ctx, len(r.Kvs), maxConcurrentDeletes, func(ctx context.Context, i int) error {
			key := string(r.Kvs[i].Key)
			t, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", r.Kvs[i].ModRevision)).
				Then(clientv3.OpDelete(key)).Else(clientv3.OpGet(key)).Commit()
			if err == nil && t.Succeeded {
				gone.Add(1)
			}
			return err
		})
		if deleted += gone.Load(); err != nil {
			return deleted, err
		}
	}
}

// Hash implements store.Operator with HashKV, which hashes all keys and values up to a revision. It
// requests the hash from every member at the same revision, which is the first member's revision.
func (a *admin) Hash(ctx context.Context) ([]store.MemberHash, error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return nil, err
	}
	var (
		revision int64 // the first member's revision; 0 in the first request, which means the present revision
		all      []store.MemberHash
	)
	for _, e := range a.access.Endpoints {
		r, err := a.requestHash(ctx, c, e, revision)
		if refusedByLearner(err) && len(a.access.Endpoints) > 1 {
			continue
		}
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

// requestHash requests the hash from one endpoint.
func (a *admin) requestHash(ctx context.Context, c *clientv3.Client, endpoint string, revision int64) (*clientv3.HashKVResponse, error) {
	r, err := c.HashKV(ctx, a.access.URL(endpoint), revision)
	switch {
	case errors.Is(err, rpctypes.ErrFutureRev):
		return nil, fmt.Errorf("%s has not reached revision %d: %w", endpoint, revision, store.ErrNotCaughtUp)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return nil, fmt.Errorf("%s returns the hash of its keys and values only to a user with the role root (%s)", endpoint, reason(ctx, err))
	case err != nil:
		return nil, fmt.Errorf("%s did not return the hash of its keys and values: %s", endpoint, reason(ctx, err))
	}
	return r, nil
}

// UncheckedUserReason implements store.Admin. It tries to log in; a member refuses the login if
// authentication is disabled.
func (a *admin) UncheckedUserReason(ctx context.Context) (string, error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return "", err
	}
	_, err = c.Authenticate(ctx, a.access.User, a.access.Password)
	switch {
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return "authentication is off in this cluster, and no request carried a token", nil
	case err != nil:
		return "", fmt.Errorf("cannot log in to etcd as the given user: %s", reason(ctx, err))
	}
	return "", nil
}

var _ store.Leaser = (*admin)(nil)

var _ store.Cleaner = (*admin)(nil)

var _ store.NullServerProvider = (*Store)(nil)

// namesPage is the maximum number of key names to request at once.
const namesPage = 5000

// KeysWithPrefix implements store.Cleaner.
func (a *admin) KeysWithPrefix(ctx context.Context, prefix []byte, limit int) (names []string, more bool, err error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return nil, false, err
	}
	end := clientv3.GetPrefixRangeEnd(string(prefix))
	page := int64(firstPage)
	for from, more := string(prefix), true; more; {
		r, size, err := a.page(ctx, c, from, end, page, clientv3.WithKeysOnly())
		if err != nil {
			return nil, false, fmt.Errorf("etcd did not list the keys with the prefix %q: %s", prefix, reason(ctx, err))
		}
		page = nextPage(len(r.Kvs), size, namesPage)
		for _, pair := range r.Kvs {
			if len(names) == limit {
				return names, true, nil
			}
			from = string(pair.Key) + "\x00"
			names = append(names, string(pair.Key))
		}
		more = r.More && len(r.Kvs) > 0
	}
	return names, false, nil
}
