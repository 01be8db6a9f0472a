package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// grid is a table of text whose columns are as wide as their widest cell.
// (text/tabwriter aligns a whole table to one side; figures belong right and
// names left.)
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

// lines writes rows with two spaces between columns and none at their ends.
func (g *grid) lines(w io.Writer, rows [][]string) error {
	width := make([]int, len(g.columns))
	for _, row := range rows {
		for i, text := range row {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(g.indent)
		for i, text := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
			if i > 0 {
				line.WriteString("  ")
			}
			if g.columns[i].left {
				line.WriteString(text + pad)
			} else {
				line.WriteString(pad + text)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
