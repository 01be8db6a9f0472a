package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// maintenanceTimeout is the time limit for each request to the store. Some requests transfer large
// amounts of data.
const maintenanceTimeout = 2 * time.Minute

// requestAction returns the action that calls the function `request` once for each member, with an
// Operator that is connected to this member. The effect of the request need not be undone.
func requestAction(request func(ctx context.Context, a store.Operator, m *store.Member) error, done string) *action {
	return &action{
		begin: func(ctx context.Context, o *injection) error {
			ctx, cancel := o.untilRunCanceled(ctx)
			defer cancel()
			for _, m := range o.targets {
				if err := o.withOperator(ctx, []string{m.Endpoint}, func(ctx context.Context, a store.Operator) error { return request(ctx, a, m) }); err != nil {
					return err
				}
			}
			return nil
		},
		heal: func(context.Context, *injection) error { return nil }, healed: done,
	}
}

// untilRunCanceled returns a context that is also canceled when the run is canceled, so that an
// interrupted run does not wait for the store.
func (o *injection) untilRunCanceled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(o.runCtx, cancel)
	return ctx, func() { stop(); cancel() }
}

// withAdmin opens an Admin for the given endpoints, passes it to the function `request`, and then
// closes it.
func (o *injection) withAdmin(ctx context.Context, endpoints []string, request func(context.Context, store.Admin) error) error {
	admin, err := o.Admin(endpoints)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }() // no request is pending
	ctx, cancel := context.WithTimeout(ctx, maintenanceTimeout)
	defer cancel()
	return request(ctx, admin)
}

// withOperator is like withAdmin, but requires that the Admin is an Operator.
func (o *injection) withOperator(ctx context.Context, endpoints []string, request func(context.Context, store.Operator) error) error {
	return o.withAdmin(ctx, endpoints, func(ctx context.Context, a store.Admin) error {
		operator, ok := a.(store.Operator)
		if !ok {
			return errUnsupported
		}
		return request(ctx, operator)
	})
}

// errUnsupported reports that the store does not support a request, although its capabilities list
// the corresponding feature.
var errUnsupported = errors.New("the store does not support this request")

func snapshot(ctx context.Context, a store.Operator, m *store.Member) error {
	_, err := a.PerformMaintenance(ctx, kv.Snapshots, *m)
	return err
}

func compact(ctx context.Context, a store.Operator, _ *store.Member) error {
	_, err := a.Compact(ctx)
	return err
}

func defragment(ctx context.Context, a store.Operator, _ *store.Member) error {
	return a.Defragment(ctx)
}

// moveLeader returns the action that transfers the leadership to the chosen member.
func moveLeader() *action {
	return &action{
		begin: func(ctx context.Context, o *injection) error {
			successor := o.targets[0]
			if successor.Role == kv.Leader {
				return fmt.Errorf("%s is already the leader", o.members[0])
			}
			return o.withOperator(ctx, o.endpoints(nil), func(ctx context.Context, a store.Operator) error {
				return a.MoveLeader(ctx, successor.ID)
			})
		},
		heal: func(context.Context, *injection) error { return nil }, healed: "made the leader",
	}
}

// maintenanceAction returns the action that makes members perform the maintenance work of a
// feature, and later reverses this work (see store.Operator).
func maintenanceAction(feature kv.Feature, undone string) *action {
	return &action{
		begin:  func(ctx context.Context, o *injection) error { return o.startMaintenance(ctx, feature) },
		heal:   func(ctx context.Context, o *injection) error { return o.undoMaintenance(ctx) },
		healed: undone,
	}
}

// startMaintenance makes the chosen members perform the maintenance work of a feature. If the fault
// affects the whole cluster, only the leader performs it.
func (o *injection) startMaintenance(ctx context.Context, feature kv.Feature) error {
	ctx, cancelRequests := o.untilRunCanceled(ctx)
	defer cancelRequests()
	admin, err := o.Admin(o.endpoints(nil))
	if err != nil {
		return err
	}
	o.admin = admin
	worker, ok := admin.(store.Operator)
	if !ok {
		return errUnsupported
	}
	for _, m := range o.targets {
		limited, cancel := context.WithTimeout(ctx, maintenanceTimeout)
		undo, err := worker.PerformMaintenance(limited, feature, *m)
		cancel()
		if undo != nil {
			o.undo = append(o.undo, undo)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// undoMaintenance reverses the maintenance work, starting with the work that was performed last.
func (o *injection) undoMaintenance(ctx context.Context) error {
	var errs []error
	for _, undo := range slices.Backward(o.undo) {
		limited, cancel := context.WithTimeout(ctx, maintenanceTimeout)
		errs = append(errs, undo(limited))
		cancel()
	}
	if o.undo = nil; o.admin != nil {
		_ = o.admin.Close() // no request is pending
		o.admin = nil
	}
	return errors.Join(errs...)
}

// endpoints returns the endpoints of all members except the member `excluded`, which may be nil.
func (o *injection) endpoints(excluded *store.Member) (all []string) {
	for i := range o.status.Members {
		if m := &o.status.Members[i]; m != excluded {
			all = append(all, m.Endpoint)
		}
	}
	return all
}

// newCertificate returns the action that gives members new certificates. The members keep the new
// certificates when the fault ends.
func newCertificate() *action {
	return &action{
		begin: func(ctx context.Context, o *injection) error {
			return o.forEachMember(func(m string) error { return o.Cluster.NewCertificate(ctx, m) })
		},
		heal: func(context.Context, *injection) error { return nil }, healed: "given a new certificate",
	}
}
