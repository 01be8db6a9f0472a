// Package history follows figures over many runs: it collects the series of each trial and figure
// from run directories and from the files of other benchmarks, and finds the places at which a
// figure changed.
package history

import (
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/history/changepoint"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// History holds the series of several runs.
type History struct {
	Series []Series // in the order of their first points
	// Runs is the number of run directories and files, and First and Last are the times of the first
	// and the last one; zero if a file has no time.
	Runs        int
	First, Last time.Time
	Margin      float64
	// Only says which changes the series have if some are left out, as in " since 2026-11-01".
	Only string
	// Notes are sentences about what the series lack.
	Notes []string
}

// Series is a figure of one trial over many runs.
type Series struct {
	Trial  string
	Metric Metric
	Points []Point
	// Changes are the changes of the series, in order.
	Changes []Change
	// Unconfirmed is the number of points at the end that are off the level before them and too few to
	// be a change, and Off their distance from it, as a share.
	Unconfirmed int
	Off         float64
}

// Metric describes the figure of a series.
type Metric struct {
	Name    string
	Unit    measure.Unit
	Foreign string // the unit of another program's figure; empty for Unit
	Better  record.Better
}

// Text formats a number of the metric.
func (m *Metric) Text(x float64) string {
	if near := math.Round(x); math.Abs(x-near) < 1e-9*near {
		x = near // a mean of whole numbers
	}
	if m.Foreign != "" {
		return text.Number(x) + " " + m.Foreign
	}
	return m.Unit.Quantity(x)
}

// UnitName returns the unit as files spell it.
func (m *Metric) UnitName() string {
	if m.Foreign != "" {
		return m.Foreign
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

// Point is a figure in one run.
type Point struct {
	// Source is the run directory or file, and Name the run's name.
	Source, Name string
	When         time.Time // zero if it is not known
	// Version is the store's version, and Label the scenario's name for the build, or a commit.
	Version, Label string
	Value          float64
	// Low and High bound the value with 95 % confidence, if Interval.
	Low, High float64
	Interval  bool
	Repeats   int
	Verdict   string // empty for another program's file
	// LeftOut is why the point does not count; empty if it does.
	LeftOut string

	doubt      float64
	conditions *record.Conditions // nil for another program's file
}

// Known reports whether the point has a value.
func (p *Point) Known() bool { return p.Value > 0 }

// Suspect reports whether the verdict doubts the value.
func (p *Point) Suspect() bool { return p.Verdict != "" && p.Verdict != string(verdict.Valid) }

// Build returns the label or else the version of what was measured.
func (p *Point) Build() string {
	if p.Label != "" {
		return p.Label
	}
	return p.Version
}

// Title returns a short name of the point: its date and what was measured, or its name.
func (p *Point) Title() string {
	words := make([]string, 0, 2)
	if !p.When.IsZero() {
		words = append(words, p.When.UTC().Format(time.DateOnly))
	}
	if build := p.Build(); build != "" {
		words = append(words, build)
	}
	if len(words) == 0 {
		return p.Name
	}
	return strings.Join(words, " ")
}

// Change is a change of a series. The indexes are of the series' points.
type Change struct {
	Kind changepoint.Kind
	// At is the first point of the new level, which lies from First to Last with 95 % confidence.
	At, First, Last int
	// Until is the last point of a drift; At for a step.
	Until int
	// Found is the point that confirmed the change.
	Found         int
	Before, After float64 // the levels
	// Share is the relative change of the level, and Low and High bound it with 95 % confidence.
	Share, Low, High float64
	// Word is better, worse, same or unclear; empty if the figure has no direction.
	Word stats.Word
	// Confidence is the probability that noise alone would not have looked like a change.
	Confidence float64
	// Coincides holds the conditions that changed from the run before At to the run At.
	Coincides []compare.Side
}

// follow finds the changes of a series from its points.
func (s *Series) follow(margin float64) {
	var points []changepoint.Point
	var index []int // of the points that count
	for i := range s.Points {
		p := &s.Points[i]
		if p.LeftOut != "" {
			continue
		}
		one := changepoint.Point{Value: math.Log(p.Value), Doubt: p.doubt}
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
			Kind: c.Kind, At: index[c.At], First: index[c.Low], Last: index[c.High], Until: index[c.Until], Found: index[c.Found],
			Before: math.Exp(size.Before), After: math.Exp(size.After),
			Share: math.Expm1(size.Value), Low: math.Expm1(size.Low), High: math.Expm1(size.High), Confidence: 1 - c.P,
		}
		if s.Metric.Better != record.Neither {
			ratio := stats.Interval{Value: math.Exp(size.Value), Low: math.Exp(size.Low), High: math.Exp(size.High), Level: stats.Level}
			change.Word = stats.WordOf(ratio, margin, s.Metric.Better == record.More)
		}
		if c.Kind == changepoint.Step && c.At > 0 {
			change.Coincides = s.coinciding(index[c.At-1], index[c.At])
		}
		s.Changes = append(s.Changes, change)
	}
	if n := len(points); unconfirmed > 0 {
		from := 0
		if len(changes) > 0 {
			from = max(changes[len(changes)-1].High, changes[len(changes)-1].Until)
		}
		s.Unconfirmed = unconfirmed
		s.Off = math.Expm1(meanOf(points[n-unconfirmed:]) - meanOf(points[from:n-unconfirmed]))
	}
}

// meanOf returns the mean of points.
func meanOf(points []changepoint.Point) (mean float64) {
	for _, p := range points {
		mean += p.Value / float64(len(points))
	}
	return mean
}

// coinciding returns the conditions that changed between two points.
func (s *Series) coinciding(before, at int) []compare.Side {
	a, b := s.Points[at].conditions, s.Points[before].conditions
	if a == nil || b == nil {
		return nil
	}
	return compare.Differing(&record.Trial{Conditions: *a}, &record.Trial{Conditions: *b})
}

// Counting returns the number of points that count.
func (s *Series) Counting() (count int) {
	for i := range s.Points {
		if s.Points[i].LeftOut == "" {
			count++
		}
	}
	return count
}

// Name returns the name of the series.
func (s *Series) Name() string { return s.Trial + " " + s.Metric.Name }
