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
		if result, had := r.before.finishedTrial(r.at); had {
			r.at++
			r.ended = r.at
			r.rates.add(result)
			r.pace.ended(&spec, result)
			results = append(results, result)
			continue
		}
		r.at++
		if err := r.rates.settle(&spec); err != nil {
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
	under, err := r.enter(ctx, &spec)
	if err != nil {
		return nil, err
	}
	r.trialBegan = measure.Now()
	r.pace.begin()
	generator := r.generator(&spec)
	machine := r.about[generator].Machine
	if r.now.own != nil {
		under.Shared = new(r.shared(r.now.own, &spec))
	}
	t := trial.Trial{
		Spec: spec, Cluster: under, Worker: r.worker(&spec), Writer: r.out, Host: r.host, Machine: &machine, Sources: r.sources(&spec), Tool: r.Tool.Version,
		Progress:        func(p trial.Progress) { r.reportTrial(&spec, p) },
		Server:          func(to string) (cluster.Server, error) { return r.server(&spec, to) },
		VerifyResponses: r.VerifyResponses, Replayed: r.Replayed,
	}
	if r.Second != nil {
		t.Second = func(s *measure.Second) { r.Second(&spec, s) }
	}
	result, err := t.Run(ctx)
	began := r.trialBegan
	r.trialBegan = time.Time{}
	if t.Unrecorded != nil && r.Unrecorded != nil {
		r.Unrecorded(*t.Unrecorded)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(&spec), err)
	}
	r.around.add(turn, began, measure.Now(), spec.Load.Warmup+seconds(result.Seconds))
	r.ended = r.at
	r.now.lost = len(result.LostMembers) > 0 || spec.Load.ChangesCluster() ||
		slices.ContainsFunc(result.Faults, func(f record.Fault) bool { return f.Failure != "" && f.Healed == nil })
	r.rates.add(result)
	r.pace.ended(&spec, result)
	r.report(Progress{Stage: TrialDone, Name: title(&spec), Spec: &spec, Result: result})
	if left := result.Cleanup.Err(); left != nil && ctx.Err() != nil {
		return nil, &trial.KeysLeftError{Why: left}
	}
	if t.NoSpace != nil {
		return nil, fmt.Errorf("%s: %w", title(&spec), t.NoSpace)
	}
	return result, nil
}
