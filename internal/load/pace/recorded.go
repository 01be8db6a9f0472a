package pace

import (
	"math"
	"sort"
)

// Recorded is a schedule from a recording. The due time of operation n is the time at which it was
// requested in the recording, counted from the first request and divided by a speed.
type Recorded struct {
	due    []int64
	length int64
}

// NewRecorded returns the schedule of operations that were requested at the given times. The times
// must be ascending; they are in nanoseconds since any point in time. speed must be positive: with
// 2, the schedule is twice as fast as the recording. The first operation is due at 0.
func NewRecorded(at []int64, speed float64) *Recorded {
	r := &Recorded{due: make([]int64, len(at))}
	for n := range at {
		r.due[n] = saturate(float64(at[n]-at[0]) / speed)
	}
	// Add the mean gap, so that there is time for the last operation, too.
	share := int64(1e9)
	if last := len(at) - 1; last > 0 {
		r.length = r.due[last]
		share = max(r.length/int64(last), 1)
	}
	if r.length <= math.MaxInt64-share {
		r.length += share
	}
	return r
}

// Due implements Pacer. The operation after the last recorded one is due at the end of the
// schedule. All later operations are never due.
func (r *Recorded) Due(n uint64) int64 {
	switch count := uint64(len(r.due)); {
	case n < count:
		return r.due[n]
	case n == count:
		return r.length
	}
	return math.MaxInt64
}

// Rest returns the schedule itself.
func (r *Recorded) Rest(uint64, Point) Rest { return r }

// First implements Rest. It uses binary search.
func (r *Recorded) First(at int64) uint64 {
	n := sort.Search(len(r.due), func(n int) bool { return r.due[n] >= at })
	for uint64(n) >= uint64(len(r.due)) && r.Due(uint64(n)) < at {
		n++
	}
	return uint64(n)
}
