package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// finder finds, for one call after the other, the calls for which it must wait in the replay
// (needs).
type finder struct {
	plan   *Plan
	now    int32
	found  []int32
	order  map[string][]revision // by key: its writes, in the order of their revisions
	writes map[string][]int32    // by key: the latest writes, at most mostRecent
	sweeps []sweep               // the latest removals of several keys, at most mostSweeps
	grants map[int64]int32
	// uses contains, by lease, the latest calls that use the lease, at most mostRecent.
	uses map[int64][]int32
	// watches contains the latest calls that started or ended watchers, at most mostWatches.
	watches []int32
	// By slot: the latest calls whose responses contain the version, at most mostRecent.
	sources map[int32][]int32
	// By key: the latest reads whose responses contain the key's version, at most mostRecent.
	reads map[string][]int32
}

// mostRecent limits how many writes of a key are considered. If more clients write the key at once,
// their other writes may be executed in a different order.
const mostRecent = 8

// mostWatches limits the number of starts and ends of watchers for which a write waits.
const mostWatches = 4

// mostSweeps limits how many removals of several keys are considered. It also limits for how many
// earlier calls such a removal waits.
const mostSweeps = 64

// sweep is a removal of several keys.
type sweep struct {
	part *call.Part
	by   int32
}

// needPrevious makes the call wait for the write of the key that precedes it in the store's order.
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

// need makes the call wait for a given call, if that call is earlier in the recording.
func (f *finder) need(call int32) {
	if call < f.now {
		f.wait(call)
	}
}

// wait makes the call wait for a given call and returns true. It returns false if the store's
// revisions show that the given call was executed later. This can happen because a key that is
// removed and created again can have an earlier version again.
func (f *finder) wait(call int32) bool {
	other, own := f.plan.calls[call].Revision, f.plan.calls[f.now].Revision
	if own > 0 && other > own || call == f.now {
		return false
	}
	f.found = append(f.found, call)
	return true
}

// needNewest makes the call wait for one of the given calls: the one whose response was the latest
// that had arrived when this call was sent.
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

// recent appends n to a list with at most `most` elements. If the list is full, it first removes
// the oldest element.
func recent(list []int32, n int32, most int) []int32 {
	if len(list) == most {
		copy(list, list[1:])
		list = list[:most-1]
	}
	return append(list, n)
}

// needEnded makes the call wait for a given call if the response to that call had arrived when this
// call was sent. It reports whether this is the case.
func (f *finder) needEnded(n int32) bool {
	c := f.plan.calls[n]
	ok := c.Answered() && c.At+c.Took <= f.plan.calls[f.now].At
	if ok {
		f.need(n)
	}
	return ok
}
