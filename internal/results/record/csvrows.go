package record

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
)

// csvRow is a row of a CSV file of a run directory, which may be anybody's. It
// keeps the first error of the fields that are read. A column that the file does
// not have is empty.
type csvRow struct {
	column map[string]int
	fields []string
	err    error
}

// eachCSVRow hands over the rows of a file that has a head with the given columns
// at least, up to the first that is wrong. what is the file's name in sentences.
func eachCSVRow(from io.Reader, what string, columns []string, each func(*csvRow)) error {
	r := csv.NewReader(from)
	r.ReuseRecord = true
	head, err := r.Read()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the head of the %s cannot be read: %w", what, err)
	}
	row := csvRow{column: map[string]int{}}
	for i, name := range head {
		row.column[name] = i
	}
	for _, name := range columns {
		if !row.has(name) {
			return fmt.Errorf("the %s has no column %q", what, name)
		}
	}
	for n := 1; ; n++ {
		if row.fields, err = r.Read(); err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the %s cannot be read: %w", what, err)
		}
		if each(&row); row.err != nil {
			return fmt.Errorf("row %d of the %s: %w", n, what, row.err)
		}
	}
}

func (r *csvRow) has(name string) bool {
	_, ok := r.column[name]
	return ok
}

func (r *csvRow) field(name string) string {
	if i, ok := r.column[name]; ok {
		return r.fields[i]
	}
	return ""
}

// text is a field that can be printed.
func (r *csvRow) text(name string) string {
	return printable.Line(r.field(name), printable.OfField)
}

func (r *csvRow) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is %q, not %s", name, r.text(name), want)
	}
}

func (r *csvRow) uint(name string) uint64 {
	n, err := strconv.ParseUint(r.field(name), 10, 64)
	if err != nil {
		r.fail(name, "a number")
	}
	return n
}

func (r *csvRow) int(name string) int {
	n, err := strconv.Atoi(r.field(name))
	if err != nil {
		r.fail(name, "a number")
	}
	return n
}

// figure is a time in nanoseconds; not known where the field is empty.
func (r *csvRow) figure(name string) measure.Figure {
	if r.field(name) == "" {
		return measure.Figure{}
	}
	return measure.Figure{NS: float64(r.uint(name)), Known: true}
}

// mostCounted is above all that a machine or a member counts, and below what an
// int64 holds.
const mostCounted = 1 << 62

func (r *csvRow) number(name string) float64 { return r.below(name, mostCounted) }

// below is a number from 0 to a limit; 0 where the field is empty.
func (r *csvRow) below(name string, limit float64) float64 {
	text := r.field(name)
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x < limit) {
		r.fail(name, fmt.Sprintf("a number from 0 to %g", limit))
		return 0
	}
	return x
}
