// Package report renders findings as text for the terminal, as Markdown, as a JSON object for
// programs, and as CSV. Its only input is the record of a run. A finding defines its parts, its
// JSON object and its CSV rows once; each format has one renderer for all findings. Each format of
// another program (JUnit, Go benchmarks, dbtester, etcd's benchmark tool) is implemented in a
// separate file.
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

// Finding is the content of a report. Its fields are functions, so that each format computes only
// the data that it renders: the intervals of many trials take a long time. A function is nil if the
// finding cannot be rendered in that form.
type Finding struct {
	parts  func(to layout)                                // for text and Markdown
	object func() any                                     // for JSON
	rows   func() (columns []string, all []record.Object) // for CSV; `columns` may be nil if `all` is not empty
}

// layout receives the parts of a finding, in order.
type layout interface {
	detailed() bool // detailed reports whether to include details that a narrow terminal omits
	title(name, words string)
	lead(lines ...string) // lead adds lines below the title
	heading(head string)
	addLines(lines ...string)                   // addLines adds lines of text
	accented(line, word string, tone text.Tone) // accented adds a line of text in which the given word has a tone
	facts(groups ...[]analyze.Fact)
	block(lines []string) // block adds lines that are already aligned
	table(t *Table)       // table adds a table with its heading and notes
	cells(t *Table)       // cells adds a table without heading and notes
	inset(t *Table)       // inset adds a table that belongs to the text above it
	section(head string, lines []string)
	list(head string, lines []string) // list adds numbered lines below the heading `head`, which is empty if the lines belong to the text above them
	gap()                             // gap adds an empty line between a paragraph and the cells or block that follow, if the format needs one
	blank()
	places(lines ...string) // places adds paths on this machine, which only the terminal shows
}

// Text writes a finding as text. The text is at most text.ScreenWidth columns wide. If wide is set,
// Text shows all columns and details, and does not wrap lines.
func Text(w io.Writer, f Finding, wide bool) error { return StyledText(w, f, wide, text.Style{}) }

// StyledText does the same as Text, in the given style.
func StyledText(w io.Writer, f Finding, wide bool, style text.Style) error {
	to := textLayout{wide: wide, style: style}
	f.parts(&to)
	_, err := to.WriteTo(w)
	return err
}

// Markdown writes a finding as Markdown.
func Markdown(w io.Writer, f Finding) error {
	var to markdownLayout
	f.parts(&to)
	_, err := to.WriteTo(w)
	return err
}

// JSON writes a finding as exactly one JSON object, followed by a newline.
func JSON(w io.Writer, f Finding) error {
	b, err := json.MarshalIndent(f.object(), "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the result as JSON: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// CSV writes the rows of a finding below a header with the names of the fields. A cell is empty if
// its value is not known.
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

// digits is a number that is already formatted for CSV.
type digits string

// cellOf formats the value of a field for CSV.
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

// numberOrNil returns a pointer to a number for JSON and CSV, or nil if the number is not known.
// Nil is null in JSON and an empty cell in CSV.
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
