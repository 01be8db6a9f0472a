package analyze

import (
	"slices"
	"time"
)

// middle sorts the numbers and returns their median. If the number of values is even, it returns
// the upper of the two middle values. It returns 0 if there are no values.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// A member's time is reported if it is at least `unusual` times its median and not below
// leastUnusual.
const (
	unusual      = 3
	leastUnusual = 5 * time.Millisecond
)
