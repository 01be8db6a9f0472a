package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Word is the result of a comparison in one word.
type Word string

// The values of Word.
const (
	Better Word = "better"
	Worse  Word = "worse"
	// Same means that the whole interval is inside the practical margin. The interval may exclude
	// 1: there is a difference, but it is too small to matter.
	Same Word = "same"
	// Unclear is the result in all other cases. With enough repeats, the result would be one of the
	// other words.
	Unclear Word = "unclear"
)

// Margin is the default practical margin. A difference of up to 3 % does not matter.
const Margin = 0.03

// Judgement is the result of one comparison in a group of comparisons that were judged together.
type Judgement struct {
	Word Word
	// MoreRepeats is the number of additional repeats on each side that would decide the comparison
	// with a probability of 80 %, if these repeats are like the previous ones. It is above 0 only
	// if Word is Unclear, and at most MaxMoreRepeats. MoreIsLowerBound is set if more than
	// MoreRepeats repeats may be needed.
	MoreRepeats      int
	MoreIsLowerBound bool
	// PValue is the p-value of the hypothesis that the ratio is 1. AdjustedPValue is the p-value
	// after Holm's correction.
	PValue, AdjustedPValue float64
	// Interval is the interval of this ratio alone, at the confidence level Level. Corrected is the
	// wider interval that determines Word.
	Interval, Corrected Interval
}

// MaxMoreRepeats is the maximum of Judgement.MoreRepeats.
const MaxMoreRepeats = 1000

// Comparison is a ratio to be judged. MoreIsBetter is set if higher values of the figure are
// better.
type Comparison struct {
	Ratio        Ratio
	MoreIsBetter bool
}

// Judge judges several comparisons that a reader sees together. It corrects for their number with
// Holm's method ("A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Stat. 6,
// 1979). As a result, the probability that any comparison without a real difference is called
// better or worse is at most 5 %, whatever the results of the other comparisons.
//
// The comparison with the lowest p-value is judged by its interval at the level 1 - 5 %/n, the next
// one by its interval at 1 - 5 %/(n-1), and so on, until an interval includes 1. All further
// comparisons are judged at the level of that interval. So each word agrees with the interval that
// is shown next to it. The parameter `margin` is the practical margin, a share above 0: ratios from
// 1/(1+margin) to 1+margin are inside it.
func Judge(all []Comparison, margin float64) []Judgement {
	p := make([]float64, len(all))
	for i := range all {
		p[i] = all[i].Ratio.P()
	}
	adjusted, levels := holm(p)
	judged := make([]Judgement, len(all))
	for i := range all {
		ratio, level := all[i].Ratio, levels[i]
		j := Judgement{PValue: p[i], AdjustedPValue: adjusted[i], Interval: ratio.Interval(Level), Corrected: ratio.Interval(level)}
		if j.Word = WordOf(j.Corrected, margin, all[i].MoreIsBetter); j.Word == Unclear {
			j.MoreRepeats = ratio.moreRepeats(level, margin)
			j.MoreIsLowerBound = j.MoreRepeats == MaxMoreRepeats
		}
		judged[i] = j
	}
	return judged
}

// holm returns the adjusted p-values of a family of comparisons. It also returns a confidence level
// for each comparison. The interval at this level excludes 1 if and only if Holm's method rejects
// the hypothesis that the ratio is 1.
func holm(p []float64) (adjusted, levels []float64) {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, levels = make([]float64, len(p)), make([]float64, len(p))
	left, rejecting, most := len(p), true, 0.0
	for rank, i := range order {
		most = max(most, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = most
		if rejecting {
			left = len(p) - rank
			rejecting = p[i] < (1-Level)/float64(left)
		}
		levels[i] = 1 - (1-Level)/float64(left)
	}
	return adjusted, levels
}

// WordOf returns the word for the interval of a ratio.
func WordOf(i Interval, margin float64, moreIsBetter bool) Word {
	switch {
	case i.Low >= 1/(1+margin) && i.High <= 1+margin:
		return Same
	case i.Low > 1 && moreIsBetter, i.High < 1 && !moreIsBetter:
		return Better
	case i.Low > 1 || i.High < 1:
		return Worse
	}
	return Unclear
}

// decisionPower is the probability with which the additional repeats (Judgement.MoreRepeats) should
// decide a comparison.
const decisionPower = 0.8

// moreRepeats returns the number of additional repeats on each side that would decide the
// comparison at a confidence level, if the ratio and the variances do not change.
func (r Ratio) moreRepeats(level, margin float64) int {
	return 1 + sort.Search(MaxMoreRepeats-1, func(n int) bool { return r.extrapolate(n+1).chance(level, margin) >= decisionPower })
}

// extrapolate returns the ratio that is expected if `more` repeats are added on each side.
func (r Ratio) extrapolate(more int) Ratio {
	r.log = r.log.extrapolate(more)
	return r
}

// chance returns the probability that a new experiment of the same size results in better, worse or
// same. It assumes that the ratio and the variances of r are the true ones. The result is better or
// worse if the logarithm of the new ratio is so far from 0 that its bounds exclude 0. It is same if
// the logarithm is so near to 0 that its bounds are inside the margin.
func (r Ratio) chance(level, margin float64) float64 {
	se, freedom := r.log.error()
	if se == 0 {
		return 0
	}
	low, high := r.log.bounds(student(level, freedom), func(t float64) float64 { return t })
	below, above := r.log.value-low, high-r.log.value
	belowOf := func(x float64) float64 { return stat.NormalCDF((x - r.log.value) / se) }
	differs := belowOf(-above) + 1 - belowOf(below)
	from, to := below-math.Log(1+margin), math.Log(1+margin)-above
	if from >= to {
		return differs
	}
	// Both conditions may be true at the same time, so compute the probability of their union.
	if from <= -above && below <= to {
		return 1
	}
	return differs + belowOf(min(to, below)) - belowOf(max(from, -above))
}
