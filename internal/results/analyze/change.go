package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// MinRepeats is the minimum number of repeats that each side needs before a change has an interval
// and is judged.
const MinRepeats = 5

// Change is the relative difference between a figure and its baseline. For example, 0.25 means an
// increase by 25 %.
type Change struct {
	Share float64
	Known bool
	// Low and High are the bounds of the change with 95 % confidence. They are set only if Interval
	// is set.
	Low, High float64
	Interval  bool
	// Judgement contains the word that describes the change. If Interval is set, the word is based
	// on an interval that is corrected for the number of changes judged together. Otherwise, the
	// word is stats.Unclear.
	Judgement                   stats.Judgement
	CorrectedLow, CorrectedHigh float64
	// IntervalLackReason is the reason why the change has no interval, such as "a repeat has no
	// value above 0". It is empty if the only reason is that there are too few repeats.
	IntervalLackReason string

	Ratio stats.Ratio
	// Disturbed is set if disturbances may have changed the value of a repeat.
	Disturbed bool
}

// ChangeOf compares the repeats of a figure with the repeats of its baseline. The change is the
// ratio of their geometric means (see stats.Ratio). All repeats need a value above 0. The interval
// needs MinRepeats repeats on both sides. If `rounds` is set, repeats with the same index in
// `current` and `base` belong to the same round.
func ChangeOf(current, base Repeated, rounds bool) Change {
	a, okA := current.Numbers()
	b, okB := base.Numbers()
	fewest := min(len(current.Values), len(base.Values))
	c := Change{Judgement: stats.Judgement{Word: stats.Unclear, MoreRepeats: max(MinRepeats-fewest, 0), MoreIsLowerBound: true}}
	if !okA || !okB {
		c.IntervalLackReason = "at least one repeat has no value, or a value of 0"
		return c
	}
	c.Share, c.Known = stat.GeometricMean(a.Values)/stat.GeometricMean(b.Values)-1, true
	if fewest < MinRepeats {
		return c
	}
	ratioOf := stats.RatioOf
	if rounds {
		ratioOf = stats.RatioOfRounds
	}
	if c.Ratio, c.Interval = ratioOf(a, b); c.Interval {
		i := c.Ratio.Interval(stats.Level)
		moved := func(effect float64) bool { return math.Abs(effect) >= verdict.NotedEffect }
		c.Disturbed = slices.ContainsFunc(slices.Concat(current.Effects, base.Effects), moved)
		c.Share, c.Low, c.High = i.Value-1, i.Low-1, i.High-1
	}
	if !rounds && max(typicalEffect(current.Effects), typicalEffect(base.Effects)) > maxEffectDifference {
		return c.WithoutInterval(fmt.Sprintf("on one of the two sides, disturbances may have changed at least half of the repeats by more than %s; repeat the measurement on a quieter machine, or measure the baseline in the same run",
			text.Share(maxEffectDifference)))
	}
	return c
}

// maxEffectDifference limits the typical effect of disturbances if the two sides were measured at
// different times. If the effect is larger, the change is not judged, because the effects that were
// estimated at one time say little about another time. In a test on a fully loaded machine, the
// estimated effects were 54 to 98 %, and one of ten pairs of equal runs was judged to be better.
const maxEffectDifference = 0.25

// typicalEffect returns the median of the absolute values of the effects, or 0 if there are none.
func typicalEffect(effects []float64) float64 {
	sizes := make([]float64, len(effects))
	for i, e := range effects {
		sizes[i] = math.Abs(e)
	}
	return stat.UpperMedian(sizes)
}

// WithoutInterval returns the change without its interval. The parameter `lacking` is the reason
// why the interval would be wrong.
func (c Change) WithoutInterval(lacking string) Change {
	if c.Interval {
		c.Interval, c.IntervalLackReason, c.Judgement = false, lacking, stats.Judgement{Word: stats.Unclear}
	}
	return c
}

// WithShownFigures recomputes the change from the two rounded figures that are shown, unless the
// change has an interval. For example, a report never shows an increase next to the figures 23 ms
// and 20 ms.
func (c Change) WithShownFigures(current, base figures.Value) Change {
	if !c.Interval && c.Known && current.Known && base.Known && base.Number > 0 {
		c.Share = current.Number/base.Number - 1
	}
	return c
}
