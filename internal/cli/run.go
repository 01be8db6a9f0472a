package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/upload"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// runFlags holds the flags of `run`.
type runFlags struct {
	inspect inspectFlags
	dataDir string
	out     string
	root    string
	resume  string // a run directory
	format  string
	strict  bool
	seed    uint64
	scale   float64
	verify  bool
	store   string // NAME or NAME@VERSION
	exec    string
	set     []scenario.Assignment
	until   scenario.RepeatRule
	metrics metrics
	upload  *upload.Destination
	agents  agents
	pods    pods
	isGiven func(flag string) bool
}

func (a *commandLine) runCommand() *cobra.Command {
	f := &runFlags{root: "runs", format: "text", seed: scenario.DefaultSeed, scale: 1}
	c := &cobra.Command{
		Use:   "run [FILE.yaml|NAME]",
		Short: "Start clusters, measure them and print a table",
		Long: `Start the clusters in a scenario file, measure them and print a table.

NAME is a built-in scenario; --list lists them all. Without FILE or NAME, the built-in
scenario "quick" runs: a cluster of three etcd members on this machine, in less than a
minute. FILE - means standard input. "quorumbench init" writes a first scenario file.`,
		Example: `  quorumbench run
  quorumbench run six-stores
  quorumbench run --print kubernetes > mine.yaml
  quorumbench run --validate mine.yaml --set nodes=500`,
		Args: command.ArgsBetween(0, 1, "one scenario file or name"),
	}
	r := command.NewFlags(c.Flags())
	f.inspect.register(r)
	r.Text("data-dir", &f.dataDir, "DIR", "folder for the members' data (default: in the run directory)")
	r.Text("out", &f.out, "DIR", "path of the run directory, which must be empty or absent")
	r.Text("runs-dir", &f.root, "DIR", "folder in which run directories are created, unless --out is given")
	r.Text("resume", &f.resume, "DIR", "continue the interrupted or killed run in this directory with its original options; completed trials are not repeated")
	r.Destination(&f.upload)
	r.Format(&f.format, &a.Wide, "text", "json")
	r.Toggle("strict", &f.strict, "also exit with status 1 if a verdict is suspect")
	r.Seed("seed", &f.seed, "seed for all random choices; overrides the seed in the file")
	r.Number("scale", &f.scale, "FACTOR", "multiply totals, clients and connections by this factor, for example 0.01; a key space whose size equals a total is multiplied, too; rates stay the same")
	r.Toggle("verify", &f.verify, "record every operation and verify the store's responses afterwards (sets the parameter \"verify\" in all trials)")
	r.Text("store", &f.store, "NAME[@VERSION]", "store to use, instead of the default store in the file")
	r.Text("exec", &f.exec, "PATH", "path of the server binary to start instead of the store's default server")
	command.Repeated(r, "set", &f.set, "KEY=VALUE", scenario.ParseAssignment,
		"set a parameter in all trials by its key in scenario files, for example clients=200, watch.streams=4 or settings.snapshot-count=5000")
	command.Value(r, "until-precision", &f.until.Precision, "SHARE", text.ParseShare, unlessZero(text.Share),
		"repeat the trials in the order A B B A until every 95 % confidence interval extends at most this far to either side, for example 2%; overrides the repeats in the file")
	command.Value(r, "at-most", &f.until.TimeLimit, "DURATION", scenario.ParseTimeLimit, unlessZero(text.FormatDuration),
		"with --until-precision: time limit for the run; no round starts that would end after this limit (default: 30m)")
	r.Set.Var(&f.metrics, "until-metric", "with --until-precision: metric that must be precise, for example p99 (default: ops and p90); can be repeated")
	r.Text("agent-certs", &f.agents.certs, "DIR", "for hosts reached via agent: folder with the certificates that \"quorumbench agent certs\" created")
	f.agents.registerSSH(r)
	f.pods.registerForRun(r)
	c.RunE = func(c *cobra.Command, args []string) error {
		f.isGiven = c.Flags().Changed
		return a.run(c.Context(), f, args)
	}
	return a.AddGateFlags(c)
}

