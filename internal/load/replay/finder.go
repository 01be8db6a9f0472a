package replay

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// finder goes through the recorded calls in order. For each call, it finds the other calls whose
// responses must arrive before this call is sent in the replay (see the type needs).
type finder struct {
	plan             *Plan
	current          int32
	needed           []int32
	writesByRevision map[string][]revision // by key: its writes, in the order of their revisions
	writes           map[string][]int32    // by key: the latest writes, at most maxRecent
	sweeps           []sweep               // the latest multi-key removals, at most maxSweeps
	grants           map[int64]int32
	// uses contains, by lease, the latest calls that use the lease, at most maxRecent.
	uses map[int64][]int32
	// watches contains the latest calls that started or ended watchers, at most maxWatches.
	watches []int32
	// sources contains, by slot, the latest calls whose responses contain the slot's version, at
	// most maxRecent.
	sources map[int32][]int32
	// reads contains, by key, the latest reads whose responses contain the key's version, at most
	// maxRecent.
	reads map[string][]int32
}

// maxRecent limits how many of the latest calls the finder considers for each key, lease or slot.
// If more than maxRecent clients write the same key at once, the replay may execute their writes in
// a different order.
const maxRecent = 8

// maxWatches limits how many starts and ends of watchers a write waits for.
const maxWatches = 4

// maxSweeps limits how many multi-key removals the finder considers. It also limits how many
// earlier calls such a removal waits for.
const maxSweeps = 64

// sweep is a part of a call that removes several keys.
type sweep struct {
	part *call.Part
	call int32
}

// needPrevious makes the call wait for the previous write of the key in the store's order.
func (f *finder) needPrevious(key []byte) {
	c := f.plan.calls[f.current]
	writes := f.writesByRevision[string(key)]
	for i := sort.Search(len(writes), func(i int) bool { return writes[i].number > c.Revision }) - 1; i >= 0; i-- {
		if writes[i].call != f.current {
			f.needed = append(f.needed, writes[i].call)
			return
		}
	}
}

// need makes the call wait for a given call, if that call is earlier in the recording.
func (f *finder) need(call int32) {
	if call < f.current {
		f.wait(call)
	}
}

// wait makes the call wait for a given call, and returns true. In two cases, it returns false
// instead: if the given call is this call, or if the store's revisions show that the given call was
// executed later. A caller can pass a later call, because versions repeat: a key that was removed
// and created again can have the same version as before.
func (f *finder) wait(call int32) bool {
	other, own := f.plan.calls[call].Revision, f.plan.calls[f.current].Revision
	if own > 0 && other > own || call == f.current {
		return false
	}
	f.needed = append(f.needed, call)
	return true
}

// needNewest considers those of the given calls whose responses had arrived when this call was
// sent. It makes this call wait for the one whose response arrived last.
func (f *finder) needNewest(calls []int32) {
	at := f.plan.calls[f.current].At
	best, end := int32(-1), int64(-1)
	for _, n := range calls {
		c := f.plan.calls[n]
		if ended := c.At + c.Duration; c.Answered() && ended <= at && ended > end {
			best, end = n, ended
		}
	}
	if best >= 0 {
		f.need(best)
	}
}

// appendRecent appends n to a list with at most `limit` elements. If the list is full, it first
// removes the oldest element.
func appendRecent(list []int32, n int32, limit int) []int32 {
	if len(list) == limit {
		copy(list, list[1:])
		list = list[:limit-1]
	}
	return append(list, n)
}

// needEnded makes the call wait for a given call if the given call's response had arrived when this
// call was sent. It reports whether that response had arrived.
func (f *finder) needEnded(n int32) bool {
	c := f.plan.calls[n]
	ok := c.Answered() && c.At+c.Duration <= f.plan.calls[f.current].At
	if ok {
		f.need(n)
	}
	return ok
}
