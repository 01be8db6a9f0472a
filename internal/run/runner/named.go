package runner

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Next names the next trial of a run whose trials follow from each other: it gets the
// result of the one before, which lies in this run's directory, nil at first, and
// returns nil when there are to be no more. What it has found so far is recorded.
type Next func(before *record.Trial) (*scenario.Trial, *record.Capacity, error)

// asNamed conducts the trials that Next names. Those that need the same cluster share
// it, and the first of each cluster makes its keys.
func (r *run) asNamed(ctx context.Context) error {
	var before *record.Trial
	for {
		spec, found, err := r.Next(before)
		if err != nil {
			return err
		}
		if err := r.out.SetCapacity(found); err != nil || spec == nil {
			return err
		}
		r.plan = append(r.plan, *spec)
		if err := r.out.Plan(len(r.plan)); err != nil {
			return err
		}
		last := len(r.plan) - 1
		if now := r.now; now != nil && now.key == spec.Cluster.Key && now.whole() {
			r.plan[last].Load.Preload = false
		}
		results, err := r.trials(ctx, r.plan[last:])
		if err != nil {
			return err
		}
		in := *results[0]
		in.Dir, in.Folder = r.out.Dir(), r.out.LastFolder()
		before = &in
	}
}
