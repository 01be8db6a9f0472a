package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// finder finds needs, call by call.
type finder struct {
	plan   *Plan
	now    int32
	found  []int32
	order  map[string][]revision // of each key: its writes, by revision
	writes map[string][]int32    // the newest writes of a key, at most mostRecent
	sweeps []sweep               // the newest removals of several keys, likewise
	grants map[int64]int32
	// uses are the newest calls that name a lease, at most mostRecent.
	uses map[int64][]int32
	// watches are the newest calls that began or ended watchers, at most mostWatches.
	watches []int32
	tells   map[int32][]int32  // the newest calls that told of a version, at most mostRecent
	reads   map[string][]int32 // the newest reads that told of a key's version, likewise
}

// mostRecent is how many writes of a key are looked at: of a key that more clients than
// that write at once, the order of the others is left to chance.
const mostRecent = 8

// mostWatches is how many beginnings and ends of watchers a write waits for.
const mostWatches = 4

// mostSweeps is the same of removals of several keys, and how many calls such a removal
// waits for, of those that had been answered.
const mostSweeps = 64

// sweep is a removal of several keys.
type sweep struct {
	part *call.Part
	by   int32
}

// before adds the write of a key that comes before the call in the store's order.
func (f *finder) before(key []byte) {
	c := f.plan.calls[f.now]
	writes := f.order[string(key)]
	for i := sort.Search(len(writes), func(i int) bool { return writes[i].at > c.Revision }) - 1; i >= 0; i-- {
		if writes[i].by != f.now {
			f.found = append(f.found, writes[i].by)
			return
		}
	}
}

// add has the call wait for another, if that is an earlier one.
func (f *finder) add(call int32) {
	if call < f.now {
		f.wait(call)
	}
}

// wait has the call wait for another, unless that was done later, as the store's revisions
// say: a version that a key had is one that it may have again, once it was removed.
func (f *finder) wait(call int32) bool {
	other, own := f.plan.calls[call].Revision, f.plan.calls[f.now].Revision
	if own > 0 && other > own || call == f.now {
		return false
	}
	f.found = append(f.found, call)
	return true
}

// newest adds the newest of some calls that had been answered when this one was asked
// for.
func (f *finder) newest(calls []int32) {
	at := f.plan.calls[f.now].At
	best, end := int32(-1), int64(-1)
	for _, n := range calls {
		c := f.plan.calls[n]
		if ended := c.At + c.Took; c.Answered() && ended <= at && ended > end {
			best, end = n, ended
		}
	}
	if best >= 0 {
		f.add(best)
	}
}

// recent is a list with one more, of so many at most.
func recent(list []int32, n int32, most int) []int32 {
	if len(list) == most {
		copy(list, list[1:])
		list = list[:most-1]
	}
	return append(list, n)
}

// ended has the call wait for another, if that had been answered when it was asked for.
func (f *finder) ended(n int32) bool {
	c := f.plan.calls[n]
	ok := c.Answered() && c.At+c.Took <= f.plan.calls[f.now].At
	if ok {
		f.add(n)
	}
	return ok
}
