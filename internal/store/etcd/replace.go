package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/store"
)

// A membership change may fail at first, so it is tried every changeInterval until changeTimeout
// has passed. One reason for a failure is that the leader has ended and the cluster has not elected
// another leader yet. Another reason is that etcd does not add a member until the other members
// have been connected for some seconds.
const (
	changeTimeout  = 30 * time.Second
	changeInterval = 200 * time.Millisecond
)

// Replace implements store.Operator. It follows the procedure in etcd's documentation.
func (a *admin) Replace(ctx context.Context, removed store.Member) error {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	var list *clientv3.MemberListResponse
	if err := retry(ctx, func() (err error) { list, err = c.MemberList(ctx); return err }); err != nil {
		return fmt.Errorf("cannot read etcd's member list: %w", err)
	}
	i := slices.IndexFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.ID == removed.ID })
	if i < 0 {
		return fmt.Errorf("etcd has no member %x to replace", removed.ID)
	}
	if err := retry(ctx, func() error {
		_, err := c.MemberRemove(ctx, removed.ID)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil // an earlier attempt succeeded, but its reply was lost
		}
		return err
	}); err != nil {
		return fmt.Errorf("etcd did not remove member %x: %w", removed.ID, err)
	}
	if err := retry(ctx, func() error {
		_, err := c.MemberAdd(ctx, list.Members[i].PeerURLs)
		if errors.Is(err, rpctypes.ErrPeerURLExist) {
			return nil
		}
		return err
	}); err != nil {
		return fmt.Errorf("etcd did not add a member in place of %x: %w", removed.ID, err)
	}
	return nil
}

// retry calls the function `try` until a call succeeds or ctx ends. If ctx ends, it returns the
// last error.
func retry(ctx context.Context, try func() error) error {
	ticker := time.NewTicker(changeInterval)
	defer ticker.Stop()
	var why error
	for {
		err := try()
		if err == nil {
			return nil
		}
		if why == nil || ctx.Err() == nil {
			why = errors.New(reason(ctx, err))
		}
		select {
		case <-ctx.Done():
			return why
		case <-ticker.C:
		}
	}
}
