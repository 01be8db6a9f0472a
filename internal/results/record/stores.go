package record

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/store"
)

// StoreRow is a row of stores.csv: what one member reported of itself at one
// time, and how it was reached.
type StoreRow struct {
	Time     time.Time // when its answer was there, or was awaited no longer
	Name     string    // the member's
	Endpoint string
	// Connect is how long its system took to accept a TCP connection; 0 where
	// none was tried, or with ConnectFailure.
	Connect        time.Duration
	ConnectFailure string
	// Answer is how long its answer took, or was awaited; 0 where it was not
	// asked. Failure says why there is none.
	Answer  time.Duration
	Failure string
	Metrics store.Sample // nil without an answer
}

// storeColumns are the columns of a row that are no metric's.
var storeColumns = []string{"unix_seconds", "name", "endpoint", "connect_seconds", "connect_failure", "answer_seconds", "answer_failure"}

// metricColumn is what a metric's columns are called.
var metricColumn = [store.NumMetrics]string{
	store.FsyncSeconds: "fsync", store.CommitSeconds: "commit", store.PeerRoundTripSeconds: "peer_round_trip",
	store.CPUSeconds: "cpu_seconds", store.Processors: "processors", store.ResidentBytes: "rss_bytes",
	store.LeaderChanges: "leader_changes", store.DatabaseBytes: "database_bytes",
}

// timerColumns are what a timer's columns end in.
var timerColumns = [...]string{"_count", "_seconds", "_buckets"}

func storeHeader() []string {
	head := append([]string(nil), storeColumns...)
	for metric, name := range metricColumn {
		if !store.Metric(metric).Timer() {
			head = append(head, name)
			continue
		}
		for _, end := range timerColumns {
			head = append(head, name+end)
		}
	}
	return head
}

func (r *StoreRow) cells() []string {
	row := []string{
		strconv.FormatFloat(float64(r.Time.UnixMilli())/1e3, 'f', 3, 64), printable.Cell(r.Name), printable.Cell(r.Endpoint),
		length(r.Connect), printable.Cell(r.ConnectFailure), length(r.Answer), printable.Cell(r.Failure),
	}
	for metric := range store.NumMetrics {
		reading, known := r.Metrics[metric]
		switch {
		case !metric.Timer() && known:
			row = append(row, amount(reading.Value))
		case !metric.Timer():
			row = append(row, "")
		case known:
			row = append(row, amount(reading.Count), amount(reading.Sum), buckets(reading.Buckets))
		default:
			row = append(row, "", "", "")
		}
	}
	return row
}

func length(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 6, 64)
}

