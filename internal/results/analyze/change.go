package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// MinRepeats is the number of repeats that each side needs for an interval of a change and for a
// judgement.
const MinRepeats = 5

// Change is the relative difference of a figure from its baseline: 0.25 is a quarter more.
type Change struct {
	Share float64
	Known bool
	// Low and High bound the change with 95 % confidence, if Interval.
	Low, High float64
	Interval  bool
	// Judged is the word for the change: with Interval by an interval corrected for the number
	// of changes judged together, otherwise stats.Unclear.
	Judged                      stats.Judgement
	CorrectedLow, CorrectedHigh float64
	// Lacking describes why the change has no interval, such as "a number above 0 in every
	// repeat"; empty if only repeats are missing.
	Lacking string

	Ratio stats.Ratio
	// Disturbed reports whether disturbances may have moved a repeat.
	Disturbed bool
}

// ChangeOf compares the repeats of a figure with those of its baseline by the ratio of their
// geometric means (stats.Ratio). All repeats need figures above 0; the interval needs MinRepeats
// on both sides. With rounds, repeats at the same index of now and base belong to the same
// round.
func ChangeOf(now, base Repeated, rounds bool) Change {
	a, okA := now.Numbers()
	b, okB := base.Numbers()
	fewest := min(len(now.Values), len(base.Values))
	c := Change{Judged: stats.Judgement{Word: stats.Unclear, More: max(MinRepeats-fewest, 0), AtLeast: true}}
	if !okA || !okB {
		c.Lacking = "a repeat has no value above 0"
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
		c.Disturbed = slices.ContainsFunc(slices.Concat(now.Effects, base.Effects), moved)
		c.Share, c.Low, c.High = i.Value-1, i.Low-1, i.High-1
	}
	if !rounds && max(typicalEffect(now.Effects), typicalEffect(base.Effects)) > mostApart {
		return c.WithoutInterval(fmt.Sprintf("disturbances may have moved half of the repeats of one side by more than %s; repeat on a quieter machine, or with the baseline in the same run",
			text.Share(mostApart)))
	}
	return c
}

// mostApart is the largest typical effect at which repeats of two different times are still
// compared. The claimed effects at one time predict little about another time: of ten pairs of
// equal runs on a full machine, with claims of 54 to 98 %, one was called better.
const mostApart = 0.25

// typicalEffect returns the median of the effects' absolute values; 0 without effects.
func typicalEffect(effects []float64) float64 {
	if len(effects) == 0 {
		return 0
	}
	sizes := make([]float64, len(effects))
	for i, e := range effects {
		sizes[i] = math.Abs(e)
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// WithoutInterval returns the change without its interval, which would be wrong for the reason
// in lacking.
func (c Change) WithoutInterval(lacking string) Change {
	if c.Interval {
		c.Interval, c.Lacking, c.Judged = false, lacking, stats.Judgement{Word: stats.Unclear}
	}
	return c
}

// WithShownFigures returns a change that has no interval with its share computed from the two
// rounded figures shown, so that 23 ms to 20 ms is not shown as an increase.
func (c Change) WithShownFigures(now, base record.Value) Change {
	if !c.Interval && c.Known && now.Known && base.Known && base.Number > 0 {
		c.Share = now.Number/base.Number - 1
	}
	return c
}
