package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// capacityFlags are the flags of `capacity`.
type capacityFlags struct {
	command.AttachFlags
	objective analyze.Objective
	until     time.Duration
	width     float64
	from      float64
	most      float64
	trial     string
	exec      string
	dataDir   string
	out       string
	root      string
	format    string
	seed      uint64
	set       []scenario.Assignment
	given     func(flag string) bool
}

// leastRate is the lowest rate that a search tries: at less, hardly anything is
// seen in a window of seconds.
const leastRate = 10

func (a *app) capacityCommand() *cobra.Command {
	f := &capacityFlags{until: 10 * time.Minute, width: capacity.DefaultWidth, from: 100, most: scenario.MaxRate, root: "runs", format: "text", seed: scenario.DefaultSeed}
	c := &cobra.Command{
		Use:   "capacity [FILE.yaml]",
		Short: "Search for the highest rate at which an objective holds",
		Long: `Search for the highest rate at which an objective holds, and say it as an interval:
trials of seconds, one after the other on one cluster, each an open loop, until the
interval is 2% wide or the time is over.

The load is that of the scenario file, which has one trial, or that one of its trials
which --trial names; its rate and its times do not count. Without a file it is puts
of 256 bytes. With --endpoints the cluster runs already, without them it is started.

The exit code is 0 when there is an interval, 1 when the objective holds nowhere.`,
		Example: `  quorumbench capacity --objective 'p99<20ms, errors<0.1%' --endpoints 10.0.0.1:2379,10.0.0.2:2379
  quorumbench capacity scenarios/my-load.yaml --objective 'p99.9<100ms' --until 5m --format json`,
		Args: command.Takes(0, 1, "one scenario file"),
	}
	r := command.NewFlags(c.Flags())
	command.Value(r, "objective", &f.objective, "METRIC<LIMIT,...", analyze.ParseObjective, func(o analyze.Objective) string { return o.Text },
		"what is to be kept, as in 'p99<20ms, errors<0.1%': percentiles of response times and the share of errors")
	command.Value(r, "until", &f.until, "DURATION", scenario.ParseAtMost, scenario.FormatDuration, "begin no trial that would end so long after the first began")
	command.Value(r, "width", &f.width, "SHARE", scenario.ParseShare, readable.Share, "how wide the interval may be in the end")
	r.Number("from", &f.from, "R", "the first rate to try")
	r.Number("max-rate", &f.most, "R", "the highest rate to try")
	r.Text("trial", &f.trial, "NAME", "the trial of the file whose load it is, where there are several")
	f.RegisterOptional(r)
	r.Text("exec", &f.exec, "PATH", "the server to start instead of the store's own")
	command.Repeated(r, "set", &f.set, "KEY=VALUE", scenario.ParseAssignment, "a parameter of the load or cluster instead of the file's, as in value-size=1KiB")
	r.Text("data-dir", &f.dataDir, "DIR", "where members keep their data; in the run directory unless given")
	r.Text("out", &f.out, "DIR", "the run directory; it must be empty or not there yet")
	r.Text("runs-dir", &f.root, "DIR", "where a new run directory is made, unless --out names one")
	r.Choice("format", &f.format, "of the result on standard output", "text", "json")
	r.Seed("seed", &f.seed, "everything random comes from it")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.given = c.Flags().Changed
		return a.capacity(c.Context(), f, args)
	}
	return c
}

// check refuses flags that contradict each other.
func (f *capacityFlags) check() error {
	switch {
	case len(f.objective.Parts) == 0:
		return command.Usage("--objective says what is to be kept, and is missing; give one such as --objective 'p99<20ms, errors<0.1%%'")
	case f.out != "" && f.given("runs-dir"):
		return command.Usage("--out names the run directory and --runs-dir a folder to make it in; give one of them")
	case f.root == "":
		return command.Usage("--runs-dir is empty; name a folder")
	case !(f.most >= leastRate) || f.most > scenario.MaxRate:
		return command.Usage("--max-rate must be from %d to %d, not %g", leastRate, scenario.MaxRate, f.most)
	case !(f.from >= leastRate) || f.from > f.most:
		return command.Usage("--from must be from %d to %g, the highest rate to try, not %g", leastRate, f.most, f.from)
	}
	return nil
}

