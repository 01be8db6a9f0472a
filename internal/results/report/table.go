package report

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// heading returns the heading of a table. The heading states which kind of times the table shows.
func heading(t *analyze.Table) string {
	switch t.Kind {
	case analyze.OpenLoop:
		return "Open loop: response time, counted from when an operation was due"
	case analyze.WatchEvents:
		return "Watch events: time from when a write was due until each watcher received the event; a lost event counts as failed"
	case analyze.WorkersKind:
		return "Workers of " + t.CommonLoad
	case analyze.CallsKind:
		return "Calls of " + t.CommonLoad + ": response time, counted from when a call was due"
	case analyze.FaultsKind:
		return "Outages (longest time without a success; other times count from the start of the fault)"
	case analyze.HostsKind:
		return "Hosts of " + t.CommonLoad + "; clock offsets from the controller's clock, at the start and the end of the window"
	}
	head := "Closed loop"
	if t.CommonLoad != "" {
		head += ", " + t.CommonLoad
	}
	if t.ResponseTimes {
		return head + ": response time, because operations waited for room on their connections"
	}
	return head + ": service time"
}

// gapColumn is the title of the column that the heading of a table explains with gapMeaning, unless
// the table does not show this column.
const (
	gapColumn  = "gap"
	gapMeaning = "; gap is the longest time without a completed operation"
)

// Table is a table whose cells are text.
type Table struct {
	Heading string // for a table that shows all its columns
	Columns []analyze.Column
	Rows    [][]string
	tones   [][]text.Tone // tones of the cells, by row; a row may be missing
	// Footnotes are the sentences to which the superscript numbers in cells refer, starting with 1.
	Footnotes   []string
	HasDoubted  bool     // some figure has the doubtMark
	SumsMembers bool     // some columns show sums over all members
	Notes       []string // further lines below the table
	indent      string   // indent of all lines on a terminal
}

// Notes that are shown below tables.
const (
	doubtNote   = doubtMark + " This figure is one of the reasons for the verdict."
	membersNote = "Costs of the store (CPU, RSS, disk) are sums over all members."
)

// TableOf formats a table of findings as text.
func TableOf(t *analyze.Table) *Table {
	out := &Table{Heading: heading(t), Columns: t.Columns, Footnotes: t.Footnotes, HasDoubted: t.Doubted, SumsMembers: t.SumsMembers}
	if slices.ContainsFunc(t.Columns, func(c analyze.Column) bool { return c.Title == gapColumn }) {
		out.Heading += gapMeaning
	}
	for _, row := range t.Rows {
		cells, tones := make([]string, 0, len(row)), make([]text.Tone, 0, len(row))
		for i := range row {
			cells, tones = append(cells, cell(&row[i])), append(tones, toneOf(&row[i]))
		}
		out.add(cells...)
		out.tones = append(out.tones, tones)
	}
	if t.Repeated {
		of := ""
		if t.OmitsRepeats {
			of = " of the usable repeats (invalid or interrupted repeats, and repeats that lost a worker, are not usable)"
		}
		out.Notes = append(out.Notes, "For repeated trials, the table shows the median"+of+". With an even number of repeats, the slower of the middle two is shown.")
	}
	return out
}

// AllNotes returns the lines below a table that shows all its columns.
func (t *Table) AllNotes() []string { return t.fit(true).notes() }

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

func (t *Table) head() []string {
	head := make([]string, 0, len(t.Columns))
	for _, c := range t.Columns {
		head = append(head, c.Title)
	}
	return head
}

func (t *Table) aligned(rows [][]string) string {
	return text.Align(t.indent, rows, func(i int) bool { return t.Columns[i].LeftAligned })
}

// certainty formats an interval or a range as text.
func certainty(c *analyze.Certainty) string {
	switch {
	case c == nil:
		return text.Dash
	case c.RunTooShort:
		return "too short"
	}
	return text.JoinRange(Value(c.Low), Value(c.High))
}

// cell formats a cell as text.
func cell(c *analyze.Cell) string {
	switch {
	case c.Kind == analyze.TextCell:
		return c.Text + marks(c.Notes)
	case c.Kind == analyze.CertaintyCell:
		return certainty(c.Certainty) + marks(c.Notes)
	case c.Kind == analyze.ChangeCell && c.Change.Known:
		return text.SignedPercent(c.Change.Share)
	case c.Kind == analyze.ChangeIntervalCell && c.Change.Interval:
		return text.SignedPercent(c.Change.Low) + " to " + text.SignedPercent(c.Change.High) + marks(c.Notes)
	case c.Kind == analyze.JudgementCell:
		return FormatJudgement(&c.Change) + marks(c.Notes)
	case c.Share.Known:
		return Value(c.Value) + " (" + Value(c.Share) + ")"
	}
	return Value(c.Value) + doubtSuffix(c.Doubted) + marks(c.Notes)
}

// toneOf returns the tone of a cell.
func toneOf(c *analyze.Cell) text.Tone {
	switch {
	case c.Kind == analyze.JudgementCell && c.Change.Judgement.Word == stats.Worse, c.Worst:
		return text.Bad
	case c.Kind == analyze.JudgementCell && c.Change.Judgement.Word == stats.Better:
		return text.Good
	}
	return VerdictTone(c.Judged)
}

// VerdictTone returns the tone of a verdict.
func VerdictTone(s verdict.State) text.Tone {
	switch s {
	case verdict.Valid:
		return text.Good
	case verdict.Suspect:
		return text.Doubtful
	case verdict.Invalid:
		return text.Bad
	}
	return text.Plain
}

// doubtMark follows a figure that is one of the reasons for the verdict.
const doubtMark = "?"

// doubtSuffix returns doubtMark if doubted is set, otherwise an empty string.
func doubtSuffix(doubted bool) string {
	if doubted {
		return doubtMark
	}
	return ""
}

// thinSpace separates two superscript numbers.
const thinSpace = "\u2009"

// marks formats the numbers of footnotes as superscripts.
func marks(notes []int) string {
	all := make([]string, 0, len(notes))
	for _, n := range notes {
		all = append(all, text.Superscript(n))
	}
	return strings.Join(all, thinSpace)
}

// footnote formats the footnote with index i, which is counted from 0. In the text, numbers start
// at 1.
func footnote(i int, words string) string { return text.Superscript(i+1) + " " + words }

// Value formats a figure with its unit. It returns a dash if the figure is not known, and "failed"
// if the figure is the time of a failed operation.
func Value(v figures.Value) string {
	switch {
	case v.Failed:
		return "failed"
	case !v.Known:
		return text.Dash
	}
	return v.Unit.Quantity(v.Number)
}
