package analyze

import (
	"slices"
	"time"
)

// sortedMedian sorts the numbers and returns their median. If the number of values is even, it
// returns the upper of the two middle values. It returns 0 if there are no values.
func sortedMedian(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// A time that a member reports is unusual if it is at least `unusualFactor` times the median of
// this member's times, and at least minUnusual.
const (
	unusualFactor = 3
	minUnusual    = 5 * time.Millisecond
)
