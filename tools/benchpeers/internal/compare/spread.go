// Package compare is the arithmetic of a comparison of peers: rounds of
// figures in, medians, ratios and a table out. It runs nothing.
package compare

import (
	"math"
	"slices"
)

// Spread describes the values of several rounds.
type Spread struct {
	N      int     `json:"rounds"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarize describes values; none give a Spread with N == 0. The median of an
// even number is the mean of the middle two.
func Summarize(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Spread{N: n, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// Rotated returns the list begun at the given round's place, so that in as many
// rounds as it is long everything comes first, second, ... once.
func Rotated[T any](list []T, round int) []T {
	if len(list) == 0 {
		return nil
	}
	k := round % len(list)
	return append(slices.Clone(list[k:]), list[:k]...)
}

// ratio is a/b, and not known (NaN) if either is not.
func ratio(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return math.NaN()
	}
	return a / b
}
