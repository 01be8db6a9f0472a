package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// finder finds the needs of one call after the other.
type finder struct {
	plan   *Plan
	now    int32
	found  []int32
	order  map[string][]revision // by key: its writes, by revision
	writes map[string][]int32    // by key: its newest writes, at most mostRecent
	sweeps []sweep               // the newest removals of several keys, at most mostSweeps
	grants map[int64]int32
	// uses contains, by lease, the newest calls that name it, at most mostRecent.
	uses map[int64][]int32
	// watches contains the newest calls that started or ended watchers, at most mostWatches.
	watches []int32
	sources map[int32][]int32  // by slot: the newest calls whose responses contain the version, at most mostRecent
	reads   map[string][]int32 // by key: the newest reads whose responses contain its version, at most mostRecent
}

// mostRecent limits the writes of a key that are considered. If more clients write a key at once,
// the order of the other writes may differ.
const mostRecent = 8

// mostWatches limits the starts and ends of watchers that a write waits for.
const mostWatches = 4

// mostSweeps limits the removals of several keys that are considered, and the earlier calls that
// such a removal waits for.
const mostSweeps = 64

// sweep is a removal of several keys.
type sweep struct {
	part *call.Part
	by   int32
}

// needPrevious makes the call wait for the previous write of a key in the store's order.
func (f *finder) needPrevious(key []byte) {
	c := f.plan.calls[f.now]
	writes := f.order[string(key)]
	for i := sort.Search(len(writes), func(i int) bool { return writes[i].at > c.Revision }) - 1; i >= 0; i-- {
		if writes[i].by != f.now {
			f.found = append(f.found, writes[i].by)
			return
		}
	}
}

// need makes the call wait for another one that is earlier in the recording.
func (f *finder) need(call int32) {
	if call < f.now {
		f.wait(call)
	}
}

// wait makes the call wait for another one and returns true, unless the store's revisions show that
// the other one was executed later. That happens because a key that is removed and created again
// can have an earlier version again.
func (f *finder) wait(call int32) bool {
	other, own := f.plan.calls[call].Revision, f.plan.calls[f.now].Revision
	if own > 0 && other > own || call == f.now {
		return false
	}
	f.found = append(f.found, call)
	return true
}

// needNewest makes the call wait for the newest of the given calls with a response when this call
// was sent.
func (f *finder) needNewest(calls []int32) {
	at := f.plan.calls[f.now].At
	best, end := int32(-1), int64(-1)
	for _, n := range calls {
		c := f.plan.calls[n]
		if ended := c.At + c.Took; c.Answered() && ended <= at && ended > end {
			best, end = n, ended
		}
	}
	if best >= 0 {
		f.need(best)
	}
}

// recent appends n to a list of at most most elements, whose first one it drops if necessary.
func recent(list []int32, n int32, most int) []int32 {
	if len(list) == most {
		copy(list, list[1:])
		list = list[:most-1]
	}
	return append(list, n)
}

// needEnded makes the call wait for another one, and returns true, if that one had a response when
// this call was sent.
func (f *finder) needEnded(n int32) bool {
	c := f.plan.calls[n]
	ok := c.Answered() && c.At+c.Took <= f.plan.calls[f.now].At
	if ok {
		f.need(n)
	}
	return ok
}
