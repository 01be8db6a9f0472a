// Package runner conducts a whole run: the order of trials, which of them share
// a cluster, rates taken from an earlier trial's throughput.
package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"

	"github.com/quorumbench/quorumbench/internal/store"
)

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

// run is a run under way.
type run struct {
	Options
	host       host.Host // the generator's
	about      map[host.Host]host.Description
	reached    []*reached // the scenario's hosts
	out        *record.Writer
	before     *resumed // nil: the run begins
	rates      rates
	began      time.Time
	plan       []scenario.Trial // all, or those of the rounds that have begun
	at         int              // trials begun
	ended      int              // trials ended, or not to be run any more
	now        *running
	trialBegan time.Time
	pace       pace
	around     around
	started    int                     // clusters
	made       []host.Made             // folders for their data
	guards     map[string]*guard.Guard // of clusters that ran before, by their keys
}

// Run conducts the scenario's trials and returns the run directory, also with
// an error where there is one. When ctx ends, the run ends with what it has,
// and the error is ctx's.
func Run(ctx context.Context, o Options) (dir string, err error) {
	if err := FindServers(&o); err != nil {
		return "", err
	}
	r, err := begin(ctx, o)
	if err != nil && ctx.Err() != nil {
		err = interrupted(ctx, err)
	}
	if err != nil {
		return "", err
	}
	err = r.conduct(ctx)
	r.ended = len(r.plan)
	err = also(err, r.release(context.WithoutCancel(ctx)))
	// Members are stopped in their own time, also after Ctrl-C.
	err = r.leaveHosts(also(err, r.leave(context.WithoutCancel(ctx))))
	if len(r.reached) > 0 {
		_ = r.out.SetHosts(r.recordedHosts(true)) // an error stays in the writer
	}
	state, failure := record.Complete, ""
	switch {
	case ctx.Err() != nil:
		state, err = record.Interrupted, interrupted(ctx, err)
	case err != nil:
		state, failure = record.Failed, err.Error()
	}
	if finishing := r.out.Finish(state, failure, measure.Now()); !errors.Is(err, finishing) {
		err = errors.Join(err, finishing)
	}
	return r.out.Dir(), err
}

// interrupted is the error of a run whose ctx has ended, and of what became of it
// that keys may be left in the store.
func interrupted(ctx context.Context, err error) error {
	var left *trial.KeysLeftError
	if errors.As(err, &left) {
		return errors.Join(context.Cause(ctx), left)
	}
	return context.Cause(ctx)
}

// begin makes the run directory.
func begin(ctx context.Context, o Options) (r *run, err error) {
	r = &run{Options: o, rates: rates{}, began: measure.Now(), host: newHost()}
	defer func() {
		if err != nil {
			err = r.leaveHosts(err)
		}
	}()
	if o.Resume != nil {
		if r.before, err = takeUp(&r.Options); err != nil {
			return r, err
		}
	}
	if err := r.reachHosts(ctx); err != nil {
		return r, err
	}
	if err := r.findServersThere(ctx); err != nil {
		return r, err
	}
	machines, err := r.describeHosts(ctx)
	if err != nil {
		return r, err
	}
	cleanOrphans(r.began, r.Say)
	if r.before != nil {
		if err := r.before.sameMachines(machines); err != nil {
			return r, err
		}
		r.started = o.Resume.Clusters()
		r.out, err = o.Resume.Writer(r.began, machines, r.recordedHosts(false))
		return r, err
	}
	about := record.Run{
		Name: o.Scenario.Name, Tool: o.Tool, Seed: o.Scenario.Seed, Scenario: string(o.Scenario.Source), Asked: o.Asked, Scale: o.Scenario.Scale,
		Planned: len(o.Scenario.Trials), Until: record.UntilOf(o.Scenario.Until), Machines: machines, Hosts: r.recordedHosts(false),
		Calibration: o.Calibration,
	}
	if o.Out != "" {
		r.out, err = record.CreateAt(o.Out, r.began, about)
	} else {
		r.out, err = record.Create(o.Root, o.Scenario.Name, r.began, about)
	}
	return r, err
}

func (r *run) conduct(ctx context.Context) error {
	switch {
	case r.Next != nil:
		return r.asNamed(ctx)
	case r.Scenario.Until != nil:
		return r.untilPrecise(ctx)
	}
	r.plan = r.Scenario.Trials
	_, err := r.trials(ctx, r.plan)
	return err
}

