package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
)

// put writes a table under its heading.
type put func(head string, g *grid) error

// textTable writes a table as text.
func textTable(w io.Writer) put {
	return func(head string, g *grid) error {
		if _, err := fmt.Fprintf(w, "\n%s\n", head); err != nil {
			return err
		}
		if err := g.write(w); err != nil {
			return err
		}
		_, err := io.WriteString(w, g.note)
		return err
	}
}

// tables hands over the tables of a run.
func tables(all []analyze.Table, to put) error {
	for i := range all {
		if err := to(heading(&all[i]), gridOf(&all[i])); err != nil {
			return err
		}
	}
	return nil
}

// heading says what a table's times are.
func heading(t *analyze.Table) string {
	switch t.Kind {
	case analyze.OpenLoop:
		return "Open loop: response time, counted from when an operation was due"
	case analyze.WatchEvents:
		return "Watch events: time from when a write was due to its event's arrival at each watcher; a lost one counts as failed"
	}
	head := "Closed loop"
	if t.Shared != "" {
		head += ", " + t.Shared
	}
	return head + ": service time; gap is the longest time without any operation done"
}

// section writes a table of one trial below the rest; nothing where it has no
// rows.
func section(w io.Writer, t analyze.Table) error {
	if len(t.Rows) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	g := gridOf(&t)
	g.indent = "  "
	return g.write(w)
}

func gridOf(t *analyze.Table) *grid {
	g := &grid{}
	for _, c := range t.Columns {
		g.columns = append(g.columns, column{c.Title, c.Left})
	}
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
	if t.Repeated {
		g.note += "Repeated trials show the median (of an even number, the slower of the middle two); ± is the repeat that is farthest from it.\n"
	}
	return g
}

// cell is a table's cell as text.
func cell(c *analyze.Cell) string {
	switch {
	case c.Kind == analyze.Words:
		return c.Text + marks(c.Notes)
	case c.Kind == analyze.SpreadOfRepeats && c.Value.Known:
		return "±" + readable.Percent(c.Value.Number, 0)
	case c.Kind == analyze.Changed:
		return Value(c.Value) + " (" + percentOf(c.Change) + ")"
	case c.Kind == analyze.IntervalOfChange:
		return intervalOf(c.Change) + marks(c.Notes)
	case c.Share.Known:
		return Value(c.Value) + " (" + Value(c.Share) + ")"
	}
	return Value(c.Value)
}

// thinSpace stands between two raised numbers.
const thinSpace = "\u2009"

// marks are the numbers of footnotes, raised.
func marks(notes []int) string {
	all := make([]string, 0, len(notes))
	for _, n := range notes {
		all = append(all, readable.Raised(n))
	}
	return strings.Join(all, thinSpace)
}

// footnote is the one at a place, from 0.
func footnote(i int, text string) string { return readable.Raised(i+1) + " " + text }

// facts writes lines with what they are about before them, and a line between
// groups of them.
func facts(w io.Writer, groups ...[]analyze.Fact) error {
	g := grid{indent: "  ", columns: []column{{"", true}, {"", true}}}
	for i, all := range groups {
		if i > 0 {
			g.add("", "")
		}
		for _, f := range all {
			g.add(f.What, f.Text)
		}
	}
	return g.writeRows(w)
}
