package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// reportFlags holds the flags of `report`.
type reportFlags struct {
	format string
	out    string
	dark   bool
	charts []string // selected kinds of charts; empty for the usual ones
	gate   command.Gate
}

func (a *commandLine) reportCommand() *cobra.Command {
	f := &reportFlags{format: "text"}
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Print recorded runs again, or write them as web pages, charts or other files",
		Example: `  quorumbench report runs/20261122T222014Z-quick
  quorumbench report runs/one runs/two --format html --out page
  quorumbench report runs/one --threshold 'p99<20ms' --format junit`,
		Long: `Print a recorded run again from its run directory. If several runs are given, their
trials are printed together, in one table or on one page with common charts. Trials that
have the same name in several runs are called "NAME of RUN". With --format json, each run
is printed as recorded.

Formats svg and png write charts into the folder --out, with an index.html that states the
question that each chart answers. --charts selects other charts; the index lists their
names. Format junit has one test case for each trial and --threshold. Format gobench is
the input of benchstat. Format trace shows phases, faults, spikes and events in Perfetto
(ui.perfetto.dev) or chrome://tracing. Format dbtester writes the same files as the
client of dbtester into the folder --out: per-second series, distributions, percentiles,
latency by cumulative key number, and a summary of all trials.`,
		Args: command.ArgsBetween(1, math.MaxInt, "RUN, a run directory"),
	}
	r := command.NewFlags(c.Flags())
	r.Format(&f.format, &a.Wide, "text", "json", "csv", "markdown", "html", "svg", "png", "junit", "gobench", "trace", "dbtester")
	r.Text("out", &f.out, "DIR", "write files into this folder, which must be empty or absent, instead of to standard output")
	command.Value(r, "charts", &f.charts, "NAME,...", web.ParseCharts, func(names []string) string { return strings.Join(names, ",") }, "with format svg or png: kinds of charts to write, or all (default: the usual ones)")
	r.Toggle("dark", &f.dark, "draw --format png with a dark background")
	f.gate.RegisterThreshold(r)
	c.RunE = func(c *cobra.Command, args []string) error { return a.reportInFull(c.Context(), f, args) }
	return c
}

// reportInFull writes a report. If it is interrupted, it first finishes the files, so that no
// folder contains an incomplete report.
func (a *commandLine) reportInFull(ctx context.Context, f *reportFlags, dirs []string) error {
	if f.out == "" {
		return a.report(f, dirs)
	}
	ctx, stop := command.Interruptible(ctx, func() {
		a.PrintNote("finishing the files; press Ctrl-C again to stop at once")
	})
	defer stop()
	if err := a.report(f, dirs); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; the files in %s are complete", f.out)}
	}
	return nil
}

func (a *commandLine) report(f *reportFlags, dirs []string) error {
	if err := f.checkFlags(len(dirs)); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(60) // long runs keep many rows in memory, and garbage collection is cheap here
	}
	runs, run, err := figures.OpenRuns(dirs)
	if err != nil {
		return err
	}
	trials := make([]record.Conditions, 0, len(run.Trials))
	for i := range run.Trials {
		trials = append(trials, run.Trials[i].Conditions)
	}
	if err := f.gate.CheckThresholds(trials); err != nil {
		return err
	}
	if err := a.write(f, runs, run, compare.EvaluateParts(run)); err != nil {
		return err
	}
	missed, err := a.CheckMissed(&f.gate, run)
	if err != nil {
		return err
	}
	if err := command.ExitForMissed(missed); err != nil || len(f.gate.Thresholds) == 0 {
		return err
	}
	if err := analyze.CheckAllRun(run); err != nil {
		return &command.Exit{Code: command.ExitUndecided, Cause: err}
	}
	return nil
}

