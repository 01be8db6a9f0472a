package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web"
	"github.com/quorumbench/quorumbench/internal/text"
)

// historyFlags holds the flags of `history`.
type historyFlags struct {
	format  string
	runs    string
	metrics []string
	trials  []string
	order   string
	margin  float64
	since   time.Time
	last    int
	failOn  string
	out     string
}

func (a *commandLine) historyCommand() *cobra.Command {
	f := &historyFlags{format: "text", order: string(history.ByDate), margin: stats.Margin}
	c := &cobra.Command{
		Use:   "history [RUN|FILE]...",
		Short: "Report when metrics changed in a series of recorded runs",
		Example: `  quorumbench history --runs runs
  quorumbench history --runs runs --metric ops --since 2026-11-01
  quorumbench history --runs runs --last 1 --fail-on worse
  quorumbench history artifacts/EtcdAPI_benchmark_put_*.json`,
		Long: `Report when the metrics of each trial changed over many runs, and by how much, with a
95 % interval and a confidence. A RUN is a run directory. A FILE is
perfdash JSON or output of go test -bench. The time of a FILE is in its name or in a line
"commit-time: TIME"; without it, files stay in the order given.

A change needs several runs on both sides: single outliers are no change, and a slow
change is reported as one drift. Suspect runs, and runs with a wide interval, count less;
invalid ones do not count. A reported change keeps its position in the series when runs are
added. Format html writes a page with a chart and a table for each series.`,
		Args: command.ArgsBetween(0, math.MaxInt, "RUN (a run directory), FILE, or --runs DIR"),
	}
	r := command.NewFlags(c.Flags())
	r.Text("runs", &f.runs, "DIR", "read all run directories in this folder and its subfolders")
	r.Format(&f.format, &a.Wide, "text", "markdown", "html", "svg", "png", "json", "csv")
	r.Text("out", &f.out, "DIR", "with format svg or png: write a chart for each series into this folder, which must be empty or absent")
	command.Repeated(r, "metric", &f.metrics, "METRIC", parseName, "metric to follow, for example p99.9 or ns/op (default for runs: ops, p50 and p99; for files: all metrics)")
	command.Repeated(r, "trial", &f.trials, "NAME", parseName, "trial to follow (default: all trials)")
	r.Choice("by", &f.order, "property by which the runs are sorted", string(history.ByDate), string(history.ByVersion), string(history.ByLabel))
	registerMargin(r, &f.margin)
	command.Value(r, "since", &f.since, "DATE", parseDate, showDate, "report only changes since this day; earlier runs still serve as the baseline")
	r.Int("last", &f.last, "report only changes confirmed by one of the last N runs")
	r.Choice("fail-on", &f.failOn, "exit with status 1 if a series became worse, or with 6 if a series could not be judged", "worse")
	c.RunE = func(_ *cobra.Command, args []string) error { return a.history(f, args) }
	return c
}

// parseName accepts any text that is not empty.
func parseName(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", fmt.Errorf("the value is empty; give a name")
	}
	return strings.TrimSpace(s), nil
}

// parseDate parses a day in UTC.
func parseDate(s string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return day, fmt.Errorf("%q is not a date; write a date such as 2026-11-01", s)
	}
	return day, nil
}

func showDate(day time.Time) string {
	if day.IsZero() {
		return ""
	}
	return day.Format(time.DateOnly)
}

func (a *commandLine) history(f *historyFlags, args []string) error {
	if f.last < 0 {
		return command.Usage("--last must be 1 or more, not %d", f.last)
	}
	if charts := f.format == "svg" || f.format == "png"; charts != (f.out != "") {
		if charts {
			return command.Usage("--format %s writes a file for each series; name a folder for them with --out", f.format)
		}
		return command.Usage("--out is only for --format svg and png; redirect the output instead")
	}
	shown, err := f.figures(len(args) == 0)
	if err != nil {
		return err
	}
	sources, err := a.historySources(f, args, shown)
	if err != nil {
		return err
	}
	h, err := history.Build(sources, history.Options{Order: history.Order(f.order), Trials: f.trials, Metrics: f.metrics, Margin: f.margin})
	switch {
	case err != nil && len(f.trials)+len(f.metrics) > 0:
		return command.Usage("%w", err)
	case err != nil:
		return err
	}
	if !f.since.IsZero() && h.First.IsZero() {
		return command.Usage("--since needs the time of every file; add the time to the name of each file, as in bench-2026-11-29.txt, or remove --since")
	}
	h.Select(f.since, f.last)
	if err := a.writeHistory(f, h); err != nil {
		return err
	}
	if f.format == "text" {
		a.suggest(h)
	}
	if f.failOn == "" {
		return nil
	}
	if worse := h.Worsened(); len(worse) > 0 {
		return fmt.Errorf("worse: %s", strings.Join(worse, ", "))
	}
	if err := h.Unjudged(); err != nil {
		return &command.Exit{Code: command.ExitUndecided, Cause: err}
	}
	return nil
}