func (a *commandLine) run(ctx context.Context, f *runFlags, args []string) error {
	if err := checkRunsDir(f.out, f.root, f.isGiven); err != nil {
		return err
	}
	switch err := f.inspect.check(args, f.format); {
	case err != nil:
		return err
	case f.inspect.list:
		return a.listScenarios()
	case f.inspect.print:
		return a.printScenario(args)
	case f.inspect.schema:
		return a.printSchema()
	}
	if err := f.pods.check(); err != nil {
		return err
	}
	read := a.loadNewRun
	if f.isGiven("resume") {
		read = a.loadResumedRun
	}
	t, err := read(f, args)
	if err != nil {
		return err
	}
	s := t.scenario
	if t.resume != nil {
		defer t.resume.Close()
	}
	if err := a.UseEnvironmentIn(s, nil); err != nil {
		return err
	}
	if err := a.checkUntil(f, s); err != nil {
		return err
	}
	if err := f.agents.check(s.Hosts); err != nil {
		return err
	}
	if err := f.pods.place(s); err != nil {
		return err
	}
	f.agents.hosts, f.agents.logf = s.Hosts, a.logf
	if err := checkDataDir(f.dataDir, s); err != nil {
		return err
	}
	a.Warn(s.Warnings...)
	o := runner.Options{Scenario: s, Resume: t.resume, Asked: t.asked, Out: f.out, Root: f.root, DataDir: t.asked.DataDir, Lookup: a.Lookup, Agent: f.agents.dial}
	if f.pods.enabledOn != "" {
		f.pods.options.Logf, o.Agent = a.logf, f.agents.inPods(&f.pods)
	}
	if f.inspect.dryRun || f.inspect.validate {
		return a.dryRun(o, f.inspect.dryRun)
	}
	var done *record.Run
	err = a.ExecuteRun(ctx, o, command.Rendering{Format: f.format, Strict: f.strict, Upload: f.upload,
		AfterResult: func(run *record.Run, dir string) error {
			done = run
			return a.reportFiles(run, dir, f.format == "json")
		}})
	err = f.pods.remove(err)
	for _, line := range f.agents.clocks() {
		a.PrintNote("%s", line)
	}
	if err == nil && f.format == "text" {
		a.suggestAfterRun(f, s, done)
	}
	return err
}

// suggestAfterRun suggests a command to run after a run.
func (a *commandLine) suggestAfterRun(f *runFlags, s *scenario.Scenario, run *record.Run) {
	switch suspect := run.Verdict() == verdict.Suspect; {
	case suspect && s.RepeatRule == nil && f.resume == "":
		a.SuggestNext("%s (repeats until the figures are precise)", a.RepeatCommand("--until-precision", "5%"))
	case suspect:
		a.SuggestNext("repeat the run on a quieter machine, or with the load generator on another machine")
	default:
		a.SuggestNext("quorumbench compare %s RUN (reports whether another run of the scenario is better or worse)", text.ShellQuote(run.Dir))
	}
	a.SuggestMore(run.Dir)
}

// checkDataDir returns a usage error for --data-dir if the scenario starts no members.
func checkDataDir(dir string, s *scenario.Scenario) error {
	if dir != "" && !slices.ContainsFunc(s.Trials, func(t scenario.Trial) bool { return t.Cluster.RunningCluster == nil }) {
		return command.Usage("--data-dir applies only to members that quorumbench starts, but all trials use running clusters; remove --data-dir, or name the data folder of a running cluster with --set data-dir=DIR")
	}
	return nil
}

// unlessZero returns a function that returns an empty string for the zero value, and calls show for
// all other values. Because of the empty string, help shows no default.
func unlessZero[T comparable](show func(T) string) func(T) string {
	return func(v T) string {
		var zero T
		if v == zero {
			return ""
		}
		return show(v)
	}
}

// options returns the changes to the scenario file that the flags request.
func (f *runFlags) options() (scenario.Options, error) {
	f.until.Metrics = f.metrics.names
	if f.verify {
		f.set = append(f.set, scenario.Assignment{Key: "verify", Value: "true"})
	}
	name, version, err := storeVersion(f.store, f.exec)
	o := scenario.Options{Store: name, Version: version, Exec: f.exec, Assignments: append(f.set, f.pods.set()...), RepeatRule: f.until}
	if err != nil || !f.isGiven("scale") {
		return o, err
	}
	if err := scenario.CheckScale(f.scale); err != nil {
		return o, command.Usage("--scale: %w", err)
	}
	if f.scale != 1 {
		o.Scale = f.scale
	}
	return o, nil
}

