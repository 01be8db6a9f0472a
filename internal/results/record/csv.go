package record

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// column is a column of a CSV file in a run directory. The field `target` is a pointer to a
// variable, or a counter. The value of this variable or counter is written to the column, or is set
// to the value in the column.
type column struct {
	name   string
	target any
}

// unixTime is written in seconds since 1970, to the millisecond.
type unixTime time.Time

// counter refers to a count that is stored in a map. Invariant: the map has an entry for a count
// only if the count is above 0.
type counter struct {
	counts map[string]uint64
	name   string
}

func names(columns []column) []string {
	all := make([]string, 0, len(columns))
	for _, c := range columns {
		all = append(all, c.name)
	}
	return all
}

// cells returns the texts of one row, one for each column.
func cells(columns []column) []string {
	all := make([]string, 0, len(columns))
	for _, c := range columns {
		all = append(all, c.cell())
	}
	return all
}

// cell returns the text of the column's value, or "" if the value is unknown or impossible.
func (c column) cell() string {
	switch at := c.target.(type) {
	case *string:
		return text.Cell(*at)
	case *int:
		return strconv.Itoa(*at)
	case *uint64:
		return strconv.FormatUint(*at, 10)
	case counter:
		return strconv.FormatUint(at.counts[at.name], 10)
	case *float64:
		if isPossible(*at) {
			return strconv.FormatFloat(*at, 'f', -1, 64)
		}
	case *time.Time:
		return at.UTC().Format(time.RFC3339Nano)
	case *unixTime:
		return strconv.FormatFloat(float64(time.Time(*at).UnixMilli())/1e3, 'f', 3, 64)
	case *time.Duration:
		if *at > 0 {
			return strconv.FormatFloat(at.Seconds(), 'f', 6, 64)
		}
	case *measure.Figure:
		if at.Known {
			return strconv.FormatInt(int64(at.NS), 10)
		}
	case *[]store.Bucket:
		return bucketsText(*at)
	case *[]float64:
		parts := make([]string, 0, len(*at))
		for _, x := range *at {
			parts = append(parts, (column{target: &x}).cell())
		}
		return strings.Join(parts, " ")
	}
	return ""
}

// writeRows writes CSV rows in one call.
func writeRows(destination *lines, rows ...[]string) error {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	_, err := destination.Write(b.Bytes())
	return err
}

// csvRow is a row of a CSV file, which may come from an untrusted source. It stores the first error
// that occurs when a field is read.
type csvRow struct {
	column map[string]int
	fields []string
	words  map[string]string // cloned texts, by field
	err    error
}

// eachCSVRow calls the function `visit` for every row until a row cannot be read. The header line
// must contain all names in `columns`. The parameter `what` is the name of the file for use in
// errors.
func eachCSVRow(b []byte, what string, columns []string, visit func(*csvRow)) error {
	r := csv.NewReader(bytes.NewReader(b))
	r.ReuseRecord = true
	head, err := r.Read()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the header line of the %s: %w", what, err)
	}
	row := csvRow{column: map[string]int{}}
	for i, name := range head {
		row.column[name] = i
	}
	for _, name := range columns {
		if !row.hasColumn(name) {
			return fmt.Errorf("the %s has no column %q", what, name)
		}
	}
	for n := 1; ; n++ {
		if row.fields, err = r.Read(); err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the %s: %w", what, err)
		}
		if visit(&row); row.err != nil {
			return fmt.Errorf("row %d of the %s: %w", n, what, row.err)
		}
	}
}

// maxPreallocated is the maximum number of rows for which roomFor allocates memory in advance.
const maxPreallocated = 50_000

// roomFor returns rows if it is not nil. Otherwise, it returns an empty list with the capacity for
// one row per line of the file.
func roomFor[T any](rows []T, file []byte) []T {
	if rows == nil {
		return make([]T, 0, min(bytes.Count(file, []byte{'\n'}), maxPreallocated))
	}
	return rows
}

func (r *csvRow) hasColumn(name string) bool {
	_, ok := r.column[name]
	return ok
}

// word returns a field as text. Equal texts share memory. Each different text is cloned, because a
// substring would keep its whole row in memory.
func (r *csvRow) word(name string) string {
	field := r.field(name)
	if field == "" {
		return ""
	}
	word, known := r.words[field]
	if !known {
		if r.words == nil {
			r.words = map[string]string{}
		}
		word = strings.Clone(text.Line(field, text.MaxField))
		r.words[strings.Clone(field)] = word
	}
	return word
}

// field returns the field in the named column, which the file must have.
func (r *csvRow) field(name string) string { return r.fields[r.column[name]] }

