package report

import (
	"strings"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
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

// FailedAbove says from where on a trial's percentiles are failed operations'.
func FailedAbove(t *record.Trial) string { return failedAbove(t) }

// EventLines say what happened in a trial's window: everything in one line, and
// one each for the longest gap and the slowest second.
func EventLines(h *analyze.WindowEvents) []string { return eventLines(h) }

// EventText is an event, or several of one kind and member, in words, without a
// time.
func EventText(e *analyze.Events) string {
	if e.Longest.Line == "" {
		text, _, _ := strings.Cut(e.Longest.Text, ": ") // the reason is in the file
		return text
	}
	text := e.Longest.Member + " " + e.Kind.Says()
	if e.Times > 1 {
		text += " " + readable.Count(e.Times) + " times"
	}
	if took := took(e, false); took != "" {
		text += " (" + took + ")"
	}
	return text
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
		{What: "watch events", Text: readable.PerSecond(t.Watch.PerSecond) + " delivered; " + eventCounts(t.Watch)}}
}
