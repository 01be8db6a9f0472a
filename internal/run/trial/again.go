package trial

import (
	"context"
	"errors"
	"slices"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// preload writes the load's keys if the load requires a preload. If a member of a running cluster
// fails during the preload, the preload starts again on the remaining members. preload returns the
// remaining members.
func (t *Trial) preload(ctx context.Context, a *load.Assignment, m *members, clean *cleaner) (*members, error) {
	if !t.Spec.Load.Preload {
		return m, nil
	}
	t.report(Progress{Stage: StagePreloading})
	clean.begin()
	for {
		var err error
		a.Preloaded, err = t.Worker.Preload(ctx, a)
		if a.Preloaded != nil {
			t.Cluster.Guard.RecordLeases(a.Preloaded.Leases)
		}
		if err == nil {
			return m, nil
		}
		again := t.excludeFailed(ctx, a, m, &notStartedError{err})
		if again == nil {
			return m, err
		}
		m = again
	}
}

// measureWithRetry calls measure. If a member of a running cluster fails before the load sends its
// first operation, measureWithRetry calls measure again for the remaining members. It returns the
// members on which the load ran.
func (t *Trial) measureWithRetry(ctx context.Context, a *load.Assignment, m *members, out *record.TrialWriter, clean *cleaner) (*record.Trial, *members, error) {
	result, err := t.measure(ctx, a, m, out, clean)
	for again := t.excludeFailed(ctx, a, m, err); again != nil; again = t.excludeFailed(ctx, a, m, err) {
		m = again
		if err = out.Restart(t.conditions(m, a)); err == nil {
			result, err = t.measure(ctx, a, m, out, clean)
		}
	}
	return result, m, err
}

// excludeFailed handles a load that did not begin because a member of a running cluster failed. If
// the load's target does not need that member, excludeFailed assigns the remaining endpoints of the
// target to the load and returns the remaining members. Otherwise it returns nil.
func (t *Trial) excludeFailed(ctx context.Context, a *load.Assignment, m *members, err error) *members {
	var unopened *notStartedError
	if !t.Cluster.attached() || ctx.Err() != nil || !errors.As(err, &unopened) {
		return nil
	}
	retried, failed := t.findMembers(ctx)
	if failed != nil {
		return nil
	}
	reassigned, failed := t.assignment(retried)
	lostMore := len(retried.absent) > len(m.absent) // the load restarts only if fewer members remain than before, so that it cannot restart endlessly
	if failed != nil || !lostMore || slices.Equal(reassigned.Endpoints, a.Endpoints) {
		retried.close()
		return nil
	}
	m.close()
	t.findLocalMembers(ctx, retried)
	a.Endpoints, a.Voters, a.Members = reassigned.Endpoints, reassigned.Voters, reassigned.Members
	return retried
}
