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

// Next names the next trial of a run whose trials follow from each other: it gets the
// result of the one before, which lies in this run's directory, nil at first.
type Next func(before *record.Trial) (Named, error)

// Named is what is to be next.
type Named struct {
	Trial *scenario.Trial // nil when there are to be no more
	// Fresh says that the trial begins something new: a cluster that we started is
	// started again, without what trials before left in it, and the keys are made again.
	Fresh bool
	Found record.Searches // so far; it is recorded
	// Unprepared is told that the trial did not begin, because what it needs could not be
	// put into the store, and says whether the run goes on without it. Nil: it does not.
	Unprepared func(why error) bool
}

// Options is what a run needs to know.
type Options struct {
	Scenario *scenario.Scenario
	// Out is the run directory, which must be empty or absent; when it is
	// empty, a new folder below Root is made.
	Out, Root string
	// Resume is a run to take up again, in its own directory; nil to begin one. Its
	// scenario, seed and versions must be those recorded.
	Resume *record.Resumption
	// Asked is recorded: what the command line changed in the scenario.
	Asked record.Asked
	// Calibration is recorded: what this machine is known to tell apart; nil if nothing.
	Calibration *record.Calibration
	// DataDir is the folder below which members keep their data; empty for a
	// folder in the run directory. The data is removed at the end.
	DataDir string
	// Hosts are the machines that members are placed on in turn; empty for the
	// one that we run on.
	Hosts []host.Host
	// Agent begins a session with a host's agent. It may be nil if the scenario has
	// no host that is reached via one.
	Agent func(context.Context, *scenario.Host) (*agent.Remote, error)
	// Lookup finds a store by its name.
	Lookup func(name string) (store.Store, error)
	// Self is the path of our own binary, for stores embedded in it.
	Self string
	Tool record.Tool
	// Enough is asked after each round of a scenario that is repeated Until its
	// figures are precise, with all trials that have ended: why they are enough,
	// and nothing while they are not.
	Enough func([]*record.Trial) record.Ending
	// Script is what the only trial sends instead of its load; nil sends that. What came
	// of it is then asked of Replayed.
	Script   app.Script
	Replayed func() *record.Replay
	// Next names the trials one after the other, in place of the scenario's; nil for
	// those.
	Next Next
	// CheckAnswers checks the answers of trials that ask for it.
	CheckAnswers trial.CheckAnswers
	// Say receives sentences about changes to clusters that ran before the run, and about
	// data of killed runs that is removed. It may be nil.
	Say func(string)
	// Progress gets how the run goes, about four times a second and at each
	// change of stage, from one goroutine at a time. Nil for nobody.
	Progress func(Progress)
	// Second gets every second of a trial that is recorded, which it only
	// reads: its histograms are used again. One goroutine calls it. Nil for nobody.
	Second func(*scenario.Trial, *measure.Second)
	// Unrecorded takes what a trial measured that could not be recorded, as on a full disk.
	// Nil for nobody.
	Unrecorded func(record.Trial)
}
