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

	// mean is the headline's mean time of the successes due in each column. bands
	// are, by panel, from the least to the most of the members, or of the machines
	// for their network.
	mean  Line
	bands map[string]Line
	// written is how many operations of the window were completed when each
	// column began, and at the end of the last; nil where some write nothing.
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
	// Grave says that it concerns the whole cluster, or that no log reports it,
	// such as a member that is lost: it is drawn through all charts.
	Grave bool
}

// PercentileCurve is a distribution of times by percentile, over all due operations as in the
// tables, up to the limit of the sample. It has no points if all failed, and its name says so.
type PercentileCurve struct {
	Name   string
	Points []PercentilePoint // in rising order
	// Count is how many operations there are, failed ones included, and Failed
	// how many failed: they are slower than any success.
	Count, Failed uint64
}

// PercentilePoint is one percentile.
type PercentilePoint struct {
	Percentile float64 // from 0 to below 100
	NS         float64
	// Sure reports whether at least ten operations are above it.
	Sure bool
}
