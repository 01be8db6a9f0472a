package peer

import (
	"maps"
	"slices"
)

// groupedMedian is the median of values that were cut to whole numbers, taken
// as spread evenly over [v, v+1): the lower edge of the group that holds it and
// the share of that group below it. It is 0 for no values.
func groupedMedian(counts map[int64]uint64) float64 {
	var total, below uint64
	for _, n := range counts {
		total += n
	}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		n := counts[v]
		if 2*(below+n) >= total {
			return float64(v) + (float64(total)/2-float64(below))/float64(n)
		}
		below += n
	}
	return 0
}
