package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	from      float64
	most      float64 // highest rate
	mostValue float64 // highest value of the searched parameter
	trial     string
	exec      string
	dataDir   string
	out       string
	root      string
	format    string
	seed      uint64
	set       []scenario.Assignment
	over      over
	warmUp    time.Duration
	given     func(flag string) bool
}

func (a *commandLine) capacityCommand() *cobra.Command {
	f := &capacityFlags{until: 10 * time.Minute, warmUp: search.MostWarmUp, width: capacity.DefaultWidth, from: search.FirstRate, most: scenario.MaxRate, root: "runs", format: "text", seed: scenario.DefaultSeed}
	c := &cobra.Command{
		Use:   "capacity [FILE.yaml|NAME]",
		Short: "Search for the highest rate at which an objective holds",
		Long: `Search for the highest rate at which an objective holds, and report it as an interval.
The search runs short open-loop trials, one after the other on one cluster, until the
interval is 2% wide or the time is over.

The load is the trial of the scenario file or of the ready scenario NAME, or the trial
that --trial names; its rate and times are ignored. Without a file, the load is puts of
256 bytes. With --endpoints the search uses a running cluster; without it, the search
starts one.

` + overSentence + `.
If the search starts its clusters, each value of the first form has its own cluster, and
--until limits all of them together; in the second form each trial has its own cluster,
with its objects created before the load.

The exit code is 0 if there is an interval, 1 if the objective holds nowhere, and 6 if
the capacity is not known because the trials showed too little of the store.`,
		Example: `  quorumbench capacity --objective 'p99<20ms, errors<0.1%' --endpoints 10.0.0.1:2379,10.0.0.2:2379
  quorumbench capacity my-load.yaml --objective 'p99.9<100ms' --until 5m --format json
  quorumbench capacity --objective 'p99<20ms' --over value-size=128,1KiB,16KiB --until 15m
  quorumbench capacity kubernetes --objective 'p99<1s' --over nodes`,
		Args: command.Takes(0, 1, "one scenario file or name"),
	}
	r := command.NewFlags(c.Flags())
	command.Value(r, "objective", &f.objective, "METRIC<LIMIT,...", size.ParseObjective, func(o size.Objective) string { return o.Text },
		"objective to meet, as in 'p99<20ms, errors<0.1%': percentiles of response times and the share of errors")
	command.Value(r, "until", &f.until, "DURATION", scenario.ParseAtMost, text.FormatDuration, "start no trial that would end later than this after the first began")
	command.Value(r, "width", &f.width, "SHARE", text.ParseShare, text.Share, "width of the interval at which the search ends")
	r.Number("from", &f.from, "R", "first rate, or first value of the searched parameter, to try; default: the scenario's")
	r.Number("max-rate", &f.most, "R", "highest rate to try")
	r.Number("max-value", &f.mostValue, "V", "highest value of the searched parameter to try; default: its maximum")
	command.Value(r, "over", &f.over, "KEY[=VALUE,...]", parseOver, over.String, "search once for each value of a parameter of the load or cluster, as in value-size=128,1KiB,16KiB; store=NAME[@VERSION],NAME=PATH,... searches for each store; without values, search for the largest value of a parameter that an application's load grows with, as in nodes")
	r.Span("warm-up", &f.warmUp, "maximum time to warm up a new cluster with a closed loop before the first trial; 0 for no warm-up")
	r.Text("trial", &f.trial, "NAME", "trial of the file with the load, if the file has several")
	f.RegisterOptional(r)
	r.Text("exec", &f.exec, "PATH", "path of the server to start instead of the store's own")
	command.Repeated(r, "set", &f.set, "KEY=VALUE", scenario.ParseAssignment, "set a parameter of the load or cluster, instead of the file's, as in value-size=1KiB")
	r.Text("data-dir", &f.dataDir, "DIR", "folder for the members' data; default: in the run directory")
	r.Text("out", &f.out, "DIR", "run directory; it must be empty or absent")
	r.Text("runs-dir", &f.root, "DIR", "folder for new run directories, unless --out names one")
	r.Format(&f.format, &a.Wide, "text", "json")
	r.Seed("seed", &f.seed, "seed of everything random")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.given = c.Flags().Changed
		return a.capacity(c.Context(), f, args)
	}
	c.AddCommand(a.capacityShareCommand())
	return c
}

