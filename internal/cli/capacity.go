package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/search"
	"github.com/quorumbench/quorumbench/internal/text"
)

// capacityFlags holds the flags of `capacity`.
type capacityFlags struct {
	command.AttachFlags
	objective size.Objective
	until     time.Duration
	width     float64
	firstRate float64
	maxRate   float64 // highest rate
	maxValue  float64 // highest value of the searched parameter
	trial     string
	exec      string
	dataDir   string
	out       string
	root      string
	format    string
	seed      uint64
	set       []scenario.Assignment
	over      overFlag
	warmUp    time.Duration
	isGiven   func(flag string) bool
}

func (a *commandLine) capacityCommand() *cobra.Command {
	f := &capacityFlags{until: 10 * time.Minute, warmUp: search.MaxWarmUp, width: capacity.DefaultWidth, firstRate: search.FirstRate, maxRate: scenario.MaxRate, root: "runs", format: "text", seed: scenario.DefaultSeed}
	c := &cobra.Command{
		Use:   "capacity [FILE.yaml|NAME]",
		Short: "Search for the highest rate at which an objective is met",
		Long: `Search for the highest rate at which an objective is met, and report it as an interval.
The search runs short open-loop trials, one after the other on the same cluster, until the
interval is as narrow as --width or the time limit --until is reached.

The load is the trial in the scenario file or in the built-in scenario NAME; if there are
several trials, --trial selects one. The trial's rate and times are ignored. Without a
file, the load consists of puts with values of 256 bytes. With --endpoints, the search
uses a running cluster; without it, the search starts a cluster.

` + overSentence + `.
If the search starts the clusters, the first form uses one cluster per value, and --until
limits the total time for all values. The second form uses one cluster per trial, and
creates the application's objects there before the load.

The exit code is 0 if the search finds an interval, 1 if no rate meets the objective, and
6 if the capacity is not known because the trials showed too little of the store.`,
		Example: `  quorumbench capacity --objective 'p99<20ms, errors<0.1%' --endpoints 10.0.0.1:2379,10.0.0.2:2379
  quorumbench capacity my-load.yaml --objective 'p99.9<100ms' --until 5m --format json
  quorumbench capacity --objective 'p99<20ms' --over value-size=128,1KiB,16KiB --until 15m
  quorumbench capacity kubernetes --objective 'p99<1s' --over nodes`,
		Args: command.ArgsBetween(0, 1, "one scenario file or name"),
	}
	r := command.NewFlags(c.Flags())
	command.Value(r, "objective", &f.objective, "METRIC<LIMIT,...", size.ParseObjective, func(o size.Objective) string { return o.Text },
		"objective to meet: limits for percentiles of response times and for the share of errors, for example 'p99<20ms, errors<0.1%'")
	command.Value(r, "until", &f.until, "DURATION", scenario.ParseTimeLimit, text.FormatDuration, "time limit for the search; no trial starts that would end after this limit")
	command.Value(r, "width", &f.width, "SHARE", text.ParseShare, text.Share, "stop the search when the reported interval is at most this wide")
	r.Number("from", &f.firstRate, "R", "first rate to try; with --over KEY: first value to try, by default the value of KEY in the scenario")
	r.Number("max-rate", &f.maxRate, "R", "highest rate to try")
	r.Number("max-value", &f.maxValue, "V", "highest value of the searched parameter to try (default: the parameter's maximum)")
	command.Value(r, "over", &f.over, "KEY[=VALUE,...]", parseOver, overFlag.String, "run one search for each value of a load or cluster parameter, for example value-size=128,1KiB,16KiB, or for each store: store=NAME[@VERSION],NAME=PATH,...; KEY without values: search for the highest value of this KEY, which must be an application's parameter that determines the load, for example nodes")
	r.Duration("warm-up", &f.warmUp, "maximum time to warm up a new cluster with a closed loop before the first trial; 0 means no warm-up")
	r.Text("trial", &f.trial, "NAME", "name of the trial whose load the search uses, if the file has several trials")
	a.AddProgress(r)
	a.AddMetrics(r)
	f.RegisterOptional(r)
	r.Text("exec", &f.exec, "PATH", "path of the server binary to start instead of the store's default server")
	command.Repeated(r, "set", &f.set, "KEY=VALUE", scenario.ParseAssignment, "override a load or cluster parameter of the file, for example value-size=1KiB")
	r.Text("data-dir", &f.dataDir, "DIR", "folder for the members' data (default: in the run directory)")
	r.Text("out", &f.out, "DIR", "path of the run directory, which must be empty or absent")
	r.Text("runs-dir", &f.root, "DIR", "folder in which run directories are created, unless --out is given")
	r.Format(&f.format, &a.Wide, "text", "json")
	r.Seed("seed", &f.seed, "seed for all random choices")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.isGiven = c.Flags().Changed
		return a.capacity(c.Context(), f, args)
	}
	c.AddCommand(a.capacityShareCommand())
	return c
}

