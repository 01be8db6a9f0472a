package analyze

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// MinRepeats is how many repeats each side needs for the interval of a change.
const MinRepeats = 5

// alpha is the share of cases in which an interval may miss the true change.
const alpha = 0.05

// Change is how much a figure differs from its baseline, as a share of it:
// 0.25 is a quarter more.
type Change struct {
	Share float64
	Known bool
	// Low and High bound the change with 95 % confidence, if Interval.
	Low, High float64
	Interval  bool
}

// ChangeOf compares the repeats of a figure with those of its baseline: the
// ratio of the medians. The interval holds the ratios that a Mann-Whitney
// U-test at 5 % does not refute, which assumes nothing of the figures'
// distribution; it needs MinRepeats on both sides.
func ChangeOf(now, base []record.Value, better record.Better) Change {
	a, b := Median(now, better), Median(base, better)
	if !a.Known || !b.Known || b.Number <= 0 {
		return Change{}
	}
	c := Change{Share: a.Number/b.Number - 1, Known: true}
	x, y := positive(now), positive(base)
	if len(x) < MinRepeats || len(y) < MinRepeats || len(x) != len(now) || len(y) != len(base) {
		return c
	}
	low, high := ratios(x, y)
	c.Low, c.High, c.Interval = low-1, high-1, true
	return c
}

// positive is the figures above 0, of which ratios can be made.
func positive(all []record.Value) []float64 {
	var values []float64
	for _, f := range all {
		if f.Known && f.Number > 0 {
			values = append(values, f.Number)
		}
	}
	return values
}

// ratios is the interval of factors that, applied to y, make it such that the
// test does not distinguish it from x. The test's result changes only where a
// factor is the ratio of two values, so the interval's ends are such ratios; between
// two neighbours it is asked once.
func ratios(x, y []float64) (low, high float64) {
	var at []float64
	for _, a := range x {
		for _, b := range y {
			at = append(at, a/b)
		}
	}
	slices.Sort(at)
	middle := at[len(at)/2]
	at = slices.Compact(at)
	center, _ := slices.BinarySearch(at, middle)
	// The gap i lies between at[i] and at[i+1].
	accepted := func(i int) bool { return likely(x, y, math.Sqrt(at[i])*math.Sqrt(at[i+1])) }
	// Outwards from the middle, gap by gap: the factors accepted have no hole.
	low, high = middle, middle
	first := search(center, func(n int) bool { return accepted(center - n) })
	last := search(len(at)-1-center, func(n int) bool { return accepted(center + n - 1) })
	return min(low, at[center-first]), max(high, at[center+last])
}

// search is the largest n up to most so that ok(1) to ok(n) hold, where ok
// turns false once; 0 if not even ok(1).
func search(most int, ok func(n int) bool) int {
	low, high := 0, most+1
	for high-low > 1 {
		if n := low + (high-low)/2; ok(n) {
			low = n
		} else {
			high = n
		}
	}
	return low
}

// likely reports whether the test does not distinguish x from factor times y.
func likely(x, y []float64, factor float64) bool {
	scaled := make([]float64, 0, len(y))
	for _, v := range y {
		scaled = append(scaled, factor*v)
	}
	limits := benchmath.DefaultThresholds
	limits.CompareAlpha = alpha
	test := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(x), &limits), benchmath.NewSample(scaled, &limits))
	return test.P > alpha
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
