// Package history follows metrics over many runs. It collects a series for each trial and metric
// from run directories and from the files of other benchmarks, and finds the runs at which a series
// changed.
package history

import (
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history/changepoint"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// History holds the series of several runs.
type History struct {
	Series []Series // in the order of their first points
	// Runs is the number of run directories and files. First and Last are the times of the first
	// and the last of them; both are zero if the time of any of them is unknown.
	Runs        int
	First, Last time.Time
	Margin      float64
	// SelectionText describes the conditions by which Select removed changes, for example
	// " since 2026-11-01". It is empty if there were no conditions.
	SelectionText string
	// Notes holds sentences about the limits of the series, for example about runs that are left
	// out.
	Notes []string
}

// Series is a metric of one trial over many runs.
type Series struct {
	Trial  string
	Metric Metric
	Points []Point
	// Changes holds the changes of the series, in order.
	Changes []Change
	// Unconfirmed is the number of points at the end of the series that differ from the level
	// before them, but are too few to be a change. UnconfirmedShare is the difference between these
	// points and that level, as a share of the level.
	Unconfirmed      int
	UnconfirmedShare float64
}

// Metric describes the metric of a series.
type Metric struct {
	Name        string
	Unit        measure.Unit
	ForeignUnit string // the unit in another program's file; empty if Unit is set
	Direction   figures.Direction
}

// Text formats a value of the metric with its unit.
func (m *Metric) Text(x float64) string {
	if near := math.Round(x); math.Abs(x-near) < 1e-9*near {
		x = near // removes the rounding error of a mean of whole numbers
	}
	if m.ForeignUnit != "" {
		return text.Number(x) + " " + m.ForeignUnit
	}
	return m.Unit.Quantity(x)
}

// UnitName returns the name of the unit in files, such as ns.
func (m *Metric) UnitName() string {
	if m.ForeignUnit != "" {
		return m.ForeignUnit
	}
	switch m.Unit {
	case measure.Nanoseconds:
		return "ns"
	case measure.Seconds, measure.Length:
		return "s"
	case measure.Rate:
		return "1/s"
	case measure.Bytes:
		return "B"
	}
	return ""
}

// Point is the value of a series in one run.
type Point struct {
	// Source is the path of the run directory or file. Name is the name of the run or file.
	Source, Name string
	Time         time.Time // zero if unknown
	// Version is the store's version. Label is the scenario's name for the store's build, or a
	// commit.
	Version, Label string
	Value          float64
	// Low and High are the ends of the value's 95 % confidence interval. They are set only if
	// Interval is set.
	Low, High float64
	Interval  bool
	Repeats   int
	Verdict   string // empty for another program's file
	// ExclusionReason is the reason why the point does not count. It is empty if the point counts.
	ExclusionReason string

	possibleEffect float64
	conditions     *record.Conditions // nil for another program's file
}

// Known reports whether the point has a value.
func (p *Point) Known() bool { return p.Value > 0 }

// Suspect reports whether the value has a verdict other than valid.
func (p *Point) Suspect() bool { return p.Verdict != "" && p.Verdict != string(verdict.Valid) }

// Build returns the label of the measured build or, if it has no label, its version.
func (p *Point) Build() string {
	if p.Label != "" {
		return p.Label
	}
	return p.Version
}

// Title returns a short name of the point: its date and build or, if neither is known, its Name.
func (p *Point) Title() string {
	words := make([]string, 0, 2)
	if !p.Time.IsZero() {
		words = append(words, p.Time.UTC().Format(time.DateOnly))
	}
	if build := p.Build(); build != "" {
		words = append(words, build)
	}
	if len(words) == 0 {
		return p.Name
	}
	return strings.Join(words, " ")
}

// Change is a change of a series. Its indexes refer to Series.Points.
type Change struct {
	Kind changepoint.Kind
	// Index is the first point of the new level. With 95 % confidence, the true first point is
	// between First and Last, inclusive.
	Index, First, Last int
	// LastDriftIndex is the last point of a drift. For a step, it equals Index.
	LastDriftIndex int
	// ConfirmedBy is the point that confirmed the change.
	ConfirmedBy   int
	Before, After float64 // the levels
	// Share is the relative change of the level. Low and High are the ends of its 95 % confidence
	// interval.
	Share, Low, High float64
	// Word is the judgment: better, worse, same or unclear. It is empty if the metric has no
	// direction.
	Word stats.Word
	// Confidence is 1 minus the probability that noise alone would look like this change.
	Confidence float64
	// ConditionChanges holds the conditions that changed between the run of the point Index and the
	// run before it.
	ConditionChanges []compare.Side
}

// findChanges finds the changes of a series from its points.
func (s *Series) findChanges(margin float64) {
	var points []changepoint.Point
	var index []int // index in s.Points of each point in points
	for i := range s.Points {
		p := &s.Points[i]
		if p.ExclusionReason != "" {
			continue
		}
		one := changepoint.Point{Value: math.Log(p.Value), PossibleEffect: p.possibleEffect}
		if p.Interval && p.Low > 0 {
			const normal = 1.96
			one.Error = math.Log(p.High/p.Low) / (2 * normal)
		}
		points, index = append(points, one), append(index, i)
	}
	changes, unconfirmed := changepoint.Find(points)
	sizes := changepoint.Sizes(points, changes)
	for i := range changes {
		c, size := &changes[i], &sizes[i]
		change := Change{
			Kind: c.Kind, Index: index[c.Index], First: index[c.Low], Last: index[c.High], LastDriftIndex: index[c.LastDriftIndex], ConfirmedBy: index[c.ConfirmedBy],
			Before: math.Exp(size.Before), After: math.Exp(size.After),
			Share: math.Expm1(size.Value), Low: math.Expm1(size.Low), High: math.Expm1(size.High), Confidence: 1 - c.PValue,
		}
		if s.Metric.Direction != figures.NoDirection {
			ratio := stats.Interval{Value: math.Exp(size.Value), Low: math.Exp(size.Low), High: math.Exp(size.High), Level: stats.Level}
			change.Word = stats.WordOf(ratio, margin, s.Metric.Direction == figures.HigherIsBetter)
		}
		if c.Kind == changepoint.Step && c.Index > 0 {
			change.ConditionChanges = s.conditionChanges(index[c.Index-1], index[c.Index])
		}
		s.Changes = append(s.Changes, change)
	}
	if n := len(points); unconfirmed > 0 {
		from := 0
		if len(changes) > 0 {
			// the unconfirmed points may be the last points of a drift
			last := &changes[len(changes)-1]
			from = min(max(last.High, last.LastDriftIndex), n-unconfirmed-1)
		}
		s.Unconfirmed = unconfirmed
		s.UnconfirmedShare = math.Expm1(meanOf(points[n-unconfirmed:]) - meanOf(points[from:n-unconfirmed]))
	}
}

func meanOf(points []changepoint.Point) (mean float64) {
	for _, p := range points {
		mean += p.Value / float64(len(points))
	}
	return mean
}

// conditionChanges returns the conditions that changed between two points.
func (s *Series) conditionChanges(before, at int) []compare.Side {
	a, b := s.Points[at].conditions, s.Points[before].conditions
	if a == nil || b == nil {
		return nil
	}
	return compare.DifferingConditions(&record.Trial{Conditions: *a}, &record.Trial{Conditions: *b})
}

// CountUsable returns the number of points that count.
func (s *Series) CountUsable() (count int) {
	for i := range s.Points {
		if s.Points[i].ExclusionReason == "" {
			count++
		}
	}
	return count
}

// Name returns the name of the series.
func (s *Series) Name() string { return s.Trial + " " + s.Metric.Name }
