package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web"
)

// reportFlags are the flags of `report`.
type reportFlags struct {
	format string
	out    string
	dark   bool
	gate   command.Gate
}

func (a *app) reportCommand() *cobra.Command {
	f := &reportFlags{format: "text"}
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Print a recorded run again, compare it, or write it as files",
		Long: `Print a recorded run again, from its run directory alone.

With --baseline it is compared, trial by trial, with another run of the same
scenario. Formats svg and png write its charts into the folder --out, junit has a
test case for each --threshold and trial, and gobench is what benchstat reads.
Format dbtester writes the client's side of dbtester's outputs into
the folder --out: per-second series, distributions, percentiles, latency by
cumulative key number, and the summary of all trials side by side.`,
		Args: command.Takes(1, 1, "RUN, a run directory"),
	}
	r := command.NewFlags(c.Flags())
	r.Choice("format", &f.format, "of the output", "text", "json", "csv", "markdown", "html", "svg", "png", "junit", "gobench", "dbtester")
	r.Text("out", &f.out, "DIR", "write files into this folder, which must be empty or not there yet, instead of standard output")
	r.Toggle("dark", &f.dark, "draw the pictures of --format png for a dark page")
	f.gate.Judge(r, true)
	c.RunE = func(c *cobra.Command, args []string) error { return a.reportWhole(c.Context(), f, args[0]) }
	return c
}

// reportWhole writes a report. One that goes to files is written to its end when
// it is interrupted, so that no folder holds half of one.
func (a *app) reportWhole(ctx context.Context, f *reportFlags, dir string) error {
	if f.out == "" {
		return a.report(f, dir)
	}
	ctx, stop := command.Interruptible(ctx, func() {
		a.Remark("finishing the files; press Ctrl-C again to stop at once")
	})
	defer stop()
	if err := a.report(f, dir); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; the files in %s are whole", f.out)}
	}
	return nil
}

func (a *app) report(f *reportFlags, dir string) error {
	if err := f.refuse(); err != nil {
		return err
	}
	run, err := record.Open(dir)
	if err != nil {
		return err
	}
	run.ReadEvents(dir)
	trials := make([]record.Conditions, 0, len(run.Trials))
	for i := range run.Trials {
		trials = append(trials, run.Trials[i].Conditions)
	}
	if err := f.gate.CheckThresholds(trials); err != nil {
		return err
	}
	comparisons, err := f.gate.Comparisons(run)
	if err != nil {
		return err
	}
	if err := a.write(f, run, dir, comparisons); err != nil {
		return err
	}
	missed, err := a.Missed(&f.gate, run, dir)
	switch {
	case err != nil:
		return err
	case len(missed) > 0:
		return &command.Exit{Code: command.ExitFailed}
	case len(f.gate.Thresholds) > 0:
		return analyze.NotRun(run)
	}
	return nil
}

// refuse says what does not go together.
func (f *reportFlags) refuse() error {
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
			return command.Usage("--format junit has a test case for each threshold; give one with --threshold, as in 'p99<20ms'")
		}
	}
	if f.dark && f.format != "png" {
		return command.Usage("--dark is for --format png alone: the other pictures follow the theme of who looks at them")
	}
	compares := !slices.Contains([]string{"dbtester", "svg", "png", "junit", "gobench"}, f.format)
	if !compares && f.gate.Baseline != "" {
		return command.Usage("--format %s compares nothing; drop --baseline, or choose another format", f.format)
	}
	return nil
}

