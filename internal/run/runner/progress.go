package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// reportTrial reports the progress of a trial.
func (r *run) reportTrial(spec *scenario.Trial, p trial.Progress) {
	r.pace.record(p.Ended, measure.Now())
	if p.Stage == trial.StagePreloading || p.Stage == trial.StageConnecting {
		r.trialBegan = measure.Now() // excludes preloading and connecting, because their durations cannot be estimated
	}
	r.report(Progress{
		Stage: stageOf(p.Stage), Name: title(spec), Spec: spec,
		PerSecond: p.PerSecond, P99: p.P99, Errors: p.Errors, InFlight: p.InFlight,
		Succeeded: p.Succeeded, WindowElapsed: p.WindowElapsed,
	})
}

func stageOf(s string) Stage {
	switch s {
	case measure.Warmup.String():
		return WarmingUp
	case measure.Measured.String():
		return Measuring
	}
	return Stage(s)
}

func (r *run) report(p Progress) {
	if r.Progress == nil {
		return
	}
	p.Trial = r.begunTrials
	open := r.Scenario.RepeatRule != nil || r.Next != nil // whether the number of trials is unknown
	if !open {
		p.Trials = len(r.plan)
	}
	p.Elapsed = time.Since(r.began)
	e := r.estimate()
	p.FinishedShare, p.TrialRemaining, p.Remaining = e.times()
	p.IsMinimum = e.overhead.trials == 0
	if open {
		p.Remaining = 0
	}
	r.Progress(p)
}

func (r *run) estimate() estimate {
	e := estimate{trials: r.plan, endedTrials: r.endedTrials, begunTrials: r.begunTrials, pace: &r.pace, overhead: r.overhead, starting: r.current == nil && r.begunTrials == 0}
	if !r.trialBegan.IsZero() {
		e.running = time.Since(r.trialBegan)
	}
	return e
}
