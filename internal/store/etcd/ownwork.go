package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// PerformMaintenance implements store.Operator.
func (a *admin) PerformMaintenance(ctx context.Context, feature kv.Feature, member store.Member) (undo func(context.Context) error, err error) {
	switch feature {
	case kv.Snapshots:
		return nil, a.snapshot(ctx, member)
	case kv.Alarms:
		return a.raiseAlarm(ctx, member)
	case kv.SpaceQuota:
		return a.freeQuota, a.fillQuota(ctx)
	case kv.AuthSwitch:
		return a.enableAuth(ctx)
	}
	return nil, fmt.Errorf("etcd does not support the maintenance work %s", feature)
}

// maxSnapshot is the number of bytes of a snapshot that are read at full speed. The rest is
// read at readPerSecond.
const maxSnapshot = 16 << 30

// snapshot requests a snapshot from a member and discards it. The snapshot is a copy of the
// member's whole database.
func (a *admin) snapshot(ctx context.Context, member store.Member) error {
	alone, c, err := a.connectMember(ctx, member.Endpoint, newBurstPace(a.access.Connect, maxSnapshot))
	if err != nil {
		return err
	}
	defer func() { _ = alone.Close() }()
	r, err := c.Snapshot(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		_ = r.Close() // everything was read
	}
	if err != nil {
		return fmt.Errorf("cannot read a snapshot of %s: %s", member.Endpoint, reason(ctx, err))
	}
	return nil
}

// raiseAlarm raises the NOSPACE alarm for a member.
func (a *admin) raiseAlarm(ctx context.Context, member store.Member) (undo func(context.Context) error, err error) {
	set := func(ctx context.Context, action etcdserverpb.AlarmRequest_AlarmAction) error {
		c, err := a.ensureClient(ctx)
		if err != nil {
			return err
		}
		r := &etcdserverpb.AlarmRequest{Action: action, MemberID: member.ID, Alarm: etcdserverpb.AlarmType_NOSPACE}
		if _, err := etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Alarm(ctx, r); err != nil {
			return fmt.Errorf("etcd did not change the alarm of %s: %s", member.Endpoint, reason(ctx, err))
		}
		return nil
	}
	undo = func(ctx context.Context) error { return set(ctx, etcdserverpb.AlarmRequest_DEACTIVATE) }
	return undo, set(ctx, etcdserverpb.AlarmRequest_ACTIVATE)
}

// Constants for the data that fillQuota writes.
const (
	fillPrefix = "quorumbench-fill/"
	fillValue  = 512 << 10 // bytes
	// MaxFillBytes is the maximum number of bytes that fillQuota writes.
	MaxFillBytes = 1 << 30
)

// CheckQuota returns an error if fillQuota cannot reach the quota in the settings, because the
// quota is too large or not set.
func (s *Settings) CheckQuota() error {
	if s.QuotaBackendBytes > 0 && s.QuotaBackendBytes <= MaxFillBytes {
		return nil
	}
	return fmt.Errorf("to fill etcd's quota, quorumbench writes at most %d GiB; set a quota of at most this size, for example settings: {quota-backend-bytes: 67108864}", MaxFillBytes>>30)
}

// fillQuota writes data until etcd responds that its quota is exhausted.
func (a *admin) fillQuota(ctx context.Context) error {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return err
	}
	value := make([]byte, fillValue)
	_, _ = rand.Read(value) // never fails
	for i := range MaxFillBytes / fillValue {
		_, err := c.Put(ctx, fmt.Sprintf("%s%06d", fillPrefix, i), string(value))
		switch {
		case errors.Is(err, rpctypes.ErrNoSpace):
			return nil
		case err != nil:
			return fmt.Errorf("cannot fill etcd's quota: %s", reason(ctx, err))
		}
	}
	return fmt.Errorf("etcd's quota was not reached after %d GiB", MaxFillBytes>>30)
}

// freeQuota deletes the data that fillQuota wrote, frees the space, and disarms the NOSPACE
// alarms.
func (a *admin) freeQuota(ctx context.Context) error {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return err
	}
	if _, err := a.DeletePrefix(ctx, []byte(fillPrefix)); err != nil {
		return err
	}
	if _, err := a.Compact(ctx); err != nil {
		return err
	}
	if err := a.Defragment(ctx); err != nil {
		return err
	}
	armed, err := c.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("cannot read etcd's alarms: %s", reason(ctx, err))
	}
	for _, alarm := range armed.Alarms {
		if alarm.Alarm != etcdserverpb.AlarmType_NOSPACE {
			continue // fillQuota can only have raised NOSPACE
		}
		if _, err := c.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm)); err != nil {
			return fmt.Errorf("etcd did not disarm its alarms: %s", reason(ctx, err))
		}
	}
	return nil
}

// root is the user that etcd requires before authentication can be enabled.
const root = "root"

// enableAuth enables authentication. Afterwards, requests without a user are denied.
func (a *admin) enableAuth(ctx context.Context) (undo func(context.Context) error, err error) {
	c, err := a.ensureClient(ctx)
	if err != nil {
		return nil, err
	}
	password := rand.Text()
	undo = func(ctx context.Context) error { return a.disableAuth(ctx, password) }
	_, err = c.UserAdd(ctx, root, password)
	if err == nil {
		_, err = c.UserGrantRole(ctx, root, root)
	}
	if err == nil {
		_, err = c.AuthEnable(ctx)
	}
	if err != nil {
		return undo, fmt.Errorf("etcd did not enable authentication: %s", reason(ctx, err))
	}
	return undo, nil
}

// disableAuth disables authentication and removes the user root.
func (a *admin) disableAuth(ctx context.Context, password string) error {
	access := a.access
	access.User, access.Password = root, password
	of, err := New().Admin(access)
	if err != nil {
		return err
	}
	defer func() { _ = of.Close() }()
	c, err := of.(*admin).ensureClient(ctx)
	if err != nil {
		return err
	}
	if _, err = c.AuthDisable(ctx); err == nil {
		_, err = c.UserDelete(ctx, root)
	}
	if err != nil {
		return fmt.Errorf("etcd did not disable authentication: %s", reason(ctx, err))
	}
	return nil
}
