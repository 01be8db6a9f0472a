package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// What other renderers say in the words of this one.

// Sheet is a table as text.
type Sheet struct {
	Heading string
	Columns []analyze.Column
	Rows    [][]string
	Notes   []string // lines below
}

// SheetOf is a table of findings as text.
func SheetOf(t *analyze.Table) Sheet {
	g := gridOf(t)
	s := Sheet{Heading: heading(t), Columns: t.Columns, Rows: g.rows}
	for line := range strings.Lines(g.note) {
		s.Notes = append(s.Notes, strings.TrimSuffix(line, "\n"))
	}
	return s
}

// ComparisonSheets are a comparison as text: the two sides, and the table, with
// what is to be said of either below it.
func ComparisonSheets(c *analyze.Comparison) []Sheet {
	both := Sheet{Heading: comparisonHead(c)}
	if len(c.Pairs) == 0 {
		both.Notes = append([]string{"No trial has figures on both sides."}, leftOut(c)...)
		return []Sheet{both}
	}
	g := sides(c)
	both.Columns, both.Rows, both.Notes = g.columns, g.rows, c.Differences
	t := c.Table()
	table := SheetOf(&t)
	table.Heading = ""
	table.Notes = append(table.Notes, compareNotes(c)...)
	return []Sheet{both, table}
}

// Progress says how far a run came.
func Progress(run *record.Run) string { return progress(run) }

// Results are a trial's throughput, errors and what the load cost.
func Results(t *record.Trial) []analyze.Fact { return results(t) }

// Certain is a sentence, with a space before it, that says how sure a row's
// throughput and p99 are; empty where nobody knows.
func Certain(r *analyze.Row) string {
	bounds := func(name string) (c analyze.Certainty, text string) {
		f := record.Registered(name)
		c, ok := analyze.CertaintyOf(r, &f)
		if ok {
			text = Value(c.Low) + " to " + Value(c.High)
		}
		return c, text
	}
	c, throughput := bounds("ops")
	p99, tail := bounds("p99")
	if tail != "" && p99.Basis == c.Basis {
		throughput += ", of the p99 " + tail
	}
	switch {
	case c.Short:
		return " The run is too short for an interval: what varied in it varied too slowly."
	case c.Basis == analyze.OverRepeats:
		text := fmt.Sprintf(" The 95 %% interval of the mean over %d repeats is %s.", c.Repeats, throughput)
		if r.Dependent {
			text += " They ran on one cluster and share its state: other clusters may differ by more."
		}
		return text
	case c.Basis == analyze.RangeOfRepeats:
		return fmt.Sprintf(" The range of the %d repeats, which is no interval, is %s.", c.Repeats, throughput)
	case c.Basis == analyze.WithinRun:
		return fmt.Sprintf(" Within this run only, the 95 %% interval of the throughput is %s: its %d seconds are worth %.0f independent ones.", throughput, c.Seconds, c.Effective)
	}
	return ""
}

// FailedAbove says from where on a trial's percentiles are failed operations'.
func FailedAbove(t *record.Trial) string { return failedAbove(t) }

// EventLines say what happened in a trial's window: everything in one line, and
// one each for the longest gap and the slowest second.
func EventLines(h *analyze.WindowEvents) []string { return eventLines(h) }

// EventText is an event, or several of one kind and member, in words, without a
// time.
func EventText(e *analyze.Events) string {
	if e.Longest.Line == "" {
		return analyze.Briefly(e.Longest)
	}
	words := e.Longest.Member + " " + e.Kind.Says()
	if e.Times > 1 {
		words += " " + text.Count(e.Times) + " times"
	}
	if took := took(e, false); took != "" {
		words += " (" + took + ")"
	}
	return words
}

// Losses are a line for each member that lost connections.
func Losses(t *record.Trial) []string { return losses(t) }

// ErrorLines are a line for each kind of error.
func ErrorLines(t *record.Trial) (lines []string) {
	for line := range strings.Lines(errorLines(t)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// Watched is what a trial's watchers got; nil without any.
func Watched(t *record.Trial) []analyze.Fact {
	if t.Watch == nil || t.Load.Watch == nil {
		return nil
	}
	return []analyze.Fact{{What: "watchers", Text: watchers(t.Load.Watch, t.KeySpace)},
		{What: "watch events", Text: text.PerSecond(t.Watch.PerSecond) + " delivered; " + eventCounts(t.Watch)}}
}
