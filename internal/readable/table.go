package readable

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/printable"
)

// Table writes rows of equal length in columns, names to the left: what is
// foreign in a cell is made printable.
func Table(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = printable.Line(row[i], printable.OfField)
		}
	}
	return Align(w, "", rows, func(int) bool { return true })
}

// Align writes rows in columns as wide as their widest cell, with two spaces
// between them, the indent before and nothing at the lines' ends. Names stand left, and figures, for
// which left is false, right. (text/tabwriter aligns a whole table to one side.)
func Align(w io.Writer, indent string, rows [][]string, left func(column int) bool) error {
	var width []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, text := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
			if i > 0 {
				line.WriteString("  ")
			}
			if left(i) {
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
