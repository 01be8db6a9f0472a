package record

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Row is a row of timeline.csv. It describes one second.
type Row struct {
	Time                                     time.Time
	Phase                                    string
	Second                                   int
	Due, Done, OK, Misses, Conflicts, Errors uint64
	ErrorsByKind                             map[string]uint64 // if the row was read from a file, it contains only counts above 0
	// Stale and Unverifiable are the numbers of reads that were due in this second and had this
	// outcome. KeysRead is the number of keys in the results of the reads that completed in this
	// second.
	Stale, Unverifiable, KeysRead uint64
	// P50, P99, P999 and Max are statistics of the response times in this second. If a cell is
	// empty, the statistic is not known.
	P50, P99, P999, Max            measure.Figure
	BytesIn, BytesOut              uint64
	Connections, Clients, InFlight int
	// Watch describes the watch events in this second. It is nil if the trial has no watchers.
	Watch *RowWatch
}

// RowWatch describes the watch events that arrived in one second. Events is the number of distinct
// events.
type RowWatch struct {
	Events, Duplicated, Reordered uint64
	// P50, P99 and Max are statistics of the time from when a write was due until its event
	// arrived. If a cell is empty, the statistic is not known.
	P50, P99, Max measure.Figure
}

// columns returns the columns that are in every timeline.csv.
func (r *Row) columns() []column {
	unix := unixTime(r.Time)
	all := []column{
		{"time", &r.Time}, {"unix_seconds", &unix}, {"phase", &r.Phase}, {"second", &r.Second}, {"due", &r.Due}, {"done", &r.Done},
		{"ok", &r.OK}, {"misses", &r.Misses}, {"conflicts", &r.Conflicts}, {"errors", &r.Errors},
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		all = append(all, column{"errors_" + o.String(), counter{r.ErrorsByKind, o.String()}})
	}
	return append(all,
		column{"response_p50_ns", &r.P50}, column{"response_p99_ns", &r.P99}, column{"response_p99_9_ns", &r.P999}, column{"response_max_ns", &r.Max},
		column{"bytes_in", &r.BytesIn}, column{"bytes_out", &r.BytesOut},
		column{"connections", &r.Connections}, column{"clients", &r.Clients}, column{"in_flight", &r.InFlight},
		column{"stale", &r.Stale}, column{"unverifiable", &r.Unverifiable}, column{"keys_read", &r.KeysRead})
}

// columns returns the columns for watch events. If the trial has watchers, these columns follow the
// others.
func (w *RowWatch) columns() []column {
	return []column{
		{"watch_events", &w.Events}, {"watch_duplicated", &w.Duplicated}, {"watch_reordered", &w.Reordered},
		{"watch_p50_ns", &w.P50}, {"watch_p99_ns", &w.P99}, {"watch_max_ns", &w.Max},
	}
}

// written returns the columns that this version writes for a row.
func (r *Row) written() []column {
	all := r.columns()
	if r.Watch != nil {
		all = append(all, r.Watch.columns()...)
	}
	return all
}

// rowOf returns the row of timeline.csv for a second. A percentile is not known if the second has
// too few operations, or if the operation at the percentile's rank failed. watchers is the number
// of watchers of each watched key, or 0 if there are no watchers. The contents of scratch are
// overwritten.
func rowOf(s *measure.Second, start time.Time, watchers uint64, scratch *measure.Histogram) *Row {
	r := &Row{
		Time: start, Phase: s.Phase.String(), Second: s.Index, Due: s.Due, Done: s.Done,
		OK: s.Outcomes[kv.OK], Misses: s.Outcomes[kv.Miss], Conflicts: s.Outcomes[kv.Conflict], Errors: s.Failed(), ErrorsByKind: map[string]uint64{},
		Stale: s.Outcomes[kv.Stale], Unverifiable: s.Outcomes[kv.Unverifiable], KeysRead: s.Keys,
		BytesIn: s.BytesIn, BytesOut: s.BytesOut, Connections: s.Connections, Clients: s.Clients, InFlight: s.InFlight,
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		r.ErrorsByKind[o.String()] = s.Outcomes[o]
	}
	response := s.Response(scratch)
	times := measure.PercentilesOf(response, r.Errors, 50, 99, 99.9)
	r.P50, r.P99, r.P999, r.Max = times[0], times[1], times[2], measure.Slowest(response, r.Errors)
	if watchers > 0 {
		// The times exclude lost events, which are known only at the end of the trial.
		w := &s.Watch
		times := measure.DropUnsupported(measure.PercentilesOf(w.FromDue, 0, 50, 99), measure.Count(w.FromDue), watchers, 50, 99)
		r.Watch = &RowWatch{Events: w.Delivered, Duplicated: w.Duplicated, Reordered: w.Reordered, P50: times[0], P99: times[1], Max: measure.Slowest(w.FromDue, 0)}
	}
	return r
}

// OpenTimeline reads the timeline.csv in a trial's folder. As with OpenTrial, the file may be
// missing or have an incomplete last line.
func OpenTimeline(dir, folder string) ([]Row, error) {
	return timelineRows.open(dir, folder)
}

// readTimeline parses the complete lines of a timeline.csv.
func readTimeline(b []byte) (rows []Row, err error) {
	watching := names((&RowWatch{}).columns())
	var watched RowWatch
	var columns []column // columns that point into row, so that each row of the file is read into row
	row := Row{ErrorsByKind: map[string]uint64{}}
	err = eachCSVRow(b, "timeline", names((&Row{}).columns()), func(r *csvRow) {
		if columns == nil {
			if slices.ContainsFunc(watching, r.hasColumn) {
				row.Watch = &watched
				for _, name := range watching {
					if !r.hasColumn(name) {
						r.err = fmt.Errorf("the timeline has no column %q", name)
					}
				}
			}
			columns = row.written()
		}
		watch := row.Watch
		row, watched = Row{ErrorsByKind: row.ErrorsByKind, Watch: watch}, RowWatch{}
		clear(row.ErrorsByKind)
		if r.read(columns); r.err == nil {
			read := row
			read.ErrorsByKind = maps.Clone(row.ErrorsByKind)
			if watch != nil {
				read.Watch = new(watched)
			}
			rows = append(roomFor(rows, b), read)
		}
	})
	return rows, err
}
