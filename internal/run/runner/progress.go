package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// tellTrial passes on how a trial goes.
func (r *run) tellTrial(spec *scenario.Trial, p trial.Progress) {
	r.tell(Progress{
		Stage: stageOf(p.Stage), Name: title(spec),
		PerSecond: p.PerSecond, P99: p.P99, Errors: p.Errors, InFlight: p.InFlight,
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

func (r *run) tell(p Progress) {
	if r.Watch == nil {
		return
	}
	p.Trial, p.Trials = r.at, len(r.Scenario.Trials)
	p.Elapsed, p.Left = time.Since(r.began), r.left()
	r.Watch(p)
}

// The time that a trial and a cluster take beside warm-up and window.
const (
	aroundTrial = 300 * time.Millisecond
	toStart     = 3 * time.Second
)

// left estimates how long the run still takes: the trials not begun by what
// they ask for, and the one that runs by what is left of it. Stopping the last
// cluster takes no time worth telling.
func (r *run) left() time.Duration {
	var left time.Duration
	for i := range r.Scenario.Trials {
		if i < r.ended {
			continue
		}
		d, known := r.Scenario.Trials[i].Load.EstimatedDuration()
		if !known {
			return 0
		}
		left += d + aroundTrial
		if i+1 == r.at && !r.trialBegan.IsZero() {
			left -= min(time.Since(r.trialBegan), d+aroundTrial)
		}
	}
	if r.now == nil && r.at == 0 {
		left += toStart
	}
	return left
}
