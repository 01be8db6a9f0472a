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

// workWithin bounds each thing that is asked of the store: some move much data.
const workWithin = 2 * time.Minute

// asked asks the store for something that needs not be undone: by an Admin of each
// member alone.
func asked(of func(ctx context.Context, a store.Admin, m *store.Member) error, done string) *action {
	return &action{
		begin: func(ctx context.Context, o *one) error {
			ctx, cancel := o.whileRun(ctx)
			defer cancel()
			for _, m := range o.chosen {
				if err := o.ask(ctx, []string{m.Endpoint}, func(ctx context.Context, a store.Admin) error { return of(ctx, a, m) }); err != nil {
					return err
				}
			}
			return nil
		},
		heal: func(context.Context, *one) error { return nil }, healed: done,
	}
}

// whileRun is a context that also ends with the run: who interrupts it does not wait
// for the store.
func (o *one) whileRun(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(o.run, cancel)
	return ctx, func() { stop(); cancel() }
}

// ask asks by an Admin of some endpoints that is closed afterwards.
func (o *one) ask(ctx context.Context, endpoints []string, of func(context.Context, store.Admin) error) error {
	admin, err := o.Admin(endpoints)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }() // nothing is left to ask
	ctx, cancel := context.WithTimeout(ctx, workWithin)
	defer cancel()
	return of(ctx, admin)
}

// errNoWork is of a store whose capabilities say more than it has.
var errNoWork = errors.New("the store has no such request")

func snapshot(ctx context.Context, a store.Admin, m *store.Member) error {
	w, ok := a.(store.Operator)
	if !ok {
		return errNoWork
	}
	_, err := w.Work(ctx, kv.Snapshots, *m)
	return err
}

func compact(ctx context.Context, a store.Admin, _ *store.Member) error {
	m, ok := a.(store.Operator)
	if !ok {
		return errNoWork
	}
	_, err := m.Compact(ctx)
	return err
}

func defragment(ctx context.Context, a store.Admin, _ *store.Member) error {
	m, ok := a.(store.Operator)
	if !ok {
		return errNoWork
	}
	return m.Defragment(ctx)
}

// moveLeader hands the leadership to the member that was chosen.
func moveLeader() *action {
	return &action{
		begin: func(ctx context.Context, o *one) error {
			to := o.chosen[0]
			if to.Role == kv.Leader {
				return fmt.Errorf("%s leads already", o.members[0])
			}
			return o.ask(ctx, o.endpoints(nil), func(ctx context.Context, a store.Admin) error {
				mover, ok := a.(store.Operator)
				if !ok {
					return errNoWork
				}
				return mover.MoveLeader(ctx, to.ID)
			})
		},
		heal: func(context.Context, *one) error { return nil }, healed: "handed the leadership",
	}
}

// worked has members do what a feature stands for, and undoes it.
func worked(what kv.Feature, undone string) *action {
	return &action{
		begin:  func(ctx context.Context, o *one) error { return o.work(ctx, what) },
		heal:   func(ctx context.Context, o *one) error { return o.undoWork(ctx) },
		healed: undone,
	}
}

// work has the members do it, of the whole cluster the leader.
func (o *one) work(ctx context.Context, what kv.Feature) error {
	ctx, cancelled := o.whileRun(ctx)
	defer cancelled()
	admin, err := o.Admin(o.endpoints(nil))
	if err != nil {
		return err
	}
	o.admin = admin
	worker, ok := admin.(store.Operator)
	if !ok {
		return errNoWork
	}
	for _, m := range o.chosen {
		limited, cancel := context.WithTimeout(ctx, workWithin)
		undo, err := worker.Work(limited, what, *m)
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

// undoWork undoes what work did.
func (o *one) undoWork(ctx context.Context) error {
	var errs []error
	for _, undo := range slices.Backward(o.undo) {
		limited, cancel := context.WithTimeout(ctx, workWithin)
		errs = append(errs, undo(limited))
		cancel()
	}
	if o.undo = nil; o.admin != nil {
		_ = o.admin.Close() // nothing is left to ask
		o.admin = nil
	}
	return errors.Join(errs...)
}

// endpoints are those of all members but one.
func (o *one) endpoints(but *store.Member) (all []string) {
	for i := range o.status.Members {
		if m := &o.status.Members[i]; m != but {
			all = append(all, m.Endpoint)
		}
	}
	return all
}

// newCertificate has members have other certificates, which are not taken back.
func newCertificate() *action {
	return &action{
		begin: func(ctx context.Context, o *one) error {
			return o.each(func(m string) error { return o.Cluster.NewCertificate(ctx, m) })
		},
		heal: func(context.Context, *one) error { return nil }, healed: "seen to show a new certificate",
	}
}
