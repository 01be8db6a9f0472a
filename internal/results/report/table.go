package report

import (
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// heading says what a table's times are.
func heading(t *analyze.Table) string {
	switch t.Kind {
	case analyze.OpenLoop:
		return "Open loop: response time, counted from when an operation was due"
	case analyze.WatchEvents:
		return "Watch events: time from when a write was due to its event's arrival at each watcher; a lost one counts as failed"
	case analyze.OfWorkers:
		return "Workers of " + t.Shared
	case analyze.OfCalls:
		return "Calls of " + t.Shared + ": response time, counted from when a call was due"
	case analyze.OfFaults:
		return "What breaks, and for how long: the longest time without any success; the other times are from when the fault began"
	case analyze.OfHosts:
		return "Hosts of " + t.Shared + "; clocks beside the conducting process's, when the window opened and when it closed"
	}
	head := "Closed loop"
	if t.Shared != "" {
		head += ", " + t.Shared
	}
	if t.Response {
		return head + ": response time, because operations waited for room on their connections; gap is the longest time without any operation done"
	}
	return head + ": service time; gap is the longest time without any operation done"
}

// section is a table of one trial below the rest; nothing where it has no rows.
func section(t analyze.Table) string {
	if len(t.Rows) == 0 {
		return ""
	}
	g := gridOf(&t)
	g.indent = "  "
	text := "\n" + g.text()
	for line := range strings.Lines(g.note) {
		text += g.indent + line
	}
	return text
}

func gridOf(t *analyze.Table) *grid {
	g := &grid{columns: t.Columns}
	for _, row := range t.Rows {
		cells := make([]string, 0, len(row))
		for i := range row {
			cells = append(cells, cell(&row[i]))
		}
		g.add(cells...)
	}
	for i, text := range t.Footnotes {
		g.note += footnote(i, text) + "\n"
	}
	if t.Doubted {
		g.note += doubtMark + " A reason of the verdict is about this figure.\n"
	}
	if t.Members {
		g.note += "Costs of the store (CPU, RSS, disk) are the sums of all members.\n"
	}
	if t.Repeated {
		of := ""
		if t.LeftOut {
			of = " of the repeats that count: not of those that are invalid, were interrupted or lost a worker"
		}
		g.note += "Repeated trials show the median" + of + " (of an even number, the slower of the middle two).\n"
	}
	return g
}

// certainty is an interval or a range.
func certainty(c *analyze.Certainty) string {
	switch {
	case c == nil:
		return text.Dash
	case c.Short:
		return "too short"
	}
	return text.Between(Value(c.Low), Value(c.High))
}

// cell is a table's cell as text.
func cell(c *analyze.Cell) string {
	switch {
	case c.Kind == analyze.Words:
		return c.Text + marks(c.Notes)
	case c.Kind == analyze.HowSure:
		return certainty(c.Certainty) + marks(c.Notes)
	case c.Kind == analyze.Changed && c.Change.Known:
		return text.Change(c.Change.Share)
	case c.Kind == analyze.IntervalOfChange && c.Change.Interval:
		return text.Change(c.Change.Low) + " to " + text.Change(c.Change.High) + marks(c.Notes)
	case c.Kind == analyze.WordOfChange:
		return result(&c.Change)
	case c.Share.Known:
		return Value(c.Value) + " (" + Value(c.Share) + ")"
	}
	return Value(c.Value) + doubtOf(c.Doubted) + marks(c.Notes)
}

// doubtMark follows a figure that the verdict names.
const doubtMark = "?"

// doubtOf is the mark of a figure that is doubted.
func doubtOf(doubted bool) string {
	if doubted {
		return doubtMark
	}
	return ""
}

// thinSpace stands between two raised numbers.
const thinSpace = "\u2009"

// marks are the numbers of footnotes, raised.
func marks(notes []int) string {
	all := make([]string, 0, len(notes))
	for _, n := range notes {
		all = append(all, text.Raised(n))
	}
	return strings.Join(all, thinSpace)
}

// footnote is the one at a place, from 0.
func footnote(i int, words string) string { return text.Raised(i+1) + " " + words }

// facts are lines with what they are about before them, and a line between
// groups of them.
func facts(groups ...[]analyze.Fact) string {
	g := grid{indent: "  ", columns: []analyze.Column{{Left: true}, {Left: true}}}
	for i, all := range groups {
		if i > 0 {
			g.add("", "")
		}
		for _, f := range all {
			g.add(f.What, f.Text)
		}
	}
	return g.lines(g.rows)
}

// grid is a table of text.
type grid struct {
	columns []analyze.Column
	rows    [][]string
	note    string // a line below, with its end
	indent  string // of text
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) head() []string {
	head := make([]string, 0, len(g.columns))
	for _, c := range g.columns {
		head = append(head, c.Title)
	}
	return head
}

// text is the head and the rows, without the columns that a terminal has no room for.
func (g *grid) text() string {
	narrow := grid{indent: g.indent}
	var rows [][]string
	for _, row := range append([][]string{g.head()}, g.rows...) {
		var cells []string
		for i, c := range g.columns {
			if !c.Wide {
				cells = append(cells, row[i])
			}
		}
		rows = append(rows, cells)
	}
	for _, c := range g.columns {
		if !c.Wide {
			narrow.columns = append(narrow.columns, c)
		}
	}
	return narrow.lines(rows)
}

func (g *grid) lines(rows [][]string) string {
	return text.Align(g.indent, rows, func(i int) bool { return g.columns[i].Left })
}

// Value formats a figure of any unit: a dash where it is not known, failed where
// it lands on a failed operation.
func Value(v record.Value) string {
	switch {
	case v.Failed:
		return "failed"
	case !v.Known:
		return text.Dash
	}
	return text.Quantity(v.Number, v.Unit)
}
