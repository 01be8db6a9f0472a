package pace

import (
	"math"
	"sort"
)

// Recorded is a schedule from a recording. The due time of operation n is the time from the first
// request in the recording to request n, divided by the speed of the replay.
type Recorded struct {
	due    []int64
	length int64
}

// NewRecorded returns the schedule of operations that were requested at the given times. The times
// must be ascending. They are in nanoseconds since an arbitrary point in time. `speed` must be
// positive; a speed of 2 makes the schedule twice as fast as the recording. The first operation is
// due at 0.
func NewRecorded(times []int64, speed float64) *Recorded {
	r := &Recorded{due: make([]int64, len(times))}
	for n := range times {
		r.due[n] = saturate(float64(times[n]-times[0]) / speed)
	}
	// Extend the schedule by the mean gap, so that the last operation has time to run.
	share := int64(1e9)
	if last := len(times) - 1; last > 0 {
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

// Remainder returns the schedule itself.
func (r *Recorded) Remainder(uint64, Point) Remainder { return r }

// FirstDueAt implements Remainder. It uses binary search.
func (r *Recorded) FirstDueAt(at int64) uint64 {
	n := sort.Search(len(r.due), func(n int) bool { return r.due[n] >= at })
	for uint64(n) >= uint64(len(r.due)) && r.Due(uint64(n)) < at {
		n++
	}
	return uint64(n)
}
