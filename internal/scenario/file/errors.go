package file

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is an error at a position in a scenario file, described by a sentence.
type Error struct {
	File         string
	Line, Column int // start at 1; Line is 0 for an error that has no position
	Text         string
}

// Error returns FILE:LINE:COLUMN, followed by the sentence.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Errors holds the errors in a scenario file, at most maxCollectedErrors. Sorted puts them in the
// order of the file.
type Errors []*Error

// maxShownErrors is the maximum number of errors that are printed.
const maxShownErrors = 10

// Error returns the sentences, one per line.
func (es Errors) Error() string { return strings.Join(es.Lines(), "\n") }

// Lines returns one line per error. If there are more than maxShownErrors errors, the last line
// states how many errors were omitted.
func (es Errors) Lines() []string {
	var lines []string
	for i, e := range es {
		if i == maxShownErrors {
			lines = append(lines, fmt.Sprintf("and %d more", len(es)-maxShownErrors))
			break
		}
		lines = append(lines, e.Error())
	}
	return lines
}

// maxCollectedErrors is the maximum number of errors that are collected.
const maxCollectedErrors = 1000

// Add adds an error unless the list already contains an equal one. A default can cause the same
// error in every trial that uses the default.
func (es *Errors) Add(e *Error) {
	if len(*es) < maxCollectedErrors && !slices.ContainsFunc(*es, func(old *Error) bool { return *old == *e }) {
		*es = append(*es, e)
	}
}

// Sorted sorts the errors in the order of the file, and returns them.
func (es Errors) Sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return es
}

// Position is the origin of a value: a position in a scenario file (lines and columns start at 1),
// an assignment with --set, or another flag.
type Position struct {
	Line, column int
	Assignment   string // KEY=VALUE
	Flag         string // --NAME VALUE, from a flag that chooses the server
}

// Errorf returns an error at the position.
func (p Position) Errorf(format string, args ...any) *Error {
	e := &Error{Line: p.Line, Column: p.column, Text: fmt.Sprintf(format, args...)}
	if p.Assignment != "" {
		e.File = "--set " + p.Assignment
	} else if p.Flag != "" {
		e.File = p.Flag
	}
	return e
}

// IsAfter reports whether the position is after q in the file.
func (p Position) IsAfter(q Position) bool {
	return p.Line > q.Line || p.Line == q.Line && p.column > q.column
}