// amount is a number that a member reported; empty for what cannot be one.
func amount(x float64) string {
	if !possible(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// possible reports whether a member can have counted, timed or held so much.
func possible(x float64) bool { return x >= 0 && x < mostMachine }

// maxBuckets is far above what a store's timers have.
const maxBuckets = 64

// buckets are written as upper bounds, each with how many times were not above
// it: 0.001:90 0.002:100 +Inf:100.
func buckets(all []store.Bucket) string {
	if len(all) > maxBuckets {
		return ""
	}
	var b []byte
	for _, one := range all {
		if !(one.Upper >= 0) || !possible(one.Count) { // neither is a number else
			return ""
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendFloat(b, one.Upper, 'g', -1, 64)
		b = append(b, ':')
		b = strconv.AppendFloat(b, one.Count, 'f', -1, 64)
	}
	return string(b)
}

// Store records a row of stores.csv, which is there from the first on.
func (t *TrialWriter) Store(r *StoreRow) error {
	return t.do(func() (err error) {
		rows := [][]string{r.cells()}
		if t.stores == nil {
			if t.stores, err = t.w.open.lines(filepath.Join(t.dir, storesFile)); err != nil {
				return err
			}
			rows = append([][]string{storeHeader()}, rows...)
		}
		return writeRows(t.stores, rows...)
	})
}

// readStores reads the text of stores.csv, which may be anybody's. Columns that
// are not there, as in other versions, say nothing.
func readStores(b []byte) ([]StoreRow, error) {
	table, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(table) == 0 {
		return nil, err
	}
	p := storeParser{column: map[string]int{}}
	for i, name := range table[0] {
		p.column[name] = i
	}
	for _, name := range []string{"unix_seconds", "name"} {
		if _, ok := p.column[name]; !ok {
			return nil, fmt.Errorf("there is no column %q", name)
		}
	}
	rows := make([]StoreRow, 0, len(table)-1)
	for i, fields := range table[1:] {
		p.fields = fields
		row := p.row()
		if p.err != nil {
			return nil, fmt.Errorf("in row %d, %w", i+1, p.err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// storeParser keeps the first error of the fields that it reads.
type storeParser struct {
	fields []string
	column map[string]int
	err    error
}

func (p *storeParser) row() StoreRow {
	r := StoreRow{
		Time: time.UnixMilli(int64(math.Round(1e3 * p.below("unix_seconds", maxUnix)))).UTC(), Name: p.text("name"), Endpoint: p.text("endpoint"),
		Connect: p.span("connect_seconds"), ConnectFailure: p.text("connect_failure"),
		Answer: p.span("answer_seconds"), Failure: p.text("answer_failure"),
	}
	for metric := range store.NumMetrics {
		reading, known := p.reading(metric)
		if known {
			if r.Metrics == nil {
				r.Metrics = store.Sample{}
			}
			r.Metrics[metric] = reading
		}
	}
	return r
}

func (p *storeParser) reading(metric store.Metric) (r store.Reading, known bool) {
	name := metricColumn[metric]
	if !metric.Timer() {
		r.Value = p.number(name)
		return r, p.field(name) != ""
	}
	r.Count, r.Sum = p.number(name+timerColumns[0]), p.number(name+timerColumns[1])
	for _, one := range strings.Fields(p.field(name + timerColumns[2])) {
		upper, count, _ := strings.Cut(one, ":")
		b := store.Bucket{Upper: p.parse(name+timerColumns[2], upper), Count: p.parse(name+timerColumns[2], count)}
		if last := len(r.Buckets) - 1; last >= 0 && (b.Upper <= r.Buckets[last].Upper || b.Count < r.Buckets[last].Count) || last == maxBuckets {
			p.fail(name+timerColumns[2], "a list of rising bounds and counts")
		}
		if p.err == nil && (!(b.Upper >= 0) || !possible(b.Count)) {
			p.fail(name+timerColumns[2], "a list of bounds and counts")
		}
		r.Buckets = append(r.Buckets, b)
	}
	return r, p.field(name+timerColumns[0]) != ""
}

// field is empty for a column that is not there.
func (p *storeParser) field(name string) string {
	if i, ok := p.column[name]; ok && i < len(p.fields) {
		return p.fields[i]
	}
	return ""
}

// text is printable, and of a bounded length.
func (p *storeParser) text(name string) string {
	return printable.Line(p.field(name), printable.OfField)
}

func (p *storeParser) fail(name, want string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s is %q, and not %s", name, p.text(name), want)
	}
}

func (p *storeParser) parse(name, text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail(name, "made of numbers")
	}
	return x
}

func (p *storeParser) number(name string) float64 { return p.below(name, mostMachine) }

// The most that times in the file can be, in seconds: what time.Time and
// time.Duration hold, with room for sums.
const (
	maxUnix = 1 << 40
	maxSpan = 1 << 30
)

func (p *storeParser) span(name string) time.Duration {
	return time.Duration(1e9 * p.below(name, maxSpan))
}

// below is a number from 0 to a limit; 0 where there is none.
func (p *storeParser) below(name string, limit float64) float64 {
	text := p.field(name)
	if text == "" {
		return 0
	}
	x := p.parse(name, text)
	if !(x >= 0 && x < limit) {
		p.fail(name, fmt.Sprintf("a number from 0 to %g", limit))
		return 0
	}
	return x
}
