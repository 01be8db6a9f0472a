// Package report renders findings: as text for the terminal, as Markdown, as one JSON object for
// programs, and as CSV. It reads only the record. A finding defines its parts, its fields and its
// rows once, and each format has one renderer. The formats of other programs (JUnit, Go benchmarks,
// dbtester, etcd's benchmark) have one file each.
package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Finding is something to report. Each format calls only the functions that it needs, because the
// intervals of many trials take time to compute. A function is nil if the finding has no such form.
type Finding struct {
	parts  func(to layout)                                // for readers
	object func() any                                     // for JSON
	rows   func() (columns []string, all []record.Object) // for CSV; columns is used only if there may be no row
}

// layout receives the parts of a finding in order.
type layout interface {
	detailed() bool // whether to include details that a narrow terminal leaves out
	title(name, words string)
	lead(lines ...string) // below the title
	heading(head string)
	addLines(lines ...string) // each on a separate line
	facts(groups ...[]analyze.Fact)
	block(lines []string) // aligned lines
	table(t *Table)       // with its heading and notes
	cells(t *Table)       // without them
	inset(t *Table)       // a table about a part of the text above it
	section(head string, lines []string)
	list(head string, lines []string) // numbered; without a head if it belongs to the text above it
	gap()                             // before cells or a block below a paragraph
	blank()
	places(lines ...string) // paths on this machine; only the terminal shows them
}

// Text writes a finding for a terminal: within text.ScreenWidth columns, or wide, which means with
// all columns and details and without wrapping.
func Text(w io.Writer, f Finding, wide bool) error {
	to := textLayout{wide: wide}
	f.parts(&to)
	_, err := to.WriteTo(w)
	return err
}

// Markdown writes the same as Markdown.
func Markdown(w io.Writer, f Finding) error {
	var to markdownLayout
	f.parts(&to)
	_, err := to.WriteTo(w)
	return err
}

// JSON writes a finding as exactly one JSON object and a newline.
func JSON(w io.Writer, f Finding) error {
	b, err := json.MarshalIndent(f.object(), "", "  ")
	if err != nil {
		return fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// CSV writes the rows of a finding below the names of their fields. A cell is empty if its value is
// not known.
func CSV(w io.Writer, f Finding) error {
	columns, all := f.rows()
	if columns == nil && len(all) > 0 {
		columns = namesOf(all[0])
	}
	if columns == nil {
		return nil
	}
	lines := [][]string{columns}
	for _, fields := range all {
		cells := make([]string, 0, len(fields))
		for _, field := range fields {
			cells = append(cells, cellOf(field.Value))
		}
		lines = append(lines, cells)
	}
	return writeCSV(w, lines)
}

func writeCSV(w io.Writer, rows [][]string) error { return csv.NewWriter(w).WriteAll(rows) }

func namesOf(fields record.Object) []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

// digits is a number in CSV: text with which no program calculates.
type digits string

// cellOf formats a field's value for CSV.
func cellOf(value any) string {
	switch v := value.(type) {
	case digits:
		return string(v)
	case string:
		return text.Cell(v)
	case int:
		return strconv.Itoa(v)
	case *float64:
		if v != nil {
			return strconv.FormatFloat(*v, 'f', -1, 64)
		}
	}
	return ""
}

// numberOrNil returns a number for JSON and CSV, or nil if it is not known: null in JSON, empty in
// CSV.
func numberOrNil(x float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &x
}

// number returns a count for JSON and CSV.
func number[T int | uint64](n T) *float64 { return numberOrNil(float64(n), true) }

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
