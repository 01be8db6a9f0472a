package runner

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Stage is what a run is doing.
type Stage string

// The stages.
const (
	Starting   Stage = "starting" // a cluster
	Preloading Stage = "preloading"
	Connecting Stage = "connecting"
	WarmingUp  Stage = "warming up"
	Measuring  Stage = "measuring"
	Draining   Stage = "draining" // what is in flight is awaited
	CleaningUp Stage = "cleaning up"
	// The answers of a load are checked: each member is read whole, then all is judged.
	ReadingBack Stage = "reading the members"
	Checking    Stage = "checking the answers"
	Stopping    Stage = "stopping" // a cluster
	TrialDone   Stage = "done"     // Result is set
)

// Progress is how a run goes.
type Progress struct {
	Stage  Stage
	Trial  int    // from 1, in the order in which they run; 0 before the first
	Trials int    // repeats included; 0 where precision ends the repeating
	Name   string // of the trial, with its repeat, or of the cluster that starts or stops
	// Successes in the last second, and the response time at p99 in the last
	// second of which every operation has ended, in nanoseconds (0 when that
	// second does not support it, or is long past).
	PerSecond float64
	P99       float64
	Errors    uint64 // of the trial so far, warm-up included
	InFlight  int64
	// Done is how many succeeded since the window opened, and InWindow how long
	// it has been, or was, open.
	Done     uint64
	InWindow time.Duration
	// Share is how much of the trial's warm-up and window is over, from 0 to 1,
	// and TrialLeft how long they still take; 0 when that is not known.
	Share     float64
	TrialLeft time.Duration
	// Elapsed and Left are of the whole run; Left is 0 when it is not known.
	// Where totals bound trials it is an estimate from the rates so far. What surrounds
	// loads (starts, preloads, drains, clean-ups, checks) is in it as it took in the trials
	// that ended; until one has, AtLeast says that it is not in it.
	Elapsed, Left time.Duration
	AtLeast       bool
	// Result is the trial that has just ended, with TrialDone.
	Result *record.Trial
}

// title names a trial, with its repeat where there are several.
func title(t *scenario.Trial) string {
	switch {
	case t.Repeats > 1:
		return fmt.Sprintf("%s (repeat %d of %d)", t.Name, t.Repeat, t.Repeats)
	case t.Repeats == 0:
		return fmt.Sprintf("%s (repeat %d)", t.Name, t.Repeat)
	}
	return t.Name
}
