package trial

import (
	"math"
	"time"
)

// databaseGrowth returns by how much the databases of all members together grew between two
// times, or nil if a size is unknown at either time. No member may be asked concurrently.
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

// sizeAt returns the first size known at or soon after a time: the members are asked when
// the window opens, when it closes and after the load. It does not interpolate, because a
// database grows in steps.
func sizeAt(all []sized, at time.Time) (float64, bool) {
	for _, s := range all {
		if !s.at.Before(at) {
			return s.bytes, s.at.Sub(at) < sizeStale
		}
	}
	return 0, false
}

// sizeStale is how much later than requested a size may be.
const sizeStale = 2 * scrapeEvery