// trials runs one after the other, and returns the results of those that ended.
func (r *run) trials(ctx context.Context, all []scenario.Trial) (results []*record.Trial, err error) {
	for _, spec := range all {
		if result, had := r.before.take(r.at); had {
			r.at++
			r.ended = r.at
			r.rates.add(result)
			r.pace.ended(&spec, result)
			results = append(results, result)
			continue
		}
		r.at++
		if err := r.rates.settle(&spec); err != nil {
			return results, err
		}
		result, err := r.trial(ctx, spec)
		if err != nil {
			return results, err
		}
		if results = append(results, result); ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
	}
	return results, nil
}

// trial runs one trial on its cluster.
func (r *run) trial(ctx context.Context, spec scenario.Trial) (*record.Trial, error) {
	turn := measure.Now()
	under, err := r.enter(ctx, &spec)
	if err != nil {
		return nil, err
	}
	r.trialBegan = measure.Now()
	r.pace.begin()
	generator := r.generator(&spec)
	machine := r.about[generator].Machine
	if r.now.own != nil {
		under.Shared = new(r.shared(r.now.own, &spec))
	}
	t := trial.Trial{
		Spec: spec, Cluster: under, Worker: r.worker(&spec), Writer: r.out, Host: r.host, Machine: &machine, Sources: r.sources(&spec), Tool: r.Tool.Version,
		Progress:     func(p trial.Progress) { r.reportTrial(&spec, p) },
		Server:       func(to string) (cluster.Server, error) { return r.server(&spec, to) },
		CheckAnswers: r.CheckAnswers, Replayed: r.Replayed,
	}
	if r.Second != nil {
		t.Second = func(s *measure.Second) { r.Second(&spec, s) }
	}
	result, err := t.Run(ctx)
	began := r.trialBegan
	r.trialBegan = time.Time{}
	if t.Unrecorded != nil && r.Unrecorded != nil {
		r.Unrecorded(*t.Unrecorded)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(&spec), err)
	}
	r.around.add(turn, began, measure.Now(), spec.Load.Warmup+seconds(result.Seconds))
	r.ended = r.at
	r.now.lost = len(result.LostMembers) > 0 || spec.Load.ChangesCluster() ||
		slices.ContainsFunc(result.Faults, func(f record.Fault) bool { return f.Failure != "" && f.Healed == nil })
	r.rates.add(result)
	r.pace.ended(&spec, result)
	r.report(Progress{Stage: TrialDone, Name: title(&spec), Result: result})
	if left := result.Cleanup.Err(); left != nil && ctx.Err() != nil {
		return nil, &trial.KeysLeftError{Why: left}
	}
	if t.NoSpace != nil {
		return nil, fmt.Errorf("%s: %w", title(&spec), t.NoSpace)
	}
	return result, nil
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

// dataDir is the folder below which clusters keep their data. It is noted, and
// removed after the last cluster if we made it.
func (r *run) dataDir() (string, error) {
	dir := r.DataDir
	if dir == "" {
		dir = filepath.Join(r.out.Dir(), "data")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	made, err := host.MakeFolders(dir)
	r.made = append(r.made, made...)
	if err != nil {
		return "", err
	}
	noteData(dir, r.made)
	return dir, nil
}

// rates knows the throughput of the trials that have run.
type rates map[string][]float64 // trial name -> by repeat, in the order run

func (r rates) add(t *record.Trial) { r[t.Name] = append(r[t.Name], t.PerSecond) }

// settle gives a trial whose rate is a share of another's its number: of the
// same repeat where that has run, or else of the last that has.
func (r rates) settle(t *scenario.Trial) error {
	rate := &t.Load.Rate
	if rate.Of == "" {
		return nil
	}
	seen := r[rate.Of]
	if len(seen) == 0 {
		return fmt.Errorf("trial %s takes %g%% of the throughput of %s, which has no result", t.Name, rate.Percent, rate.Of)
	}
	of := seen[min(t.Repeat, len(seen))-1]
	if of <= 0 {
		return fmt.Errorf("trial %s takes %g%% of the throughput of %s, which completed nothing", t.Name, rate.Percent, rate.Of)
	}
	if rate.PerSecond = of * rate.Percent / 100; rate.PerSecond > scenario.MaxRate {
		return fmt.Errorf("trial %s takes %g%% of the throughput of %s, which are %.0f operations a second, more than any generator sends; take a smaller share", t.Name, rate.Percent, rate.Of, rate.PerSecond)
	}
	return nil
}
