package cli

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// intervalWatch is what watchers got in the seconds of a line: events by when
// they came. Which are lost is known when the trial has ended.
type intervalWatch struct {
	Events     uint64       `json:"events"` // distinct ones
	PerSecond  *float64     `json:"events_per_second"`
	Duplicated uint64       `json:"duplicated_events"`
	Reordered  uint64       `json:"reordered_events"`
	FromDue    record.Times `json:"from_due_ns"` // to arrival
}

// add takes a second; its times go into arrival.
func (w *intervalWatch) add(s *measure.Watch, arrival *measure.Histogram) {
	w.Events += s.Delivered
	w.Duplicated += s.Duplicated
	w.Reordered += s.Reordered
	if s.FromDue != nil {
		arrival.Merge(s.FromDue)
	}
}

// end settles the figures; seconds is 0 if it is not known how many they were.
func (w *intervalWatch) end(arrival *measure.Histogram, seconds float64) {
	w.FromDue = record.Times{Summary: measure.Summarize(arrival, 0)}
	if seconds > 0 {
		rate := float64(w.Events) / seconds
		w.PerSecond = &rate
	}
}

// endWatch is what became of a trial's watch events, as its result has it.
type endWatch struct {
	PerSecond  float64      `json:"events_per_second"`
	Expected   uint64       `json:"expected_events"`
	Delivered  uint64       `json:"delivered_events"`
	Lost       uint64       `json:"lost_events"`
	Duplicated uint64       `json:"duplicated_events"`
	Reordered  uint64       `json:"reordered_events"`
	FromDue    record.Times `json:"from_due_ns"`
}

func endWatchOf(t *record.Trial) *endWatch {
	w := t.Watch
	if w == nil {
		return nil
	}
	return &endWatch{w.PerSecond, w.Expected, w.Delivered, w.Lost, w.Duplicated, w.Reordered, w.FromDue}
}
