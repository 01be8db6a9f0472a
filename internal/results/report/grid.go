package report

import (
	"io"

	"github.com/quorumbench/quorumbench/internal/readable"
)

// grid is a table of text.
type grid struct {
	columns []column
	rows    [][]string
	note    string // a line below, with its end
	indent  string // of text
}

type column struct {
	title string
	left  bool // names; figures stand right
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// write writes the head and the rows.
func (g *grid) write(w io.Writer) error {
	head := make([]string, len(g.columns))
	for i, c := range g.columns {
		head[i] = c.title
	}
	return g.lines(w, append([][]string{head}, g.rows...))
}

// writeRows writes the rows without the head.
func (g *grid) writeRows(w io.Writer) error { return g.lines(w, g.rows) }

func (g *grid) lines(w io.Writer, rows [][]string) error {
	return readable.Align(w, g.indent, rows, func(i int) bool { return g.columns[i].left })
}