// template is the scenario with the one trial whose load is searched.
func (a *app) template(f *capacityFlags, args []string) (*scenario.Scenario, error) {
	attach, err := f.Running()
	if err != nil {
		return nil, err
	}
	name, version, err := storeVersion(f.Store, f.exec)
	if err != nil {
		return nil, err
	}
	o := scenario.Options{Store: name, Version: version, Exec: f.exec, Set: f.set, Attach: attach}
	if f.given("target") {
		o.Set = append(o.Set, scenario.Assignment{Key: "target", Value: f.Target.String()})
	}
	var s *scenario.Scenario
	if len(args) == 0 {
		s, err = scenario.Parse("capacity.yaml", scenario.OfCapacity(), a.Catalog, o)
	} else {
		s, err = a.load(args, o)
	}
	if err != nil {
		return nil, &command.Exit{Code: command.ExitUsage, Cause: err}
	}
	if s.Until = nil; f.given("seed") {
		s.Reseed(f.seed)
	}
	return s, one(s, f.trial)
}

// one leaves a scenario the trial of the given name, or its only one.
func one(s *scenario.Scenario, name string) error {
	var names []string
	var found []scenario.Trial
	for _, t := range s.Trials {
		if t.Repeat > 1 || t.BaselineOf != "" {
			continue
		}
		names = append(names, t.Name)
		if name == "" || t.Name == name {
			found = append(found, t)
		}
	}
	slices.Sort(names) // the scenario's own order is drawn
	switch {
	case len(found) == 0 && name != "":
		return command.Usage("--trial: the scenario has no trial %q%s", name, command.Suggest(name, names, ""))
	case len(found) != 1:
		return command.Usage("the scenario has %s, and a capacity is that of one load; choose one with --trial, such as %s", readable.Plural(uint64(len(names)), "trial"), names[0])
	case len(s.Hosts) > 0:
		return command.Usage("the scenario names hosts, and a search is conducted on this machine; take them out, or start the cluster there and give --endpoints")
	case found[0].Load.Application.Name != "":
		return command.Usage("the trial %s is what an application sends, whose rate follows from its parameters; use run for it, with a parameter's values in a matrix", found[0].Name)
	case len(found[0].Load.Faults) > 0 || found[0].Load.Check:
		return command.Usage("the trial %s has faults or a check of its answers, and a capacity is that of a load without; use run for them", found[0].Name)
	}
	s.Trials = found
	return nil
}

func (a *app) capacity(ctx context.Context, f *capacityFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	s, err := a.template(f, args)
	if err != nil {
		return err
	}
	path, err := command.Self()
	if err != nil {
		return err
	}
	a.Warn(s.Warnings...)
	defer command.Lean()()
	screen := a.Screen
	if f.format == "json" {
		screen = io.Discard
	}
	d := command.NewDisplay(screen, nil)
	defer d.Clear()
	ctx, stop := command.Interruptible(ctx, func() { d.Note("stopping; press Ctrl-C again to stop at once") })
	defer stop()
	asked := record.Asked{Exec: f.exec}
	if f.dataDir != "" {
		if asked.DataDir, err = filepath.Abs(f.dataDir); err != nil {
			return err
		}
	}
	asked.Store, asked.Version, _ = storeVersion(f.Store, f.exec) // it was read
	for _, one := range f.set {
		asked.Set = append(asked.Set, one.Shown())
	}
	seek := newSeeker(f, s.Trials[0], time.Now, d)
	dir, runErr := runner.Run(ctx, runner.Options{
		Scenario: s, Asked: asked, Out: f.out, Root: f.root, DataDir: f.dataDir, Lookup: a.Lookup, Self: path, Tool: command.Tool(), Progress: seek.show, Next: seek.next,
	})
	d.Clear()
	if dir == "" {
		return runErr
	}
	run, err := record.Open(dir)
	if err != nil {
		return errors.Join(runErr, err)
	}
	run.ReadEvents(dir)
	if found := analyze.CapacityOf(run); found != nil {
		write := report.Capacity
		if f.format == "json" {
			write = report.CapacityJSON
		}
		if err := write(a.Stdout, found, dir); err != nil {
			return errors.Join(runErr, err)
		}
		return searched(found, runErr)
	}
	return runErr
}

// searched is what a search that has been printed ends with.
func searched(f *analyze.CapacityFinding, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted")}
	case err != nil:
		return err
	case f.LowerPerSecond <= 0:
		return &command.Exit{Code: command.ExitFailed}
	}
	return nil
}

// seeker has the runner do what a search asks for.
type seeker struct {
	objective *analyze.Objective
	search    *capacity.Search
	load      scenario.Trial
	found     record.Capacity
	plan      capacity.Plan // of the trial that runs
	began     time.Time     // when the first did; zero: none has
	now       func() time.Time
	display   *command.Display
	soFar     string // the interval
}

