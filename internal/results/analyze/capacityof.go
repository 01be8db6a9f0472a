package analyze

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
)

// CapacityFinding is what a search for a capacity came to.
type CapacityFinding struct {
	*record.Capacity
	Run *record.Run
	// Seconds are how long the search was under way: from its first trial on.
	Seconds float64
	// Curve is each trial of a load that was not only to settle, the lowest rate first.
	Curve []CapacityPoint
	// Snapshots and Compactions of the store lay in the trials' windows; LogsRead says
	// that its logs were read, which tell of them.
	Snapshots, Compactions uint64
	LogsRead               bool
}

// CapacityPoint is a trial of the curve.
type CapacityPoint struct {
	Trial *record.Trial
	record.CapacityTrial
}

// CapacityOf is what a run's search came to, whose events have been read
// (record.Run.ReadEvents); nil for a run that is none.
func CapacityOf(run *record.Run) *CapacityFinding {
	if run.Capacity == nil {
		return nil
	}
	found := *run.Capacity
	f := &CapacityFinding{Capacity: &found, Run: run}
	if found.Status == record.CapacitySearching {
		switch run.State {
		case record.Interrupted:
			found.Status, found.Why = string(capacity.Interrupted), "it was interrupted"
		case record.Failed:
			found.Status, found.Why = string(record.Failed), run.Failure
		}
	}
	for i := range run.Clusters {
		f.LogsRead = f.LogsRead || run.Clusters[i].Started
	}
	for i := range min(len(run.Trials), len(found.Trials)) {
		t, tried := &run.Trials[i], found.Trials[i]
		f.span(t, run.Trials[0].Started.Sub(t.Started).Seconds())
		if tried.Purpose != string(capacity.Settle) && tried.Void == "" {
			f.Curve = append(f.Curve, CapacityPoint{t, tried})
		}
	}
	slices.SortStableFunc(f.Curve, func(a, b CapacityPoint) int { return cmp.Compare(a.Rate, b.Rate) })
	return f
}

// span takes a trial's time and what the store did in it, which began so many seconds
// after the first.
func (f *CapacityFinding) span(t *record.Trial, before float64) {
	f.Seconds = max(f.Seconds, t.Seconds-before)
	h := EventsOf(t)
	for _, e := range h.Counted {
		switch e.Kind {
		case stores.SnapshotDone:
			f.Snapshots += e.Times
		case stores.Compaction:
			f.Compactions += e.Times
		}
	}
}

// Width is that of the interval as a share of its middle; false if it is open.
func (f *CapacityFinding) Width() (float64, bool) {
	if f.UpperPerSecond == nil || f.LowerPerSecond <= 0 {
		return 0, false
	}
	i := capacity.Interval{Lower: f.LowerPerSecond, Upper: *f.UpperPerSecond}
	return i.Width(), true
}