// checkFlags returns a usage error for flags that contradict each other.
func (f *reportFlags) checkFlags(runs int) error {
	switch {
	case runs > 1 && (f.format == "gobench" || f.format == "dbtester"):
		return command.Usage("--format %s can describe only one run; use the command once per run", f.format)
	}
	switch f.format {
	case "dbtester", "svg", "png":
		if f.out == "" && f.format == "dbtester" {
			return command.Usage("--format dbtester writes a set of files; name a folder for them with --out")
		}
		if f.out == "" {
			return command.Usage("--format %s writes a file for each chart; name a folder for them with --out", f.format)
		}
	case "junit":
		if len(f.gate.Thresholds) == 0 {
			return command.Usage("--format junit has one test case per threshold; give a threshold, for example --threshold 'p99<20ms'")
		}
	}
	if len(f.charts) > 0 && f.format != "svg" && f.format != "png" {
		return command.Usage("--charts is only for --format svg and png; other formats have no separate charts, so remove --charts")
	}
	if f.dark && f.format != "png" {
		return command.Usage("--dark is only for --format png: other formats adapt to the reader's theme; remove --dark")
	}
	return nil
}

// write writes the report to standard output or into the folder that --out names. The parameter
// `run` contains the trials of all runs.
func (a *commandLine) write(f *reportFlags, runs []*record.Run, run *record.Run, comparisons []*compare.Comparison) error {
	if f.format == "dbtester" {
		return report.Dbtester(a.Stdout, run, f.out)
	}
	var parts []part
	switch f.format {
	case "html":
		parts = append(parts, part{name: "report.html", write: func(w io.Writer) error { return web.HTML(w, run, compare.AppendFirstRunComparisons(comparisons, runs)) }})
	case "svg", "png":
		var problems []string
		if parts, problems = f.chartParts(run, compare.AppendFirstRunComparisons(comparisons, runs)); len(parts) == 0 {
			return f.noCharts(run)
		}
		a.Warn(problems...)
	case "junit":
		parts = append(parts, junitPart(&f.gate, run))
	case "gobench":
		kept, leftOut := analyze.ComparableTrials(run)
		if len(kept) == 0 {
			return fmt.Errorf("no trial in %s has a valid result: %s", inFolders(run), strings.Join(leftOut, ", "))
		}
		parts = append(parts, part{name: "gobench.txt", write: func(w io.Writer) error { return report.GoBench(w, run, kept, leftOut) }})
	case "trace":
		parts = append(parts, part{name: "trace.json", write: func(w io.Writer) error { return report.Trace(w, run) }})
	case "json":
		finding := report.Run(run, comparisons, run.Dir)
		if len(runs) > 1 {
			finding = report.Runs(runs)
		}
		parts = append(parts, part{name: "report.json", write: func(w io.Writer) error { return report.JSON(w, finding) }})
	case "csv":
		parts = a.csvParts(run, comparisons, f.out != "")
	case "markdown":
		parts = append(parts, part{name: "report.md", write: func(w io.Writer) error { return report.Markdown(w, report.Run(run, comparisons, "")) }})
	default:
		parts = append(parts, a.textPart(report.Recorded(run, comparisons), f.out == ""))
	}
	if f.out == "" {
		for _, p := range parts {
			if err := p.write(a.Stdout); err != nil {
				return err
			}
		}
		if f.format == "text" {
			a.suggestPage(runs)
		}
		return nil
	}
	if err := report.CreateEmptyFolder(f.out); err != nil {
		return err
	}
	for _, p := range parts {
		path, err := p.writeTo(f.out)
		if err != nil {
			return err
		}
		a.Printf("%s\n", path)
	}
	return nil
}

// textPart returns the part for a report in the format text. The text has colours if it is printed
// to standard output and standard output is a terminal.
func (a *commandLine) textPart(finding report.Finding, standardOutput bool) part {
	return part{name: "report.txt", write: func(w io.Writer) error {
		if standardOutput {
			return a.Report("text", finding)
		}
		return report.Text(w, finding, a.Wide)
	}}
}

// suggestPage prints the command that writes a page of the runs.
func (a *commandLine) suggestPage(runs []*record.Run) {
	words := make([]string, 0, len(runs))
	for _, run := range runs {
		words = append(words, text.ShellQuote(run.Dir))
	}
	a.SuggestNext("quorumbench report %s --format html --out PAGE (draws charts)", strings.Join(words, " "))
}

