package runner

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Next returns the next trial of a run in which each trial depends on the results before.
// It receives the last trial's result, with its place in the run directory, or nil at
// first.
type Next func(before *record.Trial) (Named, error)

// Named is the answer of Next.
type Named struct {
	Trial *scenario.Trial // nil: the run ends
	// Fresh restarts a cluster that the run started, without data from earlier trials, and
	// makes the keys again.
	Fresh bool
	Found record.Searches // so far; recorded
	// Unprepared is called if the trial did not begin because its preload failed, and
	// returns whether the run continues without it. If it is nil, the run ends.
	Unprepared func(why error) bool
}

// Options configure a run.
type Options struct {
	Scenario *scenario.Scenario
	// Out is the run directory, which must be empty or absent. If Out is empty, a new folder
	// below Root is made.
	Out, Root string
	// Resume is a run to continue in its own directory; nil to begin a new one. Its
	// scenario, seed and versions must be the recorded ones.
	Resume *record.Resumption
	// Asked is recorded: the command line's changes to the scenario.
	Asked record.Asked
	// Calibration is recorded: the differences that this machine can measure; may be nil.
	Calibration *record.Calibration
	// DataDir is the folder below which members keep their data; empty means a folder in the
	// run directory. The data is removed at the end.
	DataDir string
	// Hosts are the machines on which members are placed in turn; empty means this one.
	Hosts []host.Host
	// Agent begins a session with a host's agent. It may be nil if the scenario reaches no
	// host through an agent.
	Agent func(context.Context, *scenario.Host) (*agent.Remote, error)
	// Lookup returns a store by name.
	Lookup func(name string) (store.Store, error)
	// Self is the path of our binary, for embedded stores.
	Self string
	Tool record.Tool
	// Enough is called after each round of a scenario that is repeated Until its figures are
	// precise. It receives all ended trials and returns why they suffice, or "" if they do
	// not.
	Enough func([]*record.Trial) record.Ending
	// Script replaces the load of the only trial; it may be nil. Replayed then returns its
	// results.
	Script   app.Script
	Replayed func() *record.Replay
	// Next, unless it is nil, provides the trials instead of the scenario.
	Next Next
	// VerifyResponses verifies the responses of trials that ask for it.
	VerifyResponses trial.VerifyResponses
	// Say receives sentences about changes to running clusters and about removed data of
	// killed runs. It may be nil.
	Say func(string)
	// Progress receives the run's progress about four times per second and at each change
	// of stage, from one goroutine at a time. It may be nil.
	Progress func(Progress)
	// Second receives every recorded second of a trial from one goroutine. It must not
	// modify the second, whose histograms are reused. It may be nil.
	Second func(*scenario.Trial, *measure.Second)
	// Unrecorded receives a trial's result that could not be recorded, for example because
	// the disk was full. It may be nil.
	Unrecorded func(record.Trial)
}
