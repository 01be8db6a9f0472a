package analyze

import (
	"slices"
	"time"
)

// middle sorts numbers and returns their median; of an even number the upper one.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// A member's figure is unusual at a multiple of its median if it is also long enough to matter.
const (
	unusual      = 3
	leastUnusual = 5 * time.Millisecond
)
