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

// Next returns the next trial of a run in which each trial depends on earlier results. It receives
// the result of the last trial, with its path in the run directory. In the first call it receives
// nil.
type Next func(before *record.Trial) (PlannedTrial, error)

// PlannedTrial is the result of Next.
type PlannedTrial struct {
	Trial *scenario.Trial // the next trial, or nil to end the run
	// Fresh restarts a cluster that the run started, without data from earlier trials, and writes
	// the keys again.
	Fresh bool
	Found record.Searches // the searches so far, which are recorded
	// Unprepared is called if the trial did not begin because its preload failed. It returns
	// whether the run continues without this trial. If it is nil, the run ends.
	Unprepared func(why error) bool
}

// Options configure a run.
type Options struct {
	Scenario *scenario.Scenario
	// Out is the run directory, which must be empty or absent. If Out is empty, a new folder is
	// created in Root.
	Out, Root string
	// Resume is a run to continue in its own directory, or nil to begin a new run. The scenario,
	// seed and versions must equal those recorded in Resume.
	Resume *record.Resumption
	// Asked is recorded. It contains the changes that the command line makes to the scenario.
	Asked record.Asked
	// Calibration is recorded. It contains the differences that this machine can measure. It may be
	// nil.
	Calibration *record.Calibration
	// DataDir is the folder in which members keep their data. If it is empty, a folder in the run
	// directory is used. The data is removed at the end.
	DataDir string
	// Hosts are the machines on which members are placed in turn. If there are none, members are
	// placed on this machine.
	Hosts []host.Host
	// Agent begins a session with a host's agent. It may be nil if no host in the scenario is
	// reached through an agent.
	Agent func(context.Context, *scenario.Host) (*agent.Remote, error)
	// Lookup returns the store with the given name.
	Lookup func(name string) (store.Store, error)
	// Self is the path of the quorumbench binary, for embedded stores.
	Self string
	Tool record.Tool
	// Enough is called after each round if the scenario's trials are repeated Until its figures are
	// precise. It receives all finished trials. It returns the reason why no more repeats are
	// needed, or "" if more are needed.
	Enough func([]*record.Trial) record.Ending
	// Script replaces the load of the only trial. It may be nil. If it is set, Replayed returns its
	// results after the trial.
	Script   app.Script
	Replayed func() *record.Replay
	// Next provides the trials instead of the scenario. It may be nil.
	Next Next
	// VerifyResponses verifies the responses in trials that ask for it.
	VerifyResponses trial.VerifyResponses
	// Say receives sentences about changes to running clusters and about data of killed runs that
	// was removed. It may be nil.
	Say func(string)
	// Progress receives the run's progress about four times per second and at each change of the
	// stage. It is not called concurrently. It may be nil.
	Progress func(Progress)
	// Second receives every recorded second of a trial. It is not called concurrently. It must not
	// modify the second and must not keep it, because its histograms are reused. It may be nil.
	Second func(*scenario.Trial, *measure.Second)
	// Observer receives events and samples of machines while they are recorded.
	Observer record.Observer
	// Unrecorded receives the result of a trial if the result could not be recorded, for example
	// because the disk was full. It may be nil.
	Unrecorded func(record.Trial)
}
