package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Word is the result of a comparison.
type Word string

// The words of a comparison.
const (
	Better Word = "better"
	Worse  Word = "worse"
	// Same means that the whole interval is inside the practical margin, even if it excludes 1: a
	// difference that exists and does not matter.
	Same Word = "same"
	// Unclear is any other result: more repeats would decide.
	Unclear Word = "unclear"
)

// Margin is the default practical margin: a difference of up to 3 % does not matter.
const Margin = 0.03

// Judgement is the word for one of several comparisons.
type Judgement struct {
	Word Word
	// More is the number of further repeats of each side that would decide the comparison with a
	// probability of 80 % if the repeats continue as before: above 0 only if Unclear, and at most
	// MostMore. AtLeast reports whether it may take more than that.
	More    int
	AtLeast bool
	// P is the p-value of the ratio being 1, and Adjusted the same after Holm's correction.
	P, Adjusted float64
	// Interval is the ratio's own interval at Level; Corrected is the wider one that determines the
	// word.
	Interval, Corrected Interval
}

// MostMore limits Judgement.More.
const MostMore = 1000

// Compared is a ratio with the direction in which its figure is better.
type Compared struct {
	Ratio        Ratio
	MoreIsBetter bool
}

// Judge returns the words for comparisons that are read together. It corrects for their number
// after Holm ("A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Stat. 6,
// 1979): the probability that any of them is called better or worse although nothing differs is
// at most 5 %, whatever the other results. The comparison with the least p-value is judged by
// its interval at a level of 1 - 5 %/n, the next at 1 - 5 %/(n-1) and so on, until one includes
// 1; the others are judged at that one's level. So a word agrees with the interval next to it.
// The margin is a share, above 0; inside it are ratios from 1/(1+margin) to 1+margin.
func Judge(all []Compared, margin float64) []Judgement {
	p := make([]float64, len(all))
	for i := range all {
		p[i] = all[i].Ratio.P()
	}
	adjusted, levels := holm(p)
	judged := make([]Judgement, len(all))
	for i := range all {
		ratio, level := all[i].Ratio, levels[i]
		j := Judgement{P: p[i], Adjusted: adjusted[i], Interval: ratio.Interval(Level), Corrected: ratio.Interval(level)}
		if j.Word = WordOf(j.Corrected, margin, all[i].MoreIsBetter); j.Word == Unclear {
			j.More = ratio.moreRepeats(level, margin)
			j.AtLeast = j.More == MostMore
		}
		judged[i] = j
	}
	return judged
}

// holm returns the adjusted p-values of a family, and the confidence level at which each
// interval excludes 1 exactly if its hypothesis is rejected.
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

// enoughChance is the required probability that More repeats decide a comparison.
const enoughChance = 0.8

// moreRepeats returns the number of further repeats of each side that would decide the comparison
// at a level, if ratio and variances stay the same.
func (r Ratio) moreRepeats(level, margin float64) int {
	return 1 + sort.Search(MostMore-1, func(n int) bool { return r.extrapolate(n+1).chance(level, margin) >= enoughChance })
}

// extrapolate returns the ratio extrapolated to more repeats of each side.
func (r Ratio) extrapolate(more int) Ratio {
	r.log = r.log.extrapolate(more)
	return r
}

// chance returns the probability that as many new repeats as r has, distributed as in r, lead to
// better, worse or same: the logarithm of their ratio is so far from 0 that its bounds exclude 0,
// or so near that its bounds are inside the margin.
func (r Ratio) chance(level, margin float64) float64 {
	se, freedom := r.log.error()
	if se == 0 {
		return 0
	}
	low, high := r.log.bounds(student(level, freedom), func(t float64) float64 { return t })
	below, above := r.log.at-low, high-r.log.at
	belowOf := func(x float64) float64 { return stat.NormalCDF((x - r.log.at) / se) }
	differs := belowOf(-above) + 1 - belowOf(below)
	from, to := below-math.Log(1+margin), math.Log(1+margin)-above
	if from >= to {
		return differs
	}
	// Both at once is possible: count the union.
	if from <= -above && below <= to {
		return 1
	}
	return differs + belowOf(min(to, below)) - belowOf(max(from, -above))
}
