package runner

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Stage is the current activity of a run.
type Stage string

// The stages. A trial also has further stages, which are only displayed.
const (
	Starting   Stage = "starting" // starts a cluster
	Preloading Stage = trial.StagePreloading
	Connecting Stage = trial.StageConnecting
	WarmingUp  Stage = "warming up"
	Measuring  Stage = "measuring"
	Draining   Stage = "draining" // waits for operations in flight
	CleaningUp Stage = trial.StageCleaningUp
	Verifying  Stage = trial.StageVerifying
	Stopping   Stage = "stopping" // stops a cluster
	TrialDone  Stage = "done"     // a trial has ended; Result is set
)

// Progress describes the progress of a run.
type Progress struct {
	Stage  Stage
	Trial  int    // number of the trial in execution order, starting at 1; 0 before the first trial
	Trials int    // number of trials including repeats; 0 if the number depends on the results
	Name   string // name of the trial with its repeat, or name of the cluster that is being started or stopped
	// Spec is the trial. It is nil while a cluster starts or stops.
	Spec *scenario.Trial
	// PerSecond is the number of operations that succeeded in the last second. P99 is the 99th
	// percentile of the response times, in nanoseconds. It covers the latest one-second interval
	// whose operations have all ended. P99 is 0 if that interval has too few operations or is too
	// old.
	PerSecond float64
	P99       float64
	Errors    uint64 // errors in the trial so far, including its warm-up
	InFlight  int64
	// Succeeded is the number of operations that have succeeded since the window opened.
	// WindowElapsed is the time since the window opened; it stops when the window closes.
	Succeeded     uint64
	WindowElapsed time.Duration
	// FinishedShare is the share of the trial's warm-up and window that is finished, from 0 to 1.
	// TrialRemaining is the remaining time of the warm-up and the window. Both are 0 if unknown.
	FinishedShare  float64
	TrialRemaining time.Duration
	// Elapsed and Remaining are the elapsed and the remaining time of the whole run. Remaining is 0
	// if unknown. If a trial ends after a given number of operations, its remaining time is
	// estimated from the rates so far. Remaining includes the times before and after loads (starts,
	// preloads, drains, clean-ups, checks), which are assumed to be the same as in the finished
	// trials. IsMinimum is set if no trial has finished yet, so that Remaining does not include
	// these times.
	Elapsed, Remaining time.Duration
	IsMinimum          bool
	// Result is the result of the trial that has just ended. It is set in the stage TrialDone.
	Result *record.Trial
}

// title returns a trial's name and, if the trial is repeated, the number of its repeat.
func title(t *scenario.Trial) string {
	switch {
	case t.Repeats > 1:
		return fmt.Sprintf("%s (repeat %d of %d)", t.Name, t.Repeat, t.Repeats)
	case t.Repeats == 0:
		return fmt.Sprintf("%s (repeat %d)", t.Name, t.Repeat)
	}
	return t.Name
}
