package runs

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TrialWithP99 returns a trial whose timeline has the given p99 values in milliseconds, one per
// second. A value of 0 means that all operations in that second failed. A negative value means that
// almost no operation was done.
func TrialWithP99(p99 ...float64) *record.Trial {
	opened := Noon
	t := &record.Trial{State: record.Complete, Opened: &opened, Seconds: float64(len(p99))}
	for i, ms := range p99 {
		r := record.Row{Time: Noon.Add(time.Duration(i) * time.Second), Phase: measure.Measured.String(), Second: i, Due: 1000, Done: 1000, OK: 1000}
		switch {
		case ms == 0:
			r.Errors, r.OK, r.Done = 1000, 0, 0
		case ms < 0:
			r.Done, r.P99 = 3, measure.Figure{NS: 5e6, Known: true}
		default:
			r.P99 = measure.Figure{NS: ms * 1e6, Known: true}
		}
		t.Timeline = append(t.Timeline, r)
	}
	return t
}

// MemberEvent returns an event from a member's log. The event ended at Noon plus `after`, and it
// lasted for `took`.
func MemberEvent(after time.Duration, member string, kind store.SignalKind, took time.Duration) record.Event {
	return record.Event{Time: Noon.Add(after), Kind: string(kind), Member: member, Duration: took, Line: "the log's"}
}

// AddRows adds rows of machines.csv with the same name to a trial: one at the start of the window,
// and one after each second. The function `change` fills a row; its second argument is the number
// of seconds since the start.
func AddRows(t *record.Trial, name string, seconds int, change func(r *record.MachineRow, second float64)) {
	for second := range seconds + 1 {
		r := record.NewMachineRow(t.Opened.Add(time.Duration(second)*time.Second), name)
		change(r, float64(second))
		t.Machines = append(t.Machines, *r)
	}
}