// checkUntil returns a usage error if flags for repeating are given without --until-precision, or
// if a metric cannot be compared. It warns if the time limit is too short for enough repeats.
func (a *commandLine) checkUntil(f *runFlags, s *scenario.Scenario) error {
	if s.RepeatRule == nil {
		for _, flag := range []string{"at-most", "until-metric"} {
			if f.isGiven(flag) {
				return command.Usage("--%s applies only if trials are repeated until they are precise; add --until-precision", flag)
			}
		}
		return nil
	}
	if _, err := compare.ParseMetrics(s.RepeatRule.Metrics); err != nil {
		return command.Usage("the metrics that must be precise: %w", err)
	}
	const fewest = stats.MinUntilPrecise
	if took, _ := s.EstimatedDuration(); took > s.RepeatRule.TimeLimit/fewest {
		a.Warn(fmt.Sprintf("at least %d repeats are needed for a precise result, but they take longer than the time limit of %s", fewest, text.FormatDuration(s.RepeatRule.TimeLimit)))
	}
	return nil
}

// checkRunsDir returns a usage error for invalid values of --out and --runs-dir. The function
// isGiven reports whether a flag was given.
func checkRunsDir(out, root string, isGiven func(flag string) bool) error {
	switch {
	case out != "" && isGiven("runs-dir"):
		return command.Usage("--out names the run directory itself, and --runs-dir names the folder in which a run directory is created; give only one of them")
	case root == "":
		return command.Usage("--runs-dir is empty; name a folder")
	}
	return nil
}

// storeVersion parses NAME or NAME@VERSION. exec is the value of --exec; storeVersion returns an
// error if both exec and a version are given.
func storeVersion(given, exec string) (name, version string, err error) {
	name, version, found := strings.Cut(given, "@")
	switch {
	case found && version == "":
		err = command.Usage("--store %s has no version after the @; write NAME or NAME@VERSION", given)
	case version != "" && exec != "":
		err = command.Usage("--store %s and --exec both select the server; omit the version or --exec", given)
	case given != "" && name == "":
		err = command.Usage("--store %s has no store before the @; write NAME or NAME@VERSION", given)
	}
	return name, version, err
}

// dryRun returns the errors that the run itself would return. It prints the plan if plan is true,
// and a summary otherwise. A missing server causes only a warning, because the plan is useful
// without the server.
func (a *commandLine) dryRun(o runner.Options, plan bool) error {
	if err := a.Gate.Begin(o.Scenario); err != nil {
		return err
	}
	if err := runner.FindServers(&o); err != nil {
		a.Warn(err.Error())
	}
	if plan {
		a.printDryRun(o.Scenario)
	} else {
		a.Printf("%s is valid: %s\n", o.Scenario.Name, describeExtent(o.Scenario))
	}
	return nil
}

// printDryRun prints the trials in their order, the number of repeats, and the duration.
func (a *commandLine) printDryRun(s *scenario.Scenario) {
	for _, line := range s.Lines() {
		a.Printf("%s\n", line)
	}
	if s.RepeatRule != nil {
		a.Printf("\nrepeated %s, alternately in this order and in reverse order\n", s.RepeatRule.Text())
	}
	a.Printf("\n%s\n", describeExtent(s))
}

// describeExtent describes a scenario in one line: the number of trials, the seed, and the
// estimated duration as far as it is known.
func describeExtent(s *scenario.Scenario) string {
	description := fmt.Sprintf("%s with seed %d", text.Plural(uint64(len(s.Trials)), "trial"), s.Seed)
	duration, known := s.EstimatedDuration()
	if duration == 0 && !known {
		return description
	}
	about, aRound := "", ""
	if !known {
		about = "more than "
	}
	if s.RepeatRule != nil {
		aRound = " per round"
	}
	return fmt.Sprintf("%s: %s%s of warm-up and measurement%s, plus the time to start clusters, preload, drain and check", description, about, duration.Round(time.Second), aRound)
}
