package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/store"
)

// tryOperations sends one operation of each form that the load needs to a running cluster, before
// the load writes anything. If the servers reject one of these operations, the trial fails before
// it changes the user's data. The operations use separate keys, which tryOperations removes
// afterwards.
func (t *Trial) tryOperations(ctx context.Context, a *load.Assignment, m *members) (err error) {
	l, can := &t.Spec.Load, t.Cluster.Store.Capabilities()
	if t.Cluster.Guard == nil || t.hasScriptedKeys() {
		return nil
	}
	lease, end, err := t.tryLease(ctx, m)
	defer end()
	if err != nil {
		return err
	}
	ops, err := load.ProbeOperations(l, can, lease)
	if err != nil {
		return err
	}
	client := guard.Client{Store: t.Cluster.Store, Access: t.Cluster.Access()}
	if client.Access.Endpoints = a.Endpoints; len(a.Voters) > 0 {
		client.Access.Endpoints = a.Voters
	}
	_, deletes := can.Operations[kv.Delete]
	cannotRemove := !deletes || t.Cluster.Guard.CannotRemove(l.Prefix)
	written := map[string]bool{}
	defer func() { err = errors.Join(err, removeProbes(&client, written)) }()
	for i := range ops {
		op := &ops[i]
		keys := load.ProbeKeys(op)
		if len(keys) > 0 && cannotRemove { // the key could not be removed afterwards
			continue
		}
		for _, key := range keys {
			written[key] = true
		}
		// If the load's keys have no prefix, the user may have rights only for the load's keys, and
		// not for the keys that are tried here.
		if err := client.Try(ctx, op); err != nil && (guard.IsDistinct(l.Prefix) || !guard.IsDenied(err)) {
			return refusedOperation(op, err)
		}
	}
	return nil
}

// refusedOperation returns an error about an operation that the servers reject.
func refusedOperation(op *store.Op, why error) error {
	what := op.Kind.String()
	if op.Consistency != kv.NoConsistency {
		what = op.Consistency.String() + " " + what
	}
	return fmt.Errorf("the load requires the operation %s, but %w; the load has written nothing", what, why)
}

// removeProbes removes the keys that the probes have written, even if the trial is canceled.
func removeProbes(client *guard.Client, written map[string]bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupRequestTimeout)
	defer cancel()
	for key := range written {
		if err := client.Remove(ctx, key); err != nil {
			return fmt.Errorf("cannot remove the key %q, which quorumbench wrote to test the load's operations: %w", key, err)
		}
	}
	return nil
}

// tryLease grants one lease if the load's operations need leases. The caller must call the returned
// function, which revokes the lease.
func (t *Trial) tryLease(ctx context.Context, m *members) (lease load.Lease, end func(), err error) {
	end = func() {}
	l := &t.Spec.Load
	if !load.NeedsLeases(l, t.Cluster.Store.Capabilities()) {
		return lease, end, nil
	}
	t.Cluster.Guard.AnnounceLeases(l.Clients, ttl(l))
	leaser := m.admin.(store.Leaser) // checked with the scenario
	granted, err := leaser.Grant(ctx, 1, leaseTTL)
	if len(granted) == 0 {
		return lease, end, err
	}
	lease.ID = granted[0]
	if names := leaser.LeaseNames(granted); len(names) > 0 {
		lease.Name = names[0]
	}
	return lease, func() {
		ctx, cancel := context.WithTimeout(context.Background(), revokeTimeout)
		defer cancel()
		_ = leaser.Revoke(ctx, granted) // if this fails, the lease expires soon
	}, err
}
