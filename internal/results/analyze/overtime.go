package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// OverTime is the course of a trial from its warm-up to its end, as drawn in charts. All its
// parts have the columns of one grid, so that they share a time axis.
type OverTime struct {
	Trial *record.Trial
	Grid  Grid
	// Panels are the charts over time; one without a line is left out.
	Panels []Panel
	Marks  []Mark
	Heat   HeatMap
	// Curves are the headline's times by percentile: of all operations, and of each kind if
	// there are several. ByRole and ByMember are the curves by serving role and member, if there
	// are several.
	Curves, ByRole, ByMember []PercentileCurve

	// mean is the mean headline time of the successes due in each column. bands holds, by panel,
	// the range from the minimum to the maximum of the members, or of the machines for the network.
	mean  Line
	bands map[string]Line
	// written is the number of operations of the window that were completed at the start of each
	// column, and at the end of the last; nil if some operations do not write.
	written []float64
}

// addPanel adds a panel with its lines that have values.
func (o *OverTime) addPanel(p Panel) {
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

// Mark is an event on the time axis, or several of one kind and member in one column.
type Mark struct {
	From, To float64 // in seconds from the window's opening
	Events
	Member string
	// Grave reports whether the event concerns the whole cluster, or no log reports it, such as a
	// lost member. All charts mark it.
	Grave bool
}

// PercentileCurve is a distribution of times by percentile, over all due operations as in the
// tables, up to the limit of the sample. If all operations failed, it has no points and a name that
// ends with "failed".
type PercentileCurve struct {
	Name   string
	Points []PercentilePoint // in rising order
	// Count is the number of operations including failed ones, and Failed the number of failed
	// ones, which count as slower than any success.
	Count, Failed uint64
}

// PercentilePoint is one percentile.
type PercentilePoint struct {
	Percentile float64 // from 0 to below 100
	NS         float64
	// Sure reports whether at least ten operations are above it.
	Sure bool
}
