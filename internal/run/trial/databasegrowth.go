package trial

import (
	"math"
	"time"
)

// databaseGrowth returns the growth of all members' databases between two times, in bytes. It
// returns nil if a size is unknown at one of these times. Do not call it while the members are
// scraped.
func (s *metricsRecorder) databaseGrowth(from, to time.Time) *int64 {
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

// sizeAt returns the first size that was measured at the given time or soon afterwards. It does not
// interpolate, because a database grows in steps. The sizes are measured when the window opens,
// when it closes, and after the load.
func sizeAt(all []sizeSample, at time.Time) (float64, bool) {
	for _, s := range all {
		if !s.at.Before(at) {
			return s.bytes, s.at.Sub(at) < maxSizeDelay
		}
	}
	return 0, false
}

// maxSizeDelay limits how long after the requested time a size may have been measured.
const maxSizeDelay = 2 * scrapeInterval