// check returns a usage error for flags that are invalid or contradict each other.
func (f *capacityFlags) check() error {
	if len(f.objective.Parts) == 0 {
		return command.Usage("--objective is missing; give an objective, for example --objective 'p99<20ms, errors<0.1%%'")
	}
	if err := checkRunsDir(f.out, f.root, f.isGiven); err != nil {
		return err
	}
	switch {
	case f.over.searchesParameter() && f.isGiven("max-rate"):
		return command.Usage("--max-rate limits a rate, but --over %s searches for a value of that parameter; limit this value with --max-value", f.over.key)
	case f.over.searchesParameter() && f.isGiven("warm-up"):
		return command.Usage("--warm-up warms up the cluster with a closed loop, but --over %s searches with an application's load, which is not a closed loop; remove --warm-up", f.over.key)
	case !f.over.searchesParameter() && f.isGiven("max-value"):
		return command.Usage("--max-value limits the searched parameter, but this search is for a rate; remove --max-value, or search for the value of a parameter: %s", overLine())
	case !(f.maxRate >= search.MinRate) || f.maxRate > scenario.MaxRate:
		return command.Usage("--max-rate must be from %d to %d, not %g", search.MinRate, scenario.MaxRate, f.maxRate)
	case f.over.searchesParameter(): // f.parameter checks --from, because the bounds depend on the scenario
	case !(f.firstRate >= search.MinRate) || f.firstRate > f.maxRate:
		return command.Usage("--from must be from %d to %s (the highest rate to try), not %g", search.MinRate, text.FormatNumber(f.maxRate), f.firstRate)
	case f.isGiven("warm-up") && (f.warmUp < 0 || f.warmUp > f.until):
		return command.Usage("--warm-up must be from 0 to %s (the time limit --until), not %s", f.until, f.warmUp)
	}
	for _, a := range f.set {
		of, _, _ := strings.Cut(a.Key, ".")
		switch {
		case slices.Contains(searchParameters, of) && (!f.over.searchesParameter() || of != "warmup"):
			return command.Usage("--set %s: the search sets %s itself; remove this flag", a.Redacted(load.Applications()), of)
		case of == "arrival" && a.Value == scenario.Closed.String():
			return command.Usage("--set %s: a search uses only open loops; remove this flag, or use quorumbench run", a.Redacted(load.Applications()))
		}
	}
	return f.over.check(f)
}

// template returns the scenario reduced to the trial whose load the search uses. If value is not
// nil, the trial uses this value for the parameter that --over names.
func (a *commandLine) template(f *capacityFlags, args []string, value *scenario.Assignment) (*scenario.Scenario, error) {
	attach, err := f.Running()
	if err != nil {
		return nil, err
	}
	store, server, set := f.Store, f.exec, slices.Clone(f.set)
	switch {
	case value == nil:
	case value.Key == overStore:
		store, server, _ = strings.Cut(value.Value, "=")
	default:
		set = append(set, *value)
	}
	name, version, err := storeVersion(store, server)
	if err != nil {
		return nil, toOverError(value, err)
	}
	o := scenario.Options{Store: name, Version: version, Exec: server, Assignments: set, RunningCluster: attach}
	if f.isGiven("target") {
		o.Assignments = append(o.Assignments, scenario.Assignment{Key: "target", Value: f.Target.String()})
	}
	var s *scenario.Scenario
	if len(args) == 0 {
		s, err = scenario.Parse("capacity.yaml", scenario.CapacityFile(), a.Catalog, o)
	} else {
		s, err = a.load(args, o)
	}
	if err != nil {
		return nil, toOverError(value, &command.Exit{Code: command.ExitUsage, Cause: err})
	}
	if err := a.UseEnvironmentIn(s, &f.AttachFlags); err != nil {
		return nil, err
	}
	if s.RepeatRule = nil; f.isGiven("seed") {
		s.Reseed(f.seed)
	}
	if err := keepTrial(s, f.trial); err != nil {
		return nil, err
	}
	if err := checkSearchable(s); err != nil {
		return nil, err
	}
	return s, f.over.checkLoad(&s.Trials[0])
}