// check returns a usage error for flags that are invalid or contradict each other.
func (f *capacityFlags) check() error {
	switch {
	case len(f.objective.Parts) == 0:
		return command.Usage("--objective is missing; give one such as --objective 'p99<20ms, errors<0.1%%'")
	case f.out != "" && f.given("runs-dir"):
		return command.Usage("--out names the run directory and --runs-dir a folder to make it in; give one of them")
	case f.root == "":
		return command.Usage("--runs-dir is empty; name a folder")
	case f.over.searched() && f.given("max-rate"):
		return command.Usage("--max-rate bounds a rate, and --over %s searches that parameter; bound it with --max-value", f.over.key)
	case f.over.searched() && f.given("warm-up"):
		return command.Usage("--warm-up is by a closed loop, and an application's load is none; with --over %s drop it", f.over.key)
	case !f.over.searched() && f.given("max-value"):
		return command.Usage("--max-value bounds a parameter that is searched, and none is: %s", overLine())
	case !(f.most >= search.LeastRate) || f.most > scenario.MaxRate:
		return command.Usage("--max-rate must be from %d to %d, not %g", search.LeastRate, scenario.MaxRate, f.most)
	case f.over.searched(): // the scenario has the bounds of the parameter
	case !(f.from >= search.LeastRate) || f.from > f.most:
		return command.Usage("--from must be from %d to %g, the highest rate to try, not %g", search.LeastRate, f.most, f.from)
	case f.given("warm-up") && (f.warmUp < 0 || f.warmUp > f.until):
		return command.Usage("--warm-up must be from 0 to the %s that the search may take, not %s", f.until, f.warmUp)
	}
	for _, a := range f.set {
		of, _, _ := strings.Cut(a.Key, ".")
		switch {
		case slices.Contains(bySearch, of) && (!f.over.searched() || of != "warmup"):
			return command.Usage("--set %s: the search itself chooses %s; drop it", a.Shown(load.Applications()), of)
		case of == "arrival" && a.Value == scenario.Closed.String():
			return command.Usage("--set %s: a search is by open loops; drop it, or use run", a.Shown(load.Applications()))
		}
	}
	return f.over.check(f)
}

// template returns the scenario with the single trial that has the searched load. If value is not
// nil, it is set as the parameter of --over.
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
		return nil, err
	}
	o := scenario.Options{Store: name, Version: version, Exec: server, Set: set, Attach: attach}
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
	if err := a.UseEnvironmentIn(s, f.Plain()); err != nil {
		return nil, err
	}
	if s.Until = nil; f.given("seed") {
		s.Reseed(f.seed)
	}
	if err := keepTrial(s, f.trial); err != nil {
		return nil, err
	}
	return s, f.over.fits(&s.Trials[0])
}

// rereading reads standard input if it has the scenario, and returns a function to call before
// each further reading of the scenario.
func (a *commandLine) rereading(args []string) (rewind func(), err error) {
	if len(args) == 0 || args[0] != "-" {
		return func() {}, nil
	}
	text, err := io.ReadAll(a.Stdin)
	if err != nil {
		return nil, fmt.Errorf("cannot read the scenario from standard input: %w", err)
	}
	rewind = func() { a.Stdin = bytes.NewReader(text) }
	rewind()
	return rewind, nil
}

// templates returns a scenario with the trials of the templates for all values of --over.
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

// keepTrial drops all trials of a scenario except the named one; without a name, the scenario must
// have only one.
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
	slices.Sort(names) // the scenario's own order is random
	switch {
	case len(found) == 0 && name != "":
		return command.Usage("--trial: the scenario has no trial %q%s", name, command.Suggest(name, names, ""))
	case len(found) != 1:
		return command.Usage("the scenario has %s, and a capacity is that of one load; choose one with --trial, such as %s", text.Plural(uint64(len(names)), "trial"), names[0])
	case len(s.Hosts) > 0:
		return command.Usage("the scenario names hosts, and a search is conducted on this machine; take them out, or start the cluster there and give --endpoints")
	case len(found[0].Load.Faults) > 0 || found[0].Load.Verify:
		return command.Usage("the trial %s has faults or verifies its responses, and a capacity is that of a load without; use run for them", found[0].Name)
	}
	s.Trials = found
	return nil
}

