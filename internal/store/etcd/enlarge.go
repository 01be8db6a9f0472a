package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// AddLearner implements store.Operator.
func (a *admin) AddLearner(ctx context.Context, place kv.MemberPlace) error {
	err := a.changeMembership(ctx, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.MemberAddAsLearner(ctx, []string{peerURL(place)})
		if errors.Is(err, rpctypes.ErrPeerURLExist) {
			return nil // an earlier attempt succeeded, but its reply was lost
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("etcd did not add learner %s: %w", place.Name, err)
	}
	return nil
}

// Promote implements store.Operator.
func (a *admin) Promote(ctx context.Context, place kv.MemberPlace) error {
	err := a.changeMembership(ctx, func(ctx context.Context, c *clientv3.Client) error {
		m, err := memberAt(ctx, c, place)
		switch {
		case err != nil:
			return err
		case m == nil:
			return fmt.Errorf("the cluster has no member with the peer URL %s", peerURL(place))
		case !m.IsLearner: // an earlier attempt succeeded, but its reply was lost
			return nil
		}
		_, err = c.MemberPromote(ctx, m.ID) // refused until the learner has caught up
		return err
	})
	if err != nil {
		return fmt.Errorf("etcd did not promote %s: %w", place.Name, err)
	}
	return nil
}

// RemoveMember implements store.Operator.
func (a *admin) RemoveMember(ctx context.Context, place kv.MemberPlace) error {
	err := a.changeMembership(ctx, func(ctx context.Context, c *clientv3.Client) error {
		m, err := memberAt(ctx, c, place)
		if err != nil || m == nil {
			return err
		}
		_, err = c.MemberRemove(ctx, m.ID)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("etcd did not remove %s: %w", place.Name, err)
	}
	return nil
}

// changeMembership calls the function `try`, which changes the cluster's membership, until the call
// succeeds or changeTimeout has passed.
func (a *admin) changeMembership(ctx context.Context, try func(context.Context, *clientv3.Client) error) error {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	return retry(ctx, func() error { return try(ctx, c) })
}

// memberAt returns the member with the peer URL of `place`, or nil if there is no such member.
func memberAt(ctx context.Context, c *clientv3.Client, place kv.MemberPlace) (*etcdserverpb.Member, error) {
	list, err := c.MemberList(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Members, func(m *etcdserverpb.Member) bool { return slices.Contains(m.PeerURLs, peerURL(place)) })
	if i < 0 {
		return nil, nil
	}
	return list.Members[i], nil
}