// noCharts returns the error for a run without data for the selected charts.
func (f *reportFlags) noCharts(run *record.Run) error {
	if len(f.charts) > 0 {
		return fmt.Errorf("%s has no data for these charts: %s; write the usual charts without --charts, or all with --charts all", inFolders(run), strings.Join(f.charts, ", "))
	}
	return fmt.Errorf("cannot draw charts, because no measured second was recorded in %s", inFolders(run))
}

// inFolders returns the names of the run directories, for messages.
func inFolders(run *record.Run) string {
	if len(run.Parts) == 0 {
		return "the run in " + run.Dir
	}
	dirs := make([]string, 0, len(run.Parts))
	for _, p := range run.Parts {
		dirs = append(dirs, p.Dir)
	}
	return "the runs in " + strings.Join(dirs, ", ")
}

// writeTo writes the part as a file in a folder, and returns the path of the file.
func (p *part) writeTo(folder string) (path string, err error) {
	if p.binary {
		return report.WriteBinary(folder, p.name, p.write)
	}
	return report.WriteFile(folder, p.name, p.write)
}

// chartParts returns one file per selected chart of a run, an index of these files, and warnings
// about missing data. It returns no index if there are no charts.
func (f *reportFlags) chartParts(run *record.Run, comparisons []*compare.Comparison) (parts []part, problems []string) {
	files, problems := web.Charts(run, comparisons, f.charts...)
	for i := range files {
		parts = append(parts, newChartPart(&files[i], f.format, f.dark))
	}
	if len(parts) > 0 {
		parts = append(parts, part{name: "index.html", write: func(w io.Writer) error { return web.Index(w, run.Name, f.format, files) }})
	}
	return parts, problems
}

// newChartPart returns the part for a chart in the format svg or png.
func newChartPart(f *web.File, format string, dark bool) part {
	p := part{name: f.Name + "." + format, write: f.SVG}
	if format == "png" {
		p.write, p.binary = f.PNG(dark), true
	}
	return p
}

// junitPart returns the file junit.xml, which has the result for each threshold.
func junitPart(g *command.Gate, run *record.Run) part {
	return part{name: "junit.xml", write: func(w io.Writer) error {
		held, err := analyze.EvaluateThresholds(g.Thresholds, run)
		if err != nil {
			return err
		}
		return report.ThresholdsJUnit(w, run, held)
	}}
}

// part is one file of a report.
type part struct {
	name   string
	write  func(io.Writer) error
	binary bool // set if the file is not text
}

// csvParts returns the table of trials. If files is true, it also returns the tables of faults and
// calls, and one table for each comparison with a baseline in the same run.
func (a *commandLine) csvParts(run *record.Run, comparisons []*compare.Comparison, files bool) []part {
	all := scenario.Parameters(a.Catalog.Applications())
	trials := part{name: "trials.csv", write: func(w io.Writer) error { return report.CSV(w, report.Trials(run, all)) }}
	if !files {
		return []part{trials}
	}
	parts := []part{trials}
	for _, c := range comparisons {
		name := "baseline-within.csv"
		if i := slices.Index(run.Parts, c.Run); i >= 0 {
			name = fmt.Sprintf("baseline-within-%d-%s.csv", i+1, record.Slug(c.Run.Name))
		}
		parts = append(parts, part{name: name, write: func(w io.Writer) error { return report.CSV(w, report.Comparison(c)) }})
	}
	if rows := analyze.Rows(run); len(faults.FindEffects(rows)) > 0 {
		parts = append(parts, part{name: "faults.csv", write: func(w io.Writer) error { return report.CSV(w, report.Faults(run)) }})
	}
	if len(analyze.MeasuredTables(run, analyze.CallsTable)) > 0 {
		parts = append(parts, part{name: "calls.csv", write: func(w io.Writer) error { return report.CSV(w, report.Calls(run)) }})
	}
	return parts
}
