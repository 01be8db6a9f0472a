package runner

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/trial"
)

// conductPlanned conducts the trials that Next returns. Consecutive trials with the same cluster
// settings share a cluster, and only the first of these trials preloads keys.
func (r *run) conductPlanned(ctx context.Context) error {
	var previous *record.Trial
	for {
		next, err := r.Next(previous)
		if err != nil {
			return err
		}
		if err := r.out.SetCapacity(next.Searches); err != nil || next.Trial == nil {
			return err
		}
		if next.FreshCluster && r.current != nil && r.current.trial.Started != nil {
			if err := r.stopCluster(ctx); err != nil {
				return err
			}
		}
		spec := *next.Trial
		r.plan = append(r.plan, spec)
		if err := r.out.Plan(len(r.plan)); err != nil {
			return err
		}
		last := len(r.plan) - 1
		if now := r.current; !next.FreshCluster && now != nil && now.key == spec.Cluster.Key && now.allRunning() {
			r.plan[last].Load.Preload = false
		}
		results, err := r.trials(ctx, r.plan[last:])
		var unprepared *trial.NotPreparedError
		if errors.As(err, &unprepared) && ctx.Err() == nil && next.OnPreloadFailure != nil && next.OnPreloadFailure(unprepared.Cause) {
			r.plan, r.begunTrials, previous = r.plan[:last], last, nil
			if err := r.out.Plan(last); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		in := *results[0]
		in.Dir, in.Folder = r.out.Dir(), r.out.LastFolder()
		previous = &in
	}
}
