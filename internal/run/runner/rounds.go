package runner

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// rounds repeats the trials until their figures are precise enough or the time limit is reached.
// Each round runs every trial once.
type rounds struct {
	timeLimit  time.Duration // limit on the total time of all rounds, which is measured from `began`
	began      time.Time
	now        func() time.Time
	runRound   func(ctx context.Context, round int) error // runs a round, numbered from 1
	stopReason func() record.EndReason                    // returns the reason why no more rounds are needed, or ""
}

// conduct runs rounds, and returns the reason why it stopped. The first round always runs, because
// the scenario's time limit is long enough for it. Another round begins only if it would end within
// the limit, assuming that it takes as long as the longest round so far. conduct does not interrupt
// a round that takes longer.
func (r *rounds) conduct(ctx context.Context) (record.EndReason, error) {
	var longest time.Duration
	for round := 1; round <= scenario.MaxRepeats; round++ {
		begins := r.now()
		if round > 1 && begins.Sub(r.began)+longest > r.timeLimit {
			return record.EndedTime, nil
		}
		if err := r.runRound(ctx, round); err != nil {
			return "", err
		}
		longest = max(longest, r.now().Sub(begins))
		if why := r.stopReason(); why != "" {
			return why, nil
		}
	}
	return record.EndedMaxRepeats, nil
}

// repeatUntilPrecise repeats the scenario's trials until their figures are precise.
func (r *run) repeatUntilPrecise(ctx context.Context) error {
	until := r.Scenario.RepeatRule
	var ended []*record.Trial
	all := rounds{
		timeLimit: until.TimeLimit, began: r.began.Add(-r.resumed.earlierTime()), now: func() time.Time { return measure.Now().Add(-r.resumed.unusedTime()) },
		runRound: func(ctx context.Context, n int) error {
			round := r.Scenario.Round(n)
			r.plan = append(r.plan, round...)
			if err := r.out.Plan(len(r.plan)); err != nil {
				return err
			}
			results, err := r.trials(ctx, round)
			if ended = append(ended, results...); err != nil {
				return err
			}
			// Repeats on the same cluster would not be independent, because the cluster keeps its
			// state and its data. Therefore each round starts new clusters. A cluster that was
			// already running is reused as it is.
			if r.current != nil && r.current.trial.Started == nil {
				return nil
			}
			return r.stopCluster(ctx)
		},
		stopReason: func() record.EndReason { return r.StopReason(ended) },
	}
	why, err := all.conduct(ctx)
	if err != nil {
		return err
	}
	return r.out.EndRepeating(why)
}
