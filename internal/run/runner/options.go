package runner

import (
	"context"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Next returns the next trial of a run in which each trial depends on earlier results. In the first
// call, previous is nil. In later calls, previous is the result of the previous trial, with its
// path in the run directory.
type Next func(previous *record.Trial) (PlannedTrial, error)

// PlannedTrial is the result of Next.
type PlannedTrial struct {
	Trial *scenario.Trial // the next trial, or nil to end the run
	// If FreshCluster is set and the run started the current cluster, the run replaces it by a new
	// cluster without data. The next trial then preloads the keys again.
	FreshCluster bool
	Searches     record.Searches // the results of the searches so far, which the run records
	// OnPreloadFailure is called if the preload of the trial failed, so that its load did not
	// begin. It returns true if the run is to continue without this trial. If OnPreloadFailure is
	// nil, the run ends.
	OnPreloadFailure func(reason error) bool
}

// Options configure a run.
type Options struct {
	Scenario *scenario.Scenario
	// Out is the run directory, which must be empty or must not exist. If Out is empty, the run
	// creates a new folder in Root.
	Out, Root string
	// Resume is the run to continue in its own directory, or nil to begin a new run. The scenario,
	// the seed and the versions must equal those recorded in Resume.
	Resume *record.Resumption
	// Asked contains the changes that the command line makes to the scenario. The run records them.
	Asked record.CommandLineSettings
	// Calibration contains the limits of what can be measured on this machine. The run records
	// them. Calibration may be nil.
	Calibration *record.Calibration
	// DataDir is the folder in which members keep their data. If DataDir is empty, the run uses a
	// folder in the run directory. The run removes the data at the end.
	DataDir string
	// Agent begins a session with a host's agent. It may be nil if no host in the scenario is
	// reached through an agent.
	Agent func(context.Context, *scenario.Host) (*agent.Remote, error)
	// Lookup returns the store with the given name.
	Lookup func(name string) (store.Store, error)
	// Self is the path of the quorumbench binary, for embedded stores.
	Self string
	Tool record.Tool
	// StopReason is called after each round if the scenario repeats its trials until their figures
	// are precise. StopReason receives the results of all finished trials. It returns the reason
	// why no more repeats are needed, or "" if more repeats are needed.
	StopReason func([]*record.Trial) record.EndReason
	// Script replaces the load of the run's only trial. It may be nil. If Script is set, Replayed
	// returns its results after the trial.
	Script   app.Script
	Replayed func() *record.Replay
	// Next provides the trials, in place of those in the scenario. It may be nil.
	Next Next
	// VerifyResponses verifies the responses in trials whose loads require verification.
	VerifyResponses trial.VerifyResponses
	// CleanupFlags contains the flags with which users can remove this run's keys, if the run is in
	// a pod. Otherwise, it is empty.
	CleanupFlags string
	// Notify receives complete sentences about changes to running clusters and about the removal of
	// data that killed runs left. It may be nil.
	Notify func(string)
	// Progress receives the run's progress about four times per second, and whenever the stage
	// changes. It is not called concurrently. It may be nil.
	Progress func(Progress)
	// OnSecond receives every one-second record of a trial. It is not called concurrently. It must
	// not modify the record, and must not keep it, because its histograms are reused. OnSecond may
	// be nil.
	OnSecond func(*scenario.Trial, *measure.Second)
	// Observer receives events and samples of machines as soon as they are recorded.
	Observer record.Observer
	// OnUnrecorded receives the result of a trial if the result could not be recorded, for example
	// because the disk was full. It may be nil.
	OnUnrecorded func(record.Trial)
}

// AddSecondHandler makes the run call f for every one-second record. Functions that were added
// earlier are called before f.
func (o *Options) AddSecondHandler(f func(*scenario.Trial, *measure.Second)) {
	before := o.OnSecond
	o.OnSecond = func(t *scenario.Trial, s *measure.Second) {
		if before != nil {
			before(t, s)
		}
		f(t, s)
	}
}

// AddProgressHandler makes the run call f with the run's progress. Functions that were added
// earlier are called before f.
func (o *Options) AddProgressHandler(f func(Progress)) {
	before := o.Progress
	o.Progress = func(p Progress) {
		if before != nil {
			before(p)
		}
		f(p)
	}
}
