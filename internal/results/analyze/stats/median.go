package stats

import (
	"math"
	"slices"
)

// MinForMedian is the minimum number of values from which Median can compute an interval at the
// confidence level Level.
const MinForMedian = 6

// Median returns the median of independent values, with an interval at a confidence level. If the
// number of values is even, the result is the greater of the two middle values. Both bounds of the
// interval are values from the input (order statistics). The binomial distribution of a fair coin
// determines their ranks. The interval is valid for any distribution, even for one with two peaks,
// which is common for outages. It is wider than an interval that assumes a certain distribution.
// Median returns false if there are too few values: fewer than six at Level.
func Median(values []float64, level float64) (i Interval, ok bool) {
	n := len(values)
	if n == 0 || !finite(values) {
		return Interval{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	i = Interval{Value: sorted[n/2], Low: sorted[n/2], High: sorted[n/2], Level: level}
	// `below` is the probability that at most k of n values are less than the median.
	beyond, below, k := (1-level)/2, 0.0, 0
	for ; ; k++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		if below += math.Exp(a - b - c - float64(n)*math.Ln2); below > beyond {
			break
		}
	}
	if k == 0 {
		return i, false
	}
	i.Low, i.High = sorted[k-1], sorted[n-k]
	return i, true
}
