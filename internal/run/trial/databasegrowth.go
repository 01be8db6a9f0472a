package trial

import (
	"math"
	"time"
)

// databaseGrowth is by how much all members' databases together grew from one time
// to another; nil where one's size is not known at both. The members are not asked
// any more.
func (s *scrapes) databaseGrowth(from, to time.Time) *int64 {
	sum := 0.0
	for _, m := range s.members {
		before, ok := sizeAt(m.sizes, from)
		after, okAfter := sizeAt(m.sizes, to)
		if !ok || !okAfter {
			return nil
		}
		sum += after - before
	}
	if len(s.members) == 0 {
		return nil
	}
	return new(int64(math.Round(sum)))
}

// sizeAt is the first size that was known at a time or soon after: the members are
// asked when the window opens, when it closes and after the load. A database grows
// by steps, so that nothing is made of two sizes.
func sizeAt(all []sized, at time.Time) (float64, bool) {
	for _, s := range all {
		if !s.at.Before(at) {
			return s.bytes, s.at.Sub(at) < sizeStale
		}
	}
	return 0, false
}

// sizeStale is how much later a size may be.
const sizeStale = 2 * scrapeEvery