// bufferStdin lets the scenario be read several times even if it comes from standard input. It
// buffers standard input and returns the function rewind, which must be called before each further
// read.
func (a *commandLine) bufferStdin(args []string) (rewind func(), err error) {
	if len(args) == 0 || args[0] != "-" {
		return func() {}, nil
	}
	text, err := a.readScenario()
	if err != nil {
		return nil, err
	}
	rewind = func() { a.Stdin = bytes.NewReader(text) }
	rewind()
	return rewind, nil
}

// templates returns one scenario with one trial for each value of --over: the trial that template
// returns for that value. Without values, the scenario has a single trial.
func (a *commandLine) templates(f *capacityFlags, args []string, rewind func()) (all *scenario.Scenario, err error) {
	if len(f.over.values) == 0 {
		return a.template(f, args, nil)
	}
	for _, v := range f.over.values {
		rewind()
		s, err := a.template(f, args, &scenario.Assignment{Key: f.over.key, Value: v})
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = s
			continue
		}
		all.Trials = append(all.Trials, s.Trials...)
		for _, w := range s.Warnings {
			if !slices.Contains(all.Warnings, w) {
				all.Warnings = append(all.Warnings, w)
			}
		}
	}
	return all, nil
}

// keepTrial removes all trials from a scenario except the trial with the given name. Without a
// name, the scenario must have exactly one trial.
func keepTrial(s *scenario.Scenario, name string) error {
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
	slices.Sort(names) // the scenario lists them in random order
	switch {
	case len(found) == 0 && name != "":
		return command.Usage("--trial: the scenario has no trial %q%s", name, command.Suggest(name, names, ""))
	case len(found) != 1:
		return command.Usage("the scenario has %s, but this command needs a single load; choose a trial with --trial, such as %s", text.Plural(uint64(len(names)), "trial"), names[0])
	}
	s.Trials = found
	return nil
}

// checkSearchable returns a usage error if a search cannot run the scenario's only trial.
func checkSearchable(s *scenario.Scenario) error {
	t := &s.Trials[0]
	switch {
	case len(s.Hosts) > 0:
		return command.Usage("the scenario names hosts, but a search uses only this machine; remove the hosts, or start the cluster on these hosts yourself and give --endpoints")
	case len(t.Load.Faults) > 0 || t.Load.Verify:
		return command.Usage("the trial %s injects faults or verifies responses, which a search cannot do; remove faults and verify from the trial, or use quorumbench run", t.Name)
	}
	return nil
}

func (a *commandLine) capacity(ctx context.Context, f *capacityFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	rewind, err := a.bufferStdin(args)
	if err != nil {
		return err
	}
	s, err := a.templates(f, args, rewind)
	if err != nil {
		return err
	}
	var parameter *search.Parameter
	if f.over.searchesParameter() {
		if parameter, err = f.parameter(&s.Trials[0], func(value string) (*scenario.Scenario, error) {
			rewind()
			return a.template(f, args, &scenario.Assignment{Key: f.over.key, Value: value})
		}); err != nil {
			return err
		}
	}
	if err := checkDataDir(f.dataDir, s); err != nil {
		return err
	}
	return a.search(ctx, f, s, parameter)
}

