package record

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// timelinePercentiles are the response times in timeline.csv; the largest
// comes after them.
var timelinePercentiles = [...]float64{50, 99, 99.9}

// timelineHeader names the columns of timeline.csv.
func timelineHeader() []string {
	h := []string{"time", "unix_seconds", "phase", "second", "due", "done", "ok", "misses", "conflicts", "errors"}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		h = append(h, "errors_"+o.String())
	}
	h = append(h, "response_p50_ns", "response_p99_ns", "response_p99_9_ns", "response_max_ns",
		"bytes_in", "bytes_out", "connections", "clients", "in_flight")
	return append(h, answersHeader()...)
}

// answersHeader names the columns that say more of the answers. Files of earlier
// versions do not have them.
func answersHeader() []string { return []string{"stale", "unverifiable", "keys_read"} }

func answersRow(s *measure.Second) []string {
	u := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return []string{u(s.Outcomes[kv.Stale]), u(s.Outcomes[kv.Unverifiable]), u(s.Keys)}
}

// timelineRow is a second as a row of timeline.csv. A percentile that the
// second does not support, or that falls on an error, is empty. scratch is used.
func timelineRow(s *measure.Second, start time.Time, scratch *measure.Histogram) []string {
	u := func(n uint64) string { return strconv.FormatUint(n, 10) }
	row := []string{
		start.UTC().Format(time.RFC3339Nano), fmt.Sprintf("%.3f", float64(start.UnixMilli())/1e3),
		s.Phase.String(), strconv.Itoa(s.Index),
		u(s.Due), u(s.Done), u(s.Outcomes[kv.OK]), u(s.Outcomes[kv.Miss]), u(s.Outcomes[kv.Conflict]),
	}
	failed, kinds := s.Failed(), make([]string, 0, measure.Errors)
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		kinds = append(kinds, u(s.Outcomes[o]))
	}
	row = append(append(row, u(failed)), kinds...)

	response := s.Response(scratch)
	for _, f := range measure.PercentilesOf(response, failed, timelinePercentiles[:]...) {
		row = append(row, cell(f))
	}
	row = append(row, cell(measure.Slowest(response, failed)), u(s.BytesIn), u(s.BytesOut),
		strconv.Itoa(s.Connections), strconv.Itoa(s.Clients), strconv.Itoa(s.InFlight))
	return append(row, answersRow(s)...)
}

func cell(f measure.Figure) string {
	if !f.Known {
		return ""
	}
	return strconv.FormatInt(int64(f.NS), 10)
}

// Row is one second of timeline.csv.
type Row struct {
	Time                                     time.Time
	Phase                                    string
	Second                                   int
	Due, Done, OK, Misses, Conflicts, Errors uint64
	ErrorsByKind                             map[string]uint64 // those above 0
	// Stale and Unverifiable are reads due in the second that ended so, KeysRead
	// what those that were done brought; 0 in files that do not have them.
	Stale, Unverifiable, KeysRead uint64
	// Response times of the second; not known where the file has nothing.
	P50, P99, P999, Max            measure.Figure
	BytesIn, BytesOut              uint64
	Connections, Clients, InFlight int
	// Watch is what watchers got in the second; nil where the trial has none.
	Watch *RowWatch
}

// ReadTimeline reads whole lines of a timeline.csv.
func ReadTimeline(from io.Reader) ([]Row, error) {
	r := csv.NewReader(from)
	r.ReuseRecord = true
	head, err := r.Read()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the timeline's header cannot be read: %w", err)
	}
	column := map[string]int{}
	for i, name := range head {
		column[name] = i
	}
	for _, name := range timelineHeader() {
		if _, ok := column[name]; !ok && !slices.Contains(answersHeader(), name) {
			return nil, fmt.Errorf("the timeline has no column %q", name)
		}
	}
	watches, err := watched(column)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, fmt.Errorf("the timeline cannot be read: %w", err)
		}
		p := rowParser{fields: fields, column: column}
		row := p.row()
		if watches {
			row.Watch = p.watch()
		}
		if p.err != nil {
			return rows, fmt.Errorf("row %d of the timeline: %w", len(rows)+1, p.err)
		}
		rows = append(rows, row)
	}
}

// rowParser keeps the first error of the fields that it reads.
type rowParser struct {
	fields []string
	column map[string]int
	err    error
}

func (p *rowParser) row() Row {
	r := Row{
		Phase: p.field("phase"), Second: p.int("second"),
		Due: p.uint("due"), Done: p.uint("done"), OK: p.uint("ok"),
		Misses: p.uint("misses"), Conflicts: p.uint("conflicts"), Errors: p.uint("errors"),
		ErrorsByKind: map[string]uint64{},
		P50:          p.figure("response_p50_ns"), P99: p.figure("response_p99_ns"),
		P999: p.figure("response_p99_9_ns"), Max: p.figure("response_max_ns"),
		BytesIn: p.uint("bytes_in"), BytesOut: p.uint("bytes_out"),
		Connections: p.int("connections"), Clients: p.int("clients"), InFlight: p.int("in_flight"),
	}
	var err error
	if r.Time, err = time.Parse(time.RFC3339Nano, p.field("time")); err != nil {
		p.fail("time", "a time in UTC")
	}
	for name, to := range map[string]*uint64{"stale": &r.Stale, "unverifiable": &r.Unverifiable, "keys_read": &r.KeysRead} {
		if _, ok := p.column[name]; ok {
			*to = p.uint(name)
		}
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if n := p.uint("errors_" + o.String()); n > 0 {
			r.ErrorsByKind[o.String()] = n
		}
	}
	return r
}

func (p *rowParser) field(name string) string { return p.fields[p.column[name]] }

func (p *rowParser) fail(name, want string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s is %q, not %s", name, p.field(name), want)
	}
}

func (p *rowParser) uint(name string) uint64 {
	n, err := strconv.ParseUint(p.field(name), 10, 64)
	if err != nil {
		p.fail(name, "a number")
	}
	return n
}

func (p *rowParser) int(name string) int {
	n, err := strconv.Atoi(p.field(name))
	if err != nil {
		p.fail(name, "a number")
	}
	return n
}

func (p *rowParser) figure(name string) measure.Figure {
	if p.field(name) == "" {
		return measure.Figure{}
	}
	return measure.Figure{NS: float64(p.uint(name)), Known: true}
}
