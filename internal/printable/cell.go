package printable

import "strings"

// formulas are the characters with which spreadsheet programs begin one, in
// ASCII and in full width.
const formulas = "=+-@\uff1d\uff0b\uff0d\uff20"

// Cell is a text as a cell of CSV: a Line, with an apostrophe before what a
// spreadsheet program would calculate. It is for names and sentences; a number
// stays as it is.
func Cell(s string) string {
	s = Line(s, OfField)
	if s != "" && strings.IndexAny(s, formulas) == 0 {
		return "'" + s
	}
	return s
}