// write writes the run to standard output or into the folder that --out names.
func (a *app) write(f *reportFlags, run *record.Run, dir string, comparisons []*analyze.Comparison) error {
	if f.format == "dbtester" {
		return report.Dbtester(a.Stdout, run, dir, f.out)
	}
	var parts []part
	switch f.format {
	case "html":
		parts = append(parts, part{name: "report.html", write: func(w io.Writer) error { return web.HTML(w, run, dir, comparisons) }})
	case "svg", "png":
		var problems []string
		if parts, problems = f.chartParts(run, dir); len(parts) == 0 {
			return fmt.Errorf("no second of the run in %s is recorded, so that it has no charts", dir)
		}
		a.Warn(problems...)
	case "junit":
		parts = append(parts, junitPart(&f.gate, run, dir))
	case "gobench":
		kept, leftOut := analyze.Counting(run)
		if len(kept) == 0 {
			return fmt.Errorf("no trial of the run in %s has a result that counts: %s", dir, strings.Join(leftOut, ", "))
		}
		parts = append(parts, part{name: "gobench.txt", write: func(w io.Writer) error { return report.GoBench(w, run, kept, leftOut) }})
	case "json":
		parts = append(parts, part{name: "report.json", write: func(w io.Writer) error { return report.RunJSON(w, run, comparisons) }})
	case "csv":
		parts = csvParts(run, comparisons, f.out != "")
	case "markdown":
		parts = append(parts, part{name: "report.md", write: func(w io.Writer) error {
			return withComparisons(w, report.Markdown(w, run), comparisons, report.CompareMarkdown)
		}})
	default:
		parts = append(parts, part{name: "report.txt", write: func(w io.Writer) error {
			return withComparisons(w, recorded(w, run, dir), comparisons, report.Compare)
		}})
	}
	if f.out == "" {
		for _, p := range parts {
			if err := p.write(a.Stdout); err != nil {
				return err
			}
		}
		return nil
	}
	if err := report.EmptyFolder(f.out); err != nil {
		return err
	}
	for _, p := range parts {
		path, err := p.into(f.out)
		if err != nil {
			return err
		}
		a.Printf("%s\n", path)
	}
	return nil
}

// into writes the part as a file of a folder.
func (p *part) into(folder string) (path string, err error) {
	if p.binary {
		return report.WriteBinary(folder, p.name, p.write)
	}
	return report.WriteFile(folder, p.name, p.write)
}

// chartParts are a run's charts, a file each, and what is missing in them.
func (f *reportFlags) chartParts(run *record.Run, dir string) (parts []part, problems []string) {
	files, problems := web.Charts(run, dir)
	for i := range files {
		p := part{name: files[i].Name + "." + f.format, write: files[i].SVG}
		if f.format == "png" {
			p.write, p.binary = files[i].PNG(f.dark), true
		}
		parts = append(parts, p)
	}
	return parts, problems
}

// junitPart is how the run stands to the thresholds.
func junitPart(g *command.Gate, run *record.Run, dir string) part {
	return part{name: "junit.xml", write: func(w io.Writer) error {
		held, err := analyze.HoldRun(g.Thresholds, run, dir)
		if err != nil {
			return err
		}
		return report.ThresholdsJUnit(w, run, held)
	}}
}

// part is a file of a report.
type part struct {
	name   string
	write  func(io.Writer) error
	binary bool // no text
}

// csvParts are the trials and the comparisons, each a table of its own; where
// all must go to one place, it is the comparison with --baseline if there is
// one.
func csvParts(run *record.Run, comparisons []*analyze.Comparison, files bool) []part {
	trials := part{name: "trials.csv", write: func(w io.Writer) error { return report.CSV(w, run) }}
	var compared []part
	for _, c := range comparisons {
		name := "baseline.csv"
		if c.Run == c.Base {
			name = "baseline-within.csv"
		}
		compared = append(compared, part{name: name, write: func(w io.Writer) error { return report.CompareCSV(w, c) }})
	}
	if files {
		return append([]part{trials}, compared...)
	}
	for _, p := range compared {
		if p.name == "baseline.csv" {
			return []part{p}
		}
	}
	return []part{trials}
}

// recorded prints a run as the command that made it did.
func recorded(w io.Writer, run *record.Run, dir string) error {
	if run.Scenario == "" && len(run.Trials) == 1 { // flags asked for one trial
		if err := report.Summary(w, &run.Trials[0], dir); err != nil {
			return err
		}
		for _, p := range run.Problems {
			if _, err := fmt.Fprintf(w, "%s\n", p); err != nil {
				return err
			}
		}
		return nil
	}
	return report.Text(w, run, dir)
}

func withComparisons(w io.Writer, err error, all []*analyze.Comparison, write func(io.Writer, *analyze.Comparison) error) error {
	errs := []error{err}
	for _, c := range all {
		errs = append(errs, write(w, c))
	}
	return errors.Join(errs...)
}