func (a *commandLine) capacity(ctx context.Context, f *capacityFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	rewind, err := a.rereading(args)
	if err != nil {
		return err
	}
	s, err := a.templates(f, args, rewind)
	if err != nil {
		return err
	}
	var parameter *search.Parameter
	if f.over.searched() {
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

// search searches for the capacity of each trial of a scenario, and reports it.
func (a *commandLine) search(ctx context.Context, f *capacityFlags, s *scenario.Scenario, parameter *search.Parameter) error {
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
	say := d.Note
	if f.format == "json" {
		say = func(s string) { a.Remark("%s", s) }
	}
	defer d.Clear()
	ctx, stop := command.Interruptible(ctx, func() { d.Note("stopping; press Ctrl-C again to stop at once") })
	defer stop()
	asked := record.Asked{Exec: f.exec}
	if f.dataDir != "" {
		if asked.DataDir, err = filepath.Abs(f.dataDir); err != nil {
			return err
		}
	}
	asked.Store, asked.Version, _ = storeVersion(f.Store, f.exec) // template returned the error of an invalid value
	for _, one := range f.set {
		asked.Set = append(asked.Set, one.Shown(load.Applications()))
	}
	o := search.Options{Objective: f.objective, Until: f.until, Width: f.width, Most: f.most, Over: f.over.key, Values: f.over.values, Parameter: parameter, SlowAtFirst: a.slowAtFirst, Display: d, Now: measure.Now}
	if f.given("from") {
		o.From = &f.from
	}
	if f.given("warm-up") {
		o.WarmUp = &f.warmUp
	}
	dir, found, runErr := search.Run(ctx, o, runner.Options{
		Scenario: s, Asked: asked, Out: f.out, Root: f.root, DataDir: f.dataDir, Lookup: a.Lookup, Self: path, Tool: command.Tool(), Say: say,
	})
	d.Clear()
	if found == nil {
		return runErr
	}
	if err := a.Report(f.format, report.Capacity(found, dir)); err != nil {
		return errors.Join(runErr, err)
	}
	err = searched(found, runErr)
	if f.format == "text" && runErr == nil {
		a.nextOfSearch(f, dir, found, err)
	}
	return err
}

// nextOfSearch prints what to do after a search that ended with err.
func (a *commandLine) nextOfSearch(f *capacityFlags, dir string, found *size.CapacityFindings, err error) {
	switch code := command.ExitCode(err); {
	case code == command.ExitNotKnown && !slices.ContainsFunc(found.All, (*size.CapacityFinding).HasEvidence):
		a.Next("repeat it on a quieter machine, or with the load generator on another machine")
	case code == command.ExitNotKnown:
		a.Next("%s (searches twice as long)", a.Again("--until", text.FormatDuration(2*f.until)))
	case code != command.ExitDone || f.over.key != "":
		a.Next("quorumbench report %s --format html --out PAGE (draws every trial)", command.Quoted(dir))
	default:
		a.Next("quorumbench capacity share %s --rate R (how much of the capacity R operations per second use)", command.Quoted(dir))
	}
}

// slowAtFirst returns why a store is slower after its start; empty if that is not known.
func (a *commandLine) slowAtFirst(name string) string {
	st, err := a.Lookup(name)
	if err != nil {
		return ""
	}
	return st.Capabilities().SlowAtFirst
}

// searched returns the error of a search after its findings were printed, for the exit code.
func searched(found *size.CapacityFindings, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted")}
	case err != nil:
		return err
	case slices.ContainsFunc(found.All, (*size.CapacityFinding).None):
		return &command.Exit{Code: command.ExitFailed}
	case slices.ContainsFunc(found.All, func(f *size.CapacityFinding) bool { return !f.Known() }):
		return &command.Exit{Code: command.ExitNotKnown}
	}
	return nil
}