func newSeeker(f *capacityFlags, load scenario.Trial, now func() time.Time, d *command.Display) *seeker {
	o := capacity.Options{Goals: f.objective.Goals(), Until: f.until.Seconds(), Width: f.width, From: f.from, Least: leastRate, Most: f.most, Overhead: 0.5}
	s := &seeker{objective: &f.objective, search: capacity.New(o), load: load, now: now, display: d}
	s.found = record.Capacity{Objective: f.objective.Text, UntilNS: f.until.Nanoseconds(), Width: f.width, Level: capacity.DefaultLevel}
	if s.load.Load.Arrival == scenario.Closed {
		s.load.Load.Arrival = scenario.Poisson
	}
	s.load.Load.Total, s.load.Repeat, s.load.Repeats = 0, 1, 1
	return s
}

// next takes what a trial came to, and says which is next.
func (s *seeker) next(before *record.Trial) (*scenario.Trial, *record.Capacity, error) {
	at := 0.0
	if before != nil {
		if s.began.IsZero() {
			s.began = before.Started
		}
		at = s.now().Sub(s.began).Seconds()
		if err := s.take(before); err != nil {
			return nil, nil, err
		}
	}
	plan, more := s.search.Next(at)
	s.tell(more)
	if !more {
		return nil, &s.found, nil
	}
	s.plan = plan
	t := s.load
	t.Number = len(s.found.Trials) + 1
	t.Name = fmt.Sprintf("%s-%.5g", plan.Purpose, plan.Rate)
	t.Load.Rate = scenario.Rate{PerSecond: plan.Rate}
	t.Load.Warmup, t.Load.Duration = seconds(plan.Warmup), seconds(plan.Window)
	t.Load.Seed = (s.load.Load.Seed + uint64(len(s.found.Trials))) & (1<<63 - 1)
	return &t, &s.found, nil
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// take adds what a trial came to.
func (s *seeker) take(t *record.Trial) error {
	opened := t.Started
	if t.Opened != nil {
		opened = *t.Opened
	}
	tried, err := s.objective.Tried(t, s.plan, opened.Sub(s.began).Seconds())
	if err != nil {
		return err
	}
	s.search.Add(tried, s.now().Sub(t.Started).Seconds())
	one := record.CapacityTrial{Rate: s.plan.Rate, Purpose: string(s.plan.Purpose), Void: tried.Void, Bad: []*float64{}}
	if tried.Void == "" {
		one.Holds, one.Overloaded = tried.Holds(s.search.Goals), tried.Overloaded()
		for g := range s.search.Goals {
			one.Bad = append(one.Bad, new(tried.Share(g)))
		}
	}
	s.found.Trials = append(s.found.Trials, one)
	s.display.Line(fmt.Sprintf("[%d] %s %s: %s", len(s.found.Trials), s.plan.Purpose, readable.PerSecond(s.plan.Rate), triedText(&one, t)))
	return nil
}

// triedText is what a trial came to, in a line.
func triedText(c *record.CapacityTrial, t *record.Trial) string {
	text := fmt.Sprintf("%s done, p50 %s, p99 %s", readable.PerSecond(t.PerSecond), readable.Figure(t.ResponseTime.At(50)), readable.Figure(t.ResponseTime.At(99)))
	switch {
	case c.Void != "":
		return text + "; void: " + c.Void
	case c.Overloaded:
		return text + "; overloaded"
	case c.Holds:
		return text + "; kept"
	}
	return text + "; missed"
}

// tell writes down how far the search has come.
func (s *seeker) tell(more bool) {
	r := s.search.Result()
	s.found.LowerPerSecond, s.found.UpperPerSecond = r.Lower, nil
	if r.Closed() {
		s.found.UpperPerSecond = new(r.Upper)
		s.soFar = fmt.Sprintf("; so far it is %s", readable.Between(readable.PerSecond(r.Lower), readable.PerSecond(r.Upper)))
	}
	s.found.Status, s.found.Why = string(r.Status), r.Why
	if more {
		s.found.Status, s.found.Why = record.CapacitySearching, ""
	}
}

// show takes how a trial goes.
func (s *seeker) show(p runner.Progress) {
	text := fmt.Sprintf("[%d] %s: %s", p.Trial, p.Name, p.Stage)
	switch p.Stage {
	case runner.TrialDone:
		return // next says what it came to
	case runner.Starting, runner.Stopping:
		text = fmt.Sprintf("%s the %s", p.Stage, p.Name)
	case runner.Measuring, runner.Draining:
		text += ", " + readable.PerSecond(p.PerSecond)
	}
	s.display.Update(fmt.Sprint(p.Stage, p.Trial), p.Elapsed, text+s.soFar)
}
