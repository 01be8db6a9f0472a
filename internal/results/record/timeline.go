package record

import (
	"bytes"
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

// OpenTimeline reads the timeline.csv of a trial's folder, as OpenTrial does.
func OpenTimeline(dir, folder string) ([]Row, error) {
	return readTrialFile(dir, folder, timelineFile, func(b []byte) ([]Row, error) { return ReadTimeline(bytes.NewReader(b)) })
}

// ReadTimeline reads whole lines of a timeline.csv.
func ReadTimeline(from io.Reader) (rows []Row, err error) {
	var without error
	columns := slices.DeleteFunc(timelineHeader(), func(name string) bool { return slices.Contains(answersHeader(), name) })
	err = eachCSVRow(from, "timeline", columns, func(r *csvRow) {
		row := timelineRowOf(r)
		var watches bool
		if watches, without = hasWatchColumns(r); watches {
			row.Watch = watchOf(r)
		}
		if without != nil && r.err == nil {
			r.err = without
		}
		if r.err == nil {
			rows = append(rows, row)
		}
	})
	return rows, err
}

func timelineRowOf(r *csvRow) Row {
	row := Row{
		Phase: r.field("phase"), Second: r.int("second"),
		Due: r.uint("due"), Done: r.uint("done"), OK: r.uint("ok"),
		Misses: r.uint("misses"), Conflicts: r.uint("conflicts"), Errors: r.uint("errors"),
		ErrorsByKind: map[string]uint64{},
		P50:          r.figure("response_p50_ns"), P99: r.figure("response_p99_ns"),
		P999: r.figure("response_p99_9_ns"), Max: r.figure("response_max_ns"),
		BytesIn: r.uint("bytes_in"), BytesOut: r.uint("bytes_out"),
		Connections: r.int("connections"), Clients: r.int("clients"), InFlight: r.int("in_flight"),
	}
	var err error
	if row.Time, err = time.Parse(time.RFC3339Nano, r.field("time")); err != nil {
		r.fail("time", "a time in UTC")
	}
	for name, to := range map[string]*uint64{"stale": &row.Stale, "unverifiable": &row.Unverifiable, "keys_read": &row.KeysRead} {
		if r.has(name) {
			*to = r.uint(name)
		}
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if n := r.uint("errors_" + o.String()); n > 0 {
			row.ErrorsByKind[o.String()] = n
		}
	}
	return row
}
