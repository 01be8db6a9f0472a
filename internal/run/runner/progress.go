package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// reportTrial passes on how a trial goes.
func (r *run) reportTrial(spec *scenario.Trial, p trial.Progress) {
	r.pace.now(p.Ended, time.Now())
	if p.Stage == string(Preloading) || p.Stage == string(Connecting) {
		r.trialBegan = time.Now() // what comes before the warm-up takes what it takes
	}
	r.report(Progress{
		Stage: stageOf(p.Stage), Name: title(spec),
		PerSecond: p.PerSecond, P99: p.P99, Errors: p.Errors, InFlight: p.InFlight,
		Done: p.Done, InWindow: p.InWindow,
	})
}

// second passes on a trial's seconds.
func (r *run) second(spec *scenario.Trial) func(*measure.Second) {
	if r.Second == nil {
		return nil
	}
	return func(s *measure.Second) { r.Second(spec, s) }
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
	p.Trial, p.Trials = r.at, len(r.Scenario.Trials)
	p.Elapsed = time.Since(r.began)
	e := r.estimate()
	p.Share, p.TrialLeft, p.Left = e.times()
	r.Progress(p)
}

func (r *run) estimate() estimate {
	e := estimate{trials: r.Scenario.Trials, ended: r.ended, at: r.at, pace: &r.pace, starting: r.now == nil && r.at == 0}
	if !r.trialBegan.IsZero() {
		e.running = time.Since(r.trialBegan)
	}
	return e
}
