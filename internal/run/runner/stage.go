package runner

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Stage is the present activity of a run.
type Stage string

// The stages.
const (
	Starting   Stage = "starting" // a cluster
	Preloading Stage = "preloading"
	Connecting Stage = "connecting"
	WarmingUp  Stage = "warming up"
	Measuring  Stage = "measuring"
	Draining   Stage = "draining" // waits for operations in flight
	CleaningUp Stage = "cleaning up"
	// The responses of a load are verified: all keys are read at each member, and then the
	// history is verified.
	ReadingBack Stage = "reading the members"
	Verifying   Stage = "verifying the responses"
	Stopping    Stage = "stopping" // a cluster
	TrialDone   Stage = "done"     // Result is set
)

// Progress describes the progress of a run.
type Progress struct {
	Stage  Stage
	Trial  int    // from 1, in the order of running; 0 before the first
	Trials int    // including repeats; 0 if precision decides the number
	Name   string // of the trial, with its repeat, or of the cluster that starts or stops
	// PerSecond counts the successes of the last second. P99 is the response time at p99, in
	// nanoseconds, of the last second whose operations have all ended; 0 if that second does
	// not support it or is too old.
	PerSecond float64
	P99       float64
	Errors    uint64 // of the trial so far, including its warm-up
	InFlight  int64
	// Done counts the successes since the window opened. InWindow is how long it has been,
	// or was, open.
	Done     uint64
	InWindow time.Duration
	// Share is how much of the trial's warm-up and window is over, from 0 to 1, and
	// TrialLeft how long they still take; 0 if unknown.
	Share     float64
	TrialLeft time.Duration
	// Elapsed and Left are those of the whole run; Left is 0 if unknown. For trials bounded
	// by totals it is an estimate from the rates so far. It includes the time around loads
	// (starts, preloads, drains, clean-ups, checks) as in the ended trials. AtLeast reports
	// that no trial has ended and Left lacks that time.
	Elapsed, Left time.Duration
	AtLeast       bool
	// Result is the trial that has just ended; set with TrialDone.
	Result *record.Trial
}

// title returns a trial's name, with its repeat if there are several.
func title(t *scenario.Trial) string {
	switch {
	case t.Repeats > 1:
		return fmt.Sprintf("%s (repeat %d of %d)", t.Name, t.Repeat, t.Repeats)
	case t.Repeats == 0:
		return fmt.Sprintf("%s (repeat %d)", t.Name, t.Repeat)
	}
	return t.Name
}