func (r *csvRow) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is %q, not %s", name, text.Line(r.field(name), text.MaxField), want)
	}
}

// Limits for values in columns. maxCount is above every count of a real machine or member, and
// fits into an int64. maxUnix and maxSpan are in seconds. Times up to these limits fit into
// time.Time and time.Duration, even after additions.
const (
	maxCount = 1 << 62
	maxUnix  = 1 << 40
	maxSpan  = 1 << 30
)

// isPossible reports whether a number can be a count, a time or a size.
func isPossible(x float64) bool { return x >= 0 && x < maxCount }

// numberBelow parses a number in [0, limit). It returns 0 if the field is empty.
func (r *csvRow) numberBelow(name string, limit float64) float64 {
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

func (r *csvRow) count(name string) uint64 {
	n, err := strconv.ParseUint(r.field(name), 10, 64)
	if err != nil {
		r.fail(name, "a number")
	}
	return n
}

// read reads the given columns and skips those that the file does not have. If the column of a
// float64 or a measure.Figure is empty, the variable does not change.
func (r *csvRow) read(columns []column) {
	for _, c := range columns {
		if !r.hasColumn(c.name) {
			continue
		}
		var err error
		switch at := c.target.(type) {
		case *string:
			*at = r.word(c.name)
		case *int:
			if *at, err = strconv.Atoi(r.field(c.name)); err != nil {
				r.fail(c.name, "a number")
			}
		case *uint64:
			*at = r.count(c.name)
		case counter:
			if n := r.count(c.name); n > 0 {
				at.counts[at.name] = n
			}
		case *float64:
			if r.field(c.name) != "" {
				*at = r.numberBelow(c.name, maxCount)
			}
		case *time.Time:
			if *at, err = time.Parse(time.RFC3339Nano, r.field(c.name)); err != nil {
				r.fail(c.name, "a time in UTC")
			}
		case *unixTime:
			*at = unixTime(time.UnixMilli(int64(math.Round(1e3 * r.numberBelow(c.name, maxUnix)))).UTC())
		case *time.Duration:
			*at = time.Duration(1e9 * r.numberBelow(c.name, maxSpan))
		case *measure.Figure:
			if r.field(c.name) != "" {
				*at = measure.Figure{NS: float64(r.count(c.name)), Known: true}
			}
		case *[]store.Bucket:
			var ok bool
			if *at, ok = readBuckets(r.field(c.name)); !ok {
				r.fail(c.name, "a list of bounds in ascending order with cumulative counts")
			}
		case *[]float64:
			*at = r.list(c.name)
		}
	}
}

// maxList is above the number of CPUs of any machine.
const maxList = 4096

// list returns the numbers of a field.
func (r *csvRow) list(name string) (all []float64) {
	for text := range strings.FieldsSeq(r.field(name)) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !isPossible(x) || len(all) == maxList {
			r.fail(name, "a list of numbers")
			return nil
		}
		all = append(all, x)
	}
	return all
}

// maxBuckets is far above the number of buckets in any store's timers.
const maxBuckets = 64

// canFollow reports whether the bucket `next` can follow the buckets in `all`. The bound of `next`
// must be at least 0 and above the last bound in `all`. The cumulative count of `next` must not be
// lower than the last count in `all`.
func canFollow(all []store.Bucket, next store.Bucket) bool {
	return len(all) < maxBuckets && next.Upper >= 0 && isPossible(next.Count) &&
		(len(all) == 0 || next.Upper > all[len(all)-1].Upper && next.Count >= all[len(all)-1].Count)
}

// bucketsText formats buckets as pairs of an upper bound and a cumulative count, for example
// "0.001:90 0.002:100 +Inf:100". It returns "" if the buckets do not form a histogram.
func bucketsText(all []store.Bucket) string {
	parts := make([]string, 0, len(all))
	for i, one := range all {
		if !canFollow(all[:i], one) {
			return ""
		}
		parts = append(parts, strconv.FormatFloat(one.Upper, 'g', -1, 64)+":"+strconv.FormatFloat(one.Count, 'f', -1, 64))
	}
	return strings.Join(parts, " ")
}

func readBuckets(text string) (all []store.Bucket, ok bool) {
	if text == "" {
		return nil, true
	}
	all = make([]store.Bucket, 0, 1+strings.Count(text, " "))
	for one := range strings.FieldsSeq(text) {
		bound, times, _ := strings.Cut(one, ":")
		upper, err1 := strconv.ParseFloat(bound, 64)
		count, err2 := strconv.ParseFloat(times, 64)
		next := store.Bucket{Upper: upper, Count: count}
		if err1 != nil || err2 != nil || !canFollow(all, next) {
			return nil, false
		}
		all = append(all, next)
	}
	return all, true
}
