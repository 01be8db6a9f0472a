package analyze

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Basis is the kind of data from which a Certainty was computed. Result files contain its values.
type Basis string

// The values of Basis.
const (
	// OverRepeats is the confidence interval of the mean over at least MinRepeats repeats.
	OverRepeats Basis = "repeats"
	// WithinRun is the confidence interval within a single run. It does not include the variation
	// between runs.
	WithinRun Basis = "run"
	// RangeOfRepeats is the minimum and maximum of the repeats. It replaces the confidence interval
	// in three cases: there are too few repeats; a value is 0, or the operation at the rank of a
	// percentile failed; or the repeats differ so much that the interval of their mean reaches 0 or
	// excludes the median that is shown.
	RangeOfRepeats Basis = "range"
)

// Certainty describes how precise a figure is: the confidence interval of its mean at the
// confidence level stats.Level, or its range.
type Certainty struct {
	Basis
	Low, High figures.Value
	// Repeats is the number of repeats. It is not set for WithinRun.
	Repeats int
	// Seconds is the number of one-second samples from which the confidence interval of a single
	// run was computed. EffectiveSeconds is the number of independent samples that would give the
	// same precision. RunTooShort is set if the figure varies too much for a run of this length.
	Seconds          int
	EffectiveSeconds float64
	RunTooShort      bool
}

// IsInterval reports whether c is a confidence interval that is based on enough data. It is false
// for nil.
func (c *Certainty) IsInterval() bool {
	return c != nil && c.Basis != RangeOfRepeats && !c.RunTooShort
}

// CertaintyOf returns how precise a row's figure is. The result is a confidence interval if there
// are at least MinRepeats comparable repeats, and a range if there are fewer. For the throughput of
// a single run, the result is the interval within the run.
func CertaintyOf(r *Row, f *figures.Figure) (c Certainty, ok bool) {
	switch {
	case len(r.Done) > 1:
		return certaintyOverRepeats(RepeatedOf(f, r.ComparableTrials()), f.Direction, r.First().UntilPrecise())
	case len(r.Done) == 1 && f.Name == "ops":
		return certaintyWithinRun(r.Done[0], f)
	}
	return c, false
}

// BoundedValue is a figure with its certainty. Certainty is nil if the certainty is unknown.
type BoundedValue struct {
	figures.Value
	*Certainty
}

// BoundedValueOf returns a row's figure with its certainty.
func BoundedValueOf(r *Row, f *figures.Figure) (v BoundedValue) {
	v.Value, _ = r.Figure(f)
	if c, ok := CertaintyOf(r, f); ok {
		v.Certainty = &c
	}
	return v
}

// ClearlyWorse reports whether a figure is clearly worse than another one: the difference exceeds
// the margin of comparisons, and the intervals, if both are known, do not overlap.
func (v BoundedValue) ClearlyWorse(than BoundedValue, better figures.Direction) bool {
	difference := v.badness(better) - than.badness(better)
	return difference > stats.Margin*math.Abs(than.badness(better)) && !v.overlaps(than)
}

// badness returns the sort key of a figure, which is higher for worse figures. It is 0 if neither
// high nor low figures are better.
func (v BoundedValue) badness(better figures.Direction) float64 {
	switch {
	case v.Failed || better == figures.LowerIsBetter:
		return rank(v.Value)
	case better == figures.HigherIsBetter:
		return -v.Number
	}
	return 0
}

// overlaps reports whether the intervals or ranges of two figures overlap. It returns false if one
// of them is not known.
func (v BoundedValue) overlaps(other BoundedValue) bool {
	x, y := v.Certainty, other.Certainty
	if x == nil || y == nil || x.RunTooShort || y.RunTooShort {
		return false
	}
	return rank(x.Low) <= rank(y.High) && rank(y.Low) <= rank(x.High)
}

// certaintyOverRepeats returns the certainty over several repeats. The parameter `stopped` is set
// if the run stopped repeating as soon as its figures were precise enough.
func certaintyOverRepeats(of Repeated, better figures.Direction, stopped bool) (c Certainty, ok bool) {
	all := of.Values
	if len(all) < 2 {
		return c, false
	}
	least, most := all[0], all[0]
	for _, v := range all {
		switch {
		case !v.Known && !v.Failed:
			return c, false
		case rank(v) < rank(least):
			least = v
		case rank(v) > rank(most):
			most = v
		}
	}
	c = Certainty{Basis: RangeOfRepeats, Low: least, High: most, Repeats: len(all)}
	if values, positive := of.Numbers(); positive && len(all) >= MinRepeats {
		i, known := stats.OverRepeats(values, stats.Level)
		if stopped {
			i, known = stats.UntilPrecise(values)
		}
		if median := Median(all, better).Number; known && i.Low > 0 && i.Low <= median && median <= i.High {
			c.Basis = OverRepeats
			c.setBounds(i, all[0])
		}
	}
	return c, true
}

func certaintyWithinRun(t *record.Trial, f *figures.Figure) (c Certainty, ok bool) {
	seconds := samples.WholeSeconds(t)
	within, ok := stats.MeanWithinRun(seconds, stats.Level)
	if !ok {
		return c, false
	}
	// If the throughput is positive but its interval reaches 0, the seconds vary too much.
	c = Certainty{Basis: WithinRun, Seconds: len(seconds), RunTooShort: within.RunTooShort || within.Low <= 0 && within.Value > 0}
	c.EffectiveSeconds = min(stats.EffectiveSize(seconds), float64(len(seconds)))
	if !c.RunTooShort { // the bounds are known only in this case
		c.setBounds(within.Interval, f.Value(t))
	}
	return c, true
}

// setBounds sets Low and High to the bounds of the interval, with the unit of the value `example`.
func (c *Certainty) setBounds(i stats.Interval, example figures.Value) {
	c.Low, c.High = example, example
	c.Low.Number, c.High.Number = i.Low, i.High
}

// basisFootnotes returns, for each basis that a column of intervals may contain, the footnote that
// explains the basis.
func basisFootnotes(all map[*Row]*Certainty) map[Basis]string {
	least, most := math.Inf(1), 0.0
	for _, c := range all {
		if c.Basis == WithinRun {
			least, most = min(least, math.Round(c.EffectiveSeconds)), max(most, math.Round(c.EffectiveSeconds))
		}
	}
	worth := fmt.Sprint(least)
	if most > least {
		worth += fmt.Sprintf(" to %g", most)
	}
	without := ""
	for r, c := range all {
		if c.Basis != WithinRun && c.Repeats < len(r.Done) {
			without = " (without repeats that are invalid, were interrupted or lost a worker)"
		}
	}
	return map[Basis]string{
		OverRepeats:    "95 % confidence interval of the mean over the repeats" + without + ".",
		RangeOfRepeats: fmt.Sprintf("Minimum and maximum of the repeats%s. A confidence interval needs at least %d repeats whose values are above 0 and do not differ too much.", without, MinRepeats),
		WithinRun:      fmt.Sprintf("95 %% confidence interval within this run, without run-to-run variation; effective sample size: %s s.", worth),
	}
}
