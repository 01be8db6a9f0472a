package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// trials runs the trials one after the other, and returns the results of the trials that have
// ended. It does not run the trials that were finished in the earlier part of a resumed run.
func (r *run) trials(ctx context.Context, all []scenario.Trial) (results []*record.Trial, err error) {
	for _, spec := range all {
		if result, had := r.resumed.finishedTrial(r.begunTrials); had {
			r.begunTrials++
			r.endedTrials = r.begunTrials
			r.rates.add(result)
			r.pace.ended(&spec, result)
			results = append(results, result)
			continue
		}
		r.begunTrials++
		if err := r.rates.resolveRate(&spec); err != nil {
			return results, err
		}
		result, err := r.trial(ctx, spec)
		if err != nil {
			return results, err
		}
		if results = append(results, result); ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
	}
	return results, nil
}

// trial runs one trial on its cluster.
func (r *run) trial(ctx context.Context, spec scenario.Trial) (*record.Trial, error) {
	turn := measure.Now()
	under, err := r.selectCluster(ctx, &spec)
	if err != nil {
		return nil, err
	}
	r.trialBegan = measure.Now()
	r.pace.begin()
	generator := r.generator(&spec)
	machine := r.descriptions[generator].Machine
	if under.Started != nil {
		under.Shared = new(r.sharesGenerator(under.Started, &spec))
	}
	t := trial.Trial{
		Spec: spec, Cluster: under, Worker: r.worker(&spec), Writer: r.out, Host: r.host, Machine: &machine, Sources: r.sources(&spec), Tool: r.Tool.Version,
		Progress:        func(p trial.Progress) { r.reportTrial(&spec, p) },
		Server:          func(to string) (cluster.Server, error) { return r.server(&spec, to) },
		VerifyResponses: r.VerifyResponses, Replayed: r.Replayed,
	}
	if r.OnSecond != nil {
		t.OnSecond = func(s *measure.Second) { r.OnSecond(&spec, s) }
	}
	result, err := t.Run(ctx)
	began := r.trialBegan
	r.trialBegan = time.Time{}
	if t.Unrecorded != nil && r.OnUnrecorded != nil {
		r.OnUnrecorded(*t.Unrecorded)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(&spec), err)
	}
	r.overhead.add(turn, began, measure.Now(), spec.Load.Warmup+seconds(result.Seconds))
	r.endedTrials = r.begunTrials
	r.current.mustReplace = len(result.LostMembers) > 0 || spec.Load.ChangesCluster() ||
		slices.ContainsFunc(result.Faults, func(f record.Fault) bool { return f.Failure != "" && f.HealedAt == nil })
	r.rates.add(result)
	r.pace.ended(&spec, result)
	r.report(Progress{Stage: TrialDone, Name: title(&spec), Spec: &spec, Result: result})
	if left := result.Cleanup.Err(); left != nil && ctx.Err() != nil {
		return nil, &trial.KeysLeftError{Cause: left}
	}
	if t.NoSpace != nil {
		return nil, fmt.Errorf("%s: %w", title(&spec), t.NoSpace)
	}
	return result, nil
}
