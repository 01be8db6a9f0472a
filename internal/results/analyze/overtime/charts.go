// Package overtime computes the charts of a trial over time: lines, marks of events, the heat map
// and percentile curves. It also combines the charts of repeats, and groups the charts of several
// trials. Trace computes a trace of a run for other programs.
package overtime

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Charts holds the charts of a trial from its warm-up to its end. All of them use the columns of
// the same grid, so they share a time axis.
type Charts struct {
	Trial *record.Trial
	// Combined is set if the values of several repeats are combined. In this case, Trial is the
	// first of the repeats, and there are no Marks and no Heat.
	Combined *Combined
	Grid     Grid
	// Panels are the charts over time. Charts without lines are omitted.
	Panels []Panel
	Marks  []Mark
	Heat   HeatMap
	// Curves holds percentile curves of the times that the trial's tables show first: one curve for
	// all operations, and one for each kind of operation if there are several kinds. ByRole holds a
	// curve for each role whose members served operations, and ByMember holds a curve for each such
	// member. Each slice is empty if it would hold only one curve.
	Curves, ByRole, ByMember []PercentileCurve

	// meanLine holds, for each column, the range of the mean times of its seconds. A mean covers
	// the successful operations that became due in the second. It uses the kind of time that the
	// trial's tables show first. bands holds, for each panel, the range of the values over all
	// members. In the panel of the network, it is the range over all machines.
	meanLine Line
	bands    map[string]Line
	// completedWrites is the number of operations in the window that had completed at the start of
	// each column, with an additional value for the end of the last column. It is nil if the load
	// has operations other than writes.
	completedWrites []float64
}

// addPanel adds a panel. It omits the lines without values. If no line has values, it omits the
// panel.
func (o *Charts) addPanel(p Panel) {
	kept := p.Lines[:0]
	for _, l := range p.Lines {
		if !l.Empty() {
			kept = append(kept, l)
		}
	}
	if p.Lines = kept; len(kept) > 0 {
		o.Panels = append(o.Panels, p)
	}
}

// Mark is an event on the time axis. It may stand for several events of the same kind and member in
// one column.
type Mark struct {
	From, To float64 // in seconds since the start of the window
	analyze.Events
	Member string
	// Severe is set if the event affects the whole cluster, if it is the start of an injected
	// fault, or if it is a lost or recovered member. All charts mark severe events.
	Severe bool
}

// PercentileCurve shows the percentiles of times over all due operations, as in the tables. A curve
// of one kind of operation covers only the successes. The curve ends at the slowest operation, or
// before the first percentile whose operation failed. If all operations failed, the curve has no
// points, and its name ends with "failed".
type PercentileCurve struct {
	Name   string
	Points []PercentilePoint // in ascending order
	// Count is the number of operations, including failed operations. Failed is the number of
	// failed operations, which count as slower than any success.
	Count, Failed uint64
	// Repeats is the number of repeats whose median the curve shows. It is 0 if the curve shows one
	// trial.
	Repeats int
}

// PercentilePoint is one point of a curve: a percentile and its value.
type PercentilePoint struct {
	Percentile  float64 // at least 0 and below 100
	Nanoseconds float64
	// Least and Most are the lowest and the highest value of the repeats, if the curve combines
	// repeats.
	Least, Most float64
	// Reliable is set if at least ten operations were slower than this point.
	Reliable bool
}
