package analyze

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
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
	// Judged is the word for the change, if Interval, chosen by an interval that
	// is corrected for how many changes were judged together.
	Judged                      stats.Judgement
	CorrectedLow, CorrectedHigh float64

	ratio stats.Ratio
}

// ChangeOf compares the repeats of a figure with those of its baseline: the
// ratio of their geometric means, which a stats.Ratio is. It needs figures above
// 0 in all repeats; the interval needs MinRepeats on both sides. If rounds, now[i]
// and base[i] are of one round.
func ChangeOf(now, base []record.Value, rounds bool) Change {
	a, okA := positive(now)
	b, okB := positive(base)
	if !okA || !okB {
		return Change{}
	}
	c := Change{Share: stat.GeometricMean(a, nil)/stat.GeometricMean(b, nil) - 1, Known: true}
	if len(a) < MinRepeats || len(b) < MinRepeats {
		return c
	}
	ratioOf := stats.RatioOf
	if rounds {
		ratioOf = stats.RatioOfRounds
	}
	if c.ratio, c.Interval = ratioOf(a, b); c.Interval {
		i := c.ratio.Interval(stats.Level)
		c.Share, c.Low, c.High = i.Value-1, i.Low-1, i.High-1
	}
	return c
}

// positive is the figures, if there are any and a ratio can be made of all.
func positive(all []record.Value) ([]float64, bool) {
	values := make([]float64, 0, len(all))
	for _, f := range all {
		if !f.Known || f.Number <= 0 {
			return nil, false
		}
		values = append(values, f.Number)
	}
	return values, len(values) > 0
}

// InFile is a figure's number as files have it: times in whole nanoseconds.
func InFile(v record.Value) float64 {
	if v.Unit == measure.Nanoseconds {
		return math.Round(v.Number)
	}
	return v.Number
}

// Typical is the geometric mean of the repeats' figures, of which ratios are
// made, or where there is none (a figure is 0, or lands on a failed operation)
// their Median.
func Typical(all []record.Value, better record.Better) record.Value {
	values, ok := positive(all)
	if !ok {
		return Median(all, better)
	}
	if len(values) == 1 {
		return all[0] // and not what logarithms make of it
	}
	return record.Value{Number: stat.GeometricMean(values, nil), Unit: all[0].Unit, Known: true}
}

// Median is the middle of the repeats' figures: of an even number the slower of
// the two in the middle, which of throughputs is the lower one. It is always the
// figure of one repeat, because the mean of two percentiles is the percentile of
// nothing. A failed figure is slower than any other; if one is not supported by
// its sample, so is the median.
func Median(all []record.Value, better record.Better) record.Value {
	unsupported := func(v record.Value) bool { return !v.Known && !v.Failed }
	if len(all) == 0 || slices.ContainsFunc(all, unsupported) {
		return record.Value{}
	}
	place := len(all) / 2
	if better == record.More {
		place = (len(all) - 1) / 2
	}
	return slices.SortedFunc(slices.Values(all), func(a, b record.Value) int { return cmp.Compare(rank(a), rank(b)) })[place]
}

// rank orders figures: one that failed is above any other.
func rank(f record.Value) float64 {
	if f.Failed {
		return math.Inf(1)
	}
	return f.Number
}
