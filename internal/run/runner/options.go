// Package runner conducts a whole run: the order of trials, which of them share
// a cluster, rates taken from an earlier trial's throughput.
package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Options is what a run needs to know.
type Options struct {
	Scenario *scenario.Scenario
	// Out is the run directory, which must be empty or absent; when it is
	// empty, a new folder below Root is made.
	Out, Root string
	// DataDir is the folder below which members keep their data; empty for a
	// folder in the run directory. The data is removed at the end.
	DataDir string
	// Hosts are the machines that members are placed on in turn; empty for the
	// one that we run on.
	Hosts []host.Host
	// Lookup finds a store by its name.
	Lookup func(name string) (store.Store, error)
	// Self is the path of our own binary, for stores embedded in it.
	Self string
	Tool record.Tool
	// Progress gets how the run goes, about four times a second and at each
	// change of stage, from one goroutine at a time. Nil for nobody.
	Progress func(Progress)
	// Second gets every second of a trial that is recorded, which it only
	// reads: its histograms are used again. One goroutine calls it. Nil for nobody.
	Second func(*scenario.Trial, *measure.Second)
}

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
	Stopping   Stage = "stopping" // a cluster
	TrialDone  Stage = "done"     // Result is set
)

// Progress is how a run goes.
type Progress struct {
	Stage  Stage
	Trial  int    // from 1, in the order in which they run; 0 before the first
	Trials int    // repeats included
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
	// Where totals bound trials it is an estimate from the rates so far.
	Elapsed, Left time.Duration
	// Result is the trial that has just ended, with TrialDone.
	Result *record.Trial
}
