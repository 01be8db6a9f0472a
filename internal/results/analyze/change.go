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

// MinRepeats is how many repeats each side needs for the interval of a change,
// and for a word.
const MinRepeats = 5

// Change is how much a figure differs from its baseline, as a share of it:
// 0.25 is a quarter more.
type Change struct {
	Share float64
	Known bool
	// Low and High bound the change with 95 % confidence, if Interval.
	Low, High float64
	Interval  bool
	// Judged is the word for the change: if Interval chosen by an interval that is
	// corrected for how many changes were judged together, else stats.Unclear.
	Judged                      stats.Judgement
	CorrectedLow, CorrectedHigh float64
	// Lacking says what the change lacks that has no interval: "a number above 0 in
	// every repeat". Where that is repeats alone, it is empty.
	Lacking string

	Ratio stats.Ratio
	// Disturbed says that disturbances can have moved a repeat.
	Disturbed bool
}

// ChangeOf compares the repeats of a figure with those of its baseline: the
// Ratio of their geometric means, which a stats.Ratio is. It needs figures above
// 0 in all repeats; the interval needs MinRepeats on both sides. If rounds, now and
// base have the repeats of each round at the same place.
func ChangeOf(now, base Repeated, rounds bool) Change {
	a, okA := now.Numbers()
	b, okB := base.Numbers()
	fewest := min(len(now.Values), len(base.Values))
	c := Change{Judged: stats.Judgement{Word: stats.Unclear, More: max(MinRepeats-fewest, 0), AtLeast: true}}
	if !okA || !okB {
		c.Lacking = "not every repeat has a number above 0"
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
		return c.WithoutInterval(fmt.Sprintf("disturbances can have moved half of the repeats of one side by more than %s; repeat on a quieter machine, or with the baseline in the same run",
			text.Share(mostApart)))
	}
	return c
}

// mostApart is how far disturbances can have moved half of a side's repeats when the
// repeats of two times are still compared. How much of a claim is true at one time says
// little about another: of ten pairs of equal runs on a full machine, whose claims were
// 54 to 98 %, one was called better.
const mostApart = 0.25

// typicalEffect returns the median of the effects' sizes; 0 for none.
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

// WithoutInterval returns the change of repeats that an interval would be wrong for.
func (c Change) WithoutInterval(lacking string) Change {
	if c.Interval {
		c.Interval, c.Lacking, c.Judged = false, lacking, stats.Judgement{Word: stats.Unclear}
	}
	return c
}

// WithShownFigures returns the change with the share computed from the two figures that are
// shown, if it has no interval: from 23 ms to 20 ms is not shown as an increase.
func (c Change) WithShownFigures(now, base record.Value) Change {
	if !c.Interval && c.Known && now.Known && base.Known && base.Number > 0 {
		c.Share = now.Number/base.Number - 1
	}
	return c
}
