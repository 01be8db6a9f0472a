package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web"
	"github.com/quorumbench/quorumbench/internal/text"
)

// compareFlags holds the flags of `compare`.
type compareFlags struct {
	format  string
	metrics metrics
	margin  float64
	failOn  string
}

func (a *commandLine) compareCommand() *cobra.Command {
	f := &compareFlags{format: "text", metrics: metrics{names: compare.MainMetrics()}, margin: stats.Margin}
	c := &cobra.Command{
		Use:   "compare [BASELINE] RUN...",
		Short: "Report whether recorded runs are better or worse than a baseline",
		Example: `  quorumbench compare runs/before runs/after
  quorumbench compare runs/regression --metric ops --metric p99.9 --fail-on worse`,
		Long: `Compare recorded runs with a baseline. For each trial and metric, report whether the
metric is better, worse or unchanged, or how many more repeats are needed to decide.

BASELINE and each RUN are run directories of the same scenario. A single RUN is
compared with the baselines that its scenario defines. Repeats that are invalid, were
interrupted or lost a worker are left out, and the report names them. The confidence
intervals include the amounts by which disturbances may have changed a repeat. All changes
are judged together, with a correction for the number of comparisons. Format html writes
a page with the changes and all charts of the runs.`,
		Args: command.ArgsBetween(1, math.MaxInt, "a RUN whose scenario has baselines, or a BASELINE and a RUN (run directories)"),
	}
	r := command.NewFlags(c.Flags())
	r.Format(&f.format, &a.Wide, "text", "markdown", "html", "json", "csv", "junit")
	r.Set.Var(&f.metrics, "metric", "metric to compare, for example p99.9 or errors; can be repeated")
	registerMargin(r, &f.margin)
	r.Choice("fail-on", &f.failOn, "exit with status 1 if a metric became worse, or with 6 if a trial could not be judged", "worse")
	c.RunE = func(_ *cobra.Command, args []string) error { return a.compare(f, args) }
	return c
}

func (a *commandLine) compare(f *compareFlags, dirs []string) error {
	by, err := compare.ParseMetrics(f.metrics.names)
	if err != nil {
		return command.Usage("--metric: %w", err)
	}
	runs, all, err := comparisons(dirs, by)
	if err != nil {
		return err
	}
	against := dirs[0]
	if len(dirs) == 1 {
		against = "its baseline"
	}
	compare.Judge(f.margin, all...)
	if err := a.writeComparisons(f, runs, all); err != nil {
		return err
	}
	if f.format == "text" {
		defer a.suggestPage(runs)
	}
	if f.failOn == "" {
		return nil
	}
	if worse := compare.Worsened(all); len(worse) > 0 {
		return fmt.Errorf("worse than %s: %s", against, strings.Join(worse, ", "))
	}
	if err := compare.CheckJudgeable(all); err != nil {
		return &command.Exit{Code: command.ExitUndecided, Cause: err}
	}
	return nil
}

// comparisons opens runs and compares them with the first one. If there is only one run, it
// compares the run with its own baselines.
func comparisons(dirs []string, by compare.MetricSet) (runs []*record.Run, all []*compare.Comparison, err error) {
	for _, dir := range dirs {
		run, err := record.Open(dir)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, run)
	}
	if len(runs) == 1 {
		c := compare.BaselinesWithMetrics(runs[0], by)
		if c == nil {
			return nil, nil, fmt.Errorf("the scenario of %s defines no baselines; name a baseline run first: quorumbench compare BASELINE RUN", dirs[0])
		}
		return runs, []*compare.Comparison{c}, nil
	}
	for i, run := range runs[1:] {
		c, err := compare.Compare(run, runs[0], by)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot compare %s with %s: %w", dirs[i+1], dirs[0], err)
		}
		all = append(all, c)
	}
	return runs, all, nil
}

// writeComparisons writes the comparisons in the format that --format names. The HTML page also has
// the figures and charts of all runs.
func (a *commandLine) writeComparisons(f *compareFlags, runs []*record.Run, all []*compare.Comparison) error {
	switch f.format {
	case "junit":
		return report.ComparisonsJUnit(a.Stdout, all, f.failOn == "worse")
	case "html":
		for _, run := range runs {
			figures.ReadTrialFiles(run, run.Dir)
		}
		joined, err := record.Join(runs)
		if err != nil {
			return err
		}
		return web.HTML(a.Stdout, joined, all)
	}
	return a.Report(f.format, report.Comparisons(all...))
}

// metrics is a flag that may be given several times. The first value replaces the defaults.
type metrics struct {
	names      []string
	isReplaced bool
}

// Set implements pflag.Value.
func (m *metrics) Set(s string) error {
	f, err := figures.ParseMetric(s)
	if err != nil {
		return err
	}
	if !m.isReplaced {
		m.isReplaced, m.names = true, nil
	}
	m.names = append(m.names, f.Name)
	return nil
}

// String implements pflag.Value.
func (m *metrics) String() string { return strings.Join(m.names, " ") }

// Type implements pflag.Value.
func (m *metrics) Type() string { return "METRIC" }

// registerMargin registers the flag --margin, whose value is a fraction between 0 and 1, both
// excluded.
func registerMargin(r command.Flags, target *float64) {
	command.Value(r, "margin", target, "SHARE", parseMargin, text.FormatShare, "treat changes within this margin as no change, for example 3%")
}

func parseMargin(s string) (float64, error) {
	x, err := text.ParseShare(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a margin; write a percentage above 0 and below 100, such as 3%%", s)
	}
	return x, nil
}