// search searches for the capacity of each trial in a scenario, and reports each result.
func (a *commandLine) search(ctx context.Context, f *capacityFlags, s *scenario.Scenario, parameter *search.Parameter) error {
	path, err := command.Self()
	if err != nil {
		return err
	}
	a.Warn(s.Warnings...)
	defer command.ReduceMemory()()
	d := a.DisplayFor(f.format)
	defer d.Clear()
	ctx, stop := d.Interruptible(ctx, func() { d.Note("stopping cleanly; press Ctrl-C again to stop at once") })
	defer stop()
	asked := record.CommandLineSettings{Exec: f.exec}
	if f.dataDir != "" {
		if asked.DataDir, err = filepath.Abs(f.dataDir); err != nil {
			return err
		}
	}
	asked.Store, asked.Version, _ = storeVersion(f.Store, f.exec) // template has already returned the error for an invalid value
	for _, one := range f.set {
		asked.Set = append(asked.Set, one.Redacted(load.Applications()))
	}
	o := search.Options{Objective: f.objective, TimeLimit: f.until, Width: f.width, MaxRate: f.maxRate, OverKey: f.over.key, Values: f.over.values, Parameter: parameter, SlowStartReason: a.slowStartReason, Display: d, Now: measure.Now}
	if f.isGiven("from") {
		o.InitialRate = &f.firstRate
	}
	if f.isGiven("warm-up") {
		o.WarmUp = &f.warmUp
	}
	ro := runner.Options{
		Scenario: s, Asked: asked, Out: f.out, Root: f.root, DataDir: f.dataDir, Lookup: a.Lookup, Self: path, Tool: command.Tool(), Notify: d.Note,
	}
	d.Follow(&ro)
	published, err := a.Publish(&ro, d.Note)
	if err != nil {
		return err
	}
	dir, found, runErr := search.Run(ctx, o, ro)
	published.End(d.Note)
	d.Clear()
	if found == nil {
		return runErr
	}
	if err := a.Report(f.format, report.Capacity(found, dir)); err != nil {
		return errors.Join(runErr, err)
	}
	err = searchError(found, runErr)
	if f.format == "text" && runErr == nil {
		a.suggestAfterSearch(f, dir, found, err)
	}
	return err
}

// suggestAfterSearch suggests a command to run after a search that returned err.
func (a *commandLine) suggestAfterSearch(f *capacityFlags, dir string, found *size.CapacityFindings, err error) {
	switch code := command.ExitCode(err); {
	case code == command.ExitUndecided && !slices.ContainsFunc(found.All, (*size.CapacityFinding).HasEvidence):
		a.SuggestNext("repeat the search on a quieter machine, or with the load generator on another machine")
	case code == command.ExitUndecided:
		a.SuggestNext("%s (searches for twice as long)", a.RepeatCommand("--until", text.FormatDuration(2*f.until)))
	case code != command.ExitSuccess || f.over.key != "":
		a.SuggestNext("quorumbench report %s --format html --out PAGE (draws every trial)", text.ShellQuote(dir))
	default:
		a.SuggestNext("quorumbench capacity share %s --rate R (estimates the share of the capacity that R operations per second use)", text.ShellQuote(dir))
	}
	a.SuggestMore(dir)
}

// slowStartReason returns the reason why a store is slow right after its start, or an empty string
// if no reason is known.
func (a *commandLine) slowStartReason(name string) string {
	st, err := a.Lookup(name)
	if err != nil {
		return ""
	}
	return st.Capabilities().SlowStartReason
}

// searchError returns the error that determines the exit code of a search, after its findings have
// been printed.
func searchError(found *size.CapacityFindings, err error) error {
	var left *trial.KeysLeftError
	switch {
	case errors.Is(err, context.Canceled) && errors.As(err, &left):
		return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; %w", left)}
	case errors.Is(err, context.Canceled):
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted")}
	case err != nil:
		return err
	case slices.ContainsFunc(found.All, (*size.CapacityFinding).HoldsNowhere):
		return &command.Exit{Code: command.ExitFailed}
	case slices.ContainsFunc(found.All, func(f *size.CapacityFinding) bool { return !f.Known() }):
		return &command.Exit{Code: command.ExitUndecided}
	}
	return nil
}