// writeHistory writes the series in the format that --format names.
func (a *commandLine) writeHistory(f *historyFlags, h *history.History) error {
	switch f.format {
	case "html":
		return web.HistoryHTML(a.Stdout, h)
	case "svg", "png":
		if err := report.CreateEmptyFolder(f.out); err != nil {
			return err
		}
		files := web.HistoryCharts(h)
		for i := range files {
			p := newChartPart(&files[i], f.format, false)
			path, err := p.writeTo(f.out)
			if err != nil {
				return err
			}
			a.Printf("%s\n", path)
		}
		return nil
	}
	return a.Report(f.format, report.History(h))
}

// suggest prints a command for the first series that changed. The command compares the runs before
// and after the last change of this series.
func (a *commandLine) suggest(h *history.History) {
	for i := range h.Series {
		s := &h.Series[i]
		if len(s.Changes) == 0 {
			continue
		}
		c := &s.Changes[len(s.Changes)-1]
		before, after := &s.Points[max(c.First-1, 0)], &s.Points[c.Last]
		if isFolder(before.Source) && isFolder(after.Source) {
			a.SuggestNext("quorumbench compare %s %s (compares the runs before and after the change)", text.ShellQuote(before.Source), text.ShellQuote(after.Source))
		}
		return
	}
}

// figures returns the figures to read from run directories. A metric name that is not such a figure
// may name a metric in a file. Such a name is skipped or, if onlyRuns is true, refused with an
// error.
func (f *historyFlags) figures(onlyRuns bool) (all []figures.Figure, err error) {
	names := f.metrics
	if len(names) == 0 {
		names = compare.MainMetrics()
	}
	for i, name := range names {
		figure, err := figures.ParseMetric(name)
		if err != nil && onlyRuns {
			return nil, command.Usage("--metric: %w", err)
		}
		if err != nil {
			continue // history.Build returns an error if no file contains the metric
		}
		by, err := compare.ParseMetrics([]string{figure.Name})
		if err != nil {
			return nil, command.Usage("--metric: %w", err)
		}
		if len(f.metrics) > 0 {
			f.metrics[i] = figure.Name
		}
		all = append(all, by.Figures[0].Figure)
	}
	return all, nil
}

// historySources reads the run directories and files that the command line names. If a run
// directory below --runs cannot be read, historySources prints a warning.
func (a *commandLine) historySources(f *historyFlags, args []string, shown []figures.Figure) (sources []*history.Source, err error) {
	var dirs []string
	if f.runs != "" {
		var skipped []record.UnreadableFolder
		if dirs, skipped, err = record.FindRuns(f.runs); err != nil {
			return nil, err
		}
		for _, folder := range skipped {
			a.Warn(fmt.Sprintf("the runs in the folder %s were left out, because the folder cannot be read: %v", folder.Path, folder.Err))
		}
		if len(dirs) == 0 {
			return nil, fmt.Errorf("--runs %s contains no run directory; name the folder in which quorumbench run creates run directories (its flag --runs-dir)", f.runs)
		}
	}
	if len(dirs)+len(args) == 0 {
		return nil, command.Usage("history needs run directories or files; name them, or name the folder that contains the runs with --runs DIR")
	}
	for _, dir := range dirs {
		s, err := history.ReadRun(dir, shown)
		if err != nil {
			a.Warn(fmt.Sprintf("a run directory was left out: %v", err))
			continue
		}
		sources = append(sources, s)
	}
	for _, path := range args {
		if slices.ContainsFunc(sources, func(s *history.Source) bool { return filepath.Clean(s.Path) == filepath.Clean(path) }) {
			continue
		}
		read := history.ReadFile
		if isFolder(path) {
			read = func(path string) (*history.Source, error) { return history.ReadRun(path, shown) }
		}
		s, err := read(path)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("no run directory in %s can be read", f.runs)
	}
	return sources, nil
}

// isFolder reports whether a path is an existing folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
