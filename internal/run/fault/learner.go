package fault

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/store"
)

// addLearner returns the action in which an additional member joins as a learner, is promoted to a
// voter, and leaves.
func addLearner() *action {
	return &action{
		afterBegin: func(ctx context.Context, o *injection) error { return o.joinLearner(ctx) },
		heal:       func(ctx context.Context, o *injection) error { return o.removeLearner(ctx) },
		healed:     "separated from the additional member again",
	}
}

// joinLearner adds the additional member to the cluster as a learner, starts it, and promotes it to
// a voter.
func (o *injection) joinLearner(ctx context.Context) error {
	ctx, cancel := o.untilRunCanceled(ctx)
	defer cancel()
	spare, err := o.Cluster.Spare()
	if err != nil {
		return err
	}
	at := spare.Place()
	return o.changeMembership(ctx, func(ctx context.Context, e store.Operator) error {
		if err := e.AddLearner(ctx, at); err != nil {
			return err
		}
		if err := spare.Start(ctx); err != nil {
			return err
		}
		o.recordStep(at.Name, "joined as a learner")
		if err := e.Promote(ctx, at); err != nil {
			return err
		}
		o.recordStep(at.Name, "caught up and has a vote")
		return nil
	})
}

// removeLearner removes the additional member from the cluster, even if it joined only partly, and
// stops it.
func (o *injection) removeLearner(ctx context.Context) error {
	spare, err := o.Cluster.Spare()
	if err != nil {
		return err
	}
	err = o.changeMembership(ctx, func(ctx context.Context, e store.Operator) error { return e.RemoveMember(ctx, spare.Place()) })
	return errors.Join(err, spare.End(ctx))
}

// changeMembership connects to the present members and calls the function `request`, which adds or
// removes the additional member.
func (o *injection) changeMembership(ctx context.Context, request func(context.Context, store.Operator) error) error {
	return o.withOperator(ctx, o.endpoints(nil), request)
}
