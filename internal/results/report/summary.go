package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Summary writes one trial for a reader: what was done, throughput, times,
// errors, roles, the generator's cost and the verdict. dir is the run
// directory's path; empty for none.
func Summary(w io.Writer, t *record.Trial, dir string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s on %s, target %s of %s\n", analyze.Headline(t), analyze.Store(t), t.Target, readable.Plural(uint64(t.Members), "member"))
	if t.Failure != "" {
		fmt.Fprintf(&b, "%s\n", t.Failure)
	}
	list := [][]analyze.Fact{analyze.Conditions(t)}
	if analyze.Measured(t) {
		list = append(list, results(t))
	}
	if err := facts(&b, list...); err != nil {
		return err
	}
	if analyze.Measured(t) {
		if err := section(&b, analyze.TimesTable(t)); err != nil {
			return err
		}
		errorList(&b, t)
		if err := watched(&b, t); err != nil {
			return err
		}
		if err := section(&b, analyze.RolesTable(t)); err != nil {
			return err
		}
		if err := section(&b, analyze.MembersTable(t)); err != nil {
			return err
		}
		b.WriteString(indented(losses(t)))
		hashes(&b, t)
		events(&b, []record.Trial{*t})
		limited(&b, []record.Trial{*t})
		judged(&b, t)
	}
	if dir != "" {
		fmt.Fprintf(&b, "\nRun directory: %s\n", printable.Line(dir, printable.OfOutput))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// figure is a figure of the trial.
func figure(t *record.Trial, name string) record.Value {
	f := record.Registered(name)
	return f.Of(t)
}

// results are throughput, errors and what the load cost.
func results(t *record.Trial) []analyze.Fact {
	var all []analyze.Fact
	add := func(what, format string, args ...any) {
		all = append(all, analyze.Fact{What: what, Text: fmt.Sprintf(format, args...)})
	}
	add("throughput", "%s (%s completed in %s)", readable.PerSecond(t.PerSecond), readable.Plural(t.Completed, "operation"), readable.Seconds(t.Seconds))
	errors := "none"
	if t.Errors > 0 {
		errors = fmt.Sprintf("%s of %s due (%s)", readable.Count(t.Errors), readable.Count(t.Due), Value(figure(t, "error-share")))
		if t.FailedFrom != nil {
			errors += "; " + failedAbove(t)
		}
	}
	add("errors", "%s", errors)
	if t.Conflicts > 0 {
		add("conflicts", "%s", readable.Count(t.Conflicts))
	}
	if t.Misses > 0 {
		add("misses", "%s", readable.Count(t.Misses))
	}
	if each := figure(t, "keys-per-op"); each.Known {
		add("keys read", "%s (%.3g an operation)", Value(figure(t, "keys-read")), each.Number)
	}
	if t.Retries != nil {
		text := readable.Count(*t.Retries)
		if each := figure(t, "retries-per-op"); each.Known {
			text += fmt.Sprintf(" (%.3g a transaction)", each.Number)
		}
		add("retries", "%s", text)
	}
	gap := "below 1 ms"
	if t.LongestGap > 0 {
		gap = Value(figure(t, "gap"))
	}
	add("longest gap", "%s without any operation done", gap)
	cost := func(what string, cpuSeconds float64, perOp *float64, rss int64) {
		text := readable.Seconds(cpuSeconds) + " of processor time"
		if perOp != nil {
			text += ", " + readable.Duration(*perOp) + " an operation"
		}
		add(what, "%s, %s resident", text, readable.Bytes(uint64(max(rss, 0))))
	}
	cost("generator", t.CPUSeconds, t.CPUPerOp, t.MaxRSSBytes)
	if t.StoreCPUSeconds != nil && t.StoreMaxRSSBytes != nil {
		cost("store", *t.StoreCPUSeconds, t.StoreCPUPerOp, *t.StoreMaxRSSBytes)
	}
	return all
}

// failedAbove says from where on percentiles are failed operations'.
func failedAbove(t *record.Trial) string {
	if t.Operations == 0 {
		return "all percentiles failed"
	}
	return "percentiles above " + readable.Percentile(*t.FailedFrom) + " failed"
}

// errorList writes the errors by kind.
func errorList(b *bytes.Buffer, t *record.Trial) {
	for i, e := range analyze.ErrorKinds(t) {
		if i == 0 {
			b.WriteString("\nErrors\n")
		}
		line := fmt.Sprintf("  %s: %s", e.Kind, readable.Count(e.Count))
		if e.Slowest.Known {
			line += ", the slowest after " + Value(e.Slowest)
		}
		if e.Text != "" {
			line += "; the first: " + e.Text
		}
		b.WriteString(line + "\n")
	}
}

// judged writes the verdict, its reasons and the notes.
func judged(b *bytes.Buffer, t *record.Trial) {
	fmt.Fprintf(b, "\nVerdict: %s\n", t.Verdict.State)
	for i, r := range t.Verdict.Reasons {
		fmt.Fprintf(b, "%3d. %s\n", i+1, r)
	}
	list(b, "Notes", analyze.Notes(t))
}
