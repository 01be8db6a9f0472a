package replay

import (
	"bytes"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// needs are the calls whose answers each call has to wait for, which were done before it:
//
//   - those that made the revisions that its guards name,
//   - of each key that it writes, or guards by, the write before it in the store's own
//     order, by revisions: writes of a key are done in their order again. Of a call whose
//     revision is not known it is the newest write that had been answered when it was
//     asked for,
//   - of a watcher, a compaction or a read at a revision the newest write until that, of a
//     watcher's end its beginning, and of a write or a compaction the newest watchers that had been begun or ended,
//   - those that granted the leases that it names (and of the end of one those that named it), and made the keys whose names the
//     store completed,
//   - where guards name versions that only reads tell: of a guard the read that told, of
//     that read the newest write that had been answered, and of a write those reads that
//     had been answered before it,
//   - of calls that overlapped those that guards and reads show to have been done before,
//     also where they were asked for later (told.go).
//
// A call needs those alone that the store did earlier, so that none waits for itself. In
// a recording that says otherwise, because it is of no such store, timeouts end that.
type needs struct {
	first []uint32 // by call: where its needs begin in calls; the last one's end, too
	calls []int32
}

func (n *needs) of(call uint64) []int32 { return n.calls[n.first[call]:n.first[call+1]] }

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

func (p *Plan) findNeeds() {
	f := finder{plan: p, order: p.orders(), writes: map[string][]int32{}, grants: map[int64]int32{}, uses: map[int64][]int32{},
		tells: map[int32][]int32{}, reads: map[string][]int32{}}
	for n, c := range p.calls {
		p.needs.first = append(p.needs.first, uint32(len(p.needs.calls)))
		f.now, f.found = int32(n), f.found[:0]
		for i := range c.Parts {
			f.named(c.Parts[i].Key)
			f.guard(int32(i))
			f.part(&c.Parts[i])
			f.watch(&c.Parts[i])
		}
		f.learns(c)
		slices.Sort(f.found)
		p.needs.calls = append(p.needs.calls, slices.Compact(f.found)...)
		f.note(c)
	}
	p.needs.first = append(p.needs.first, uint32(len(p.needs.calls)))
}

// orders is the order in which each key was written.
func (p *Plan) orders() map[string][]revision {
	order := map[string][]revision{}
	for _, made := range p.made { // upwards
		c := p.calls[made.by]
		for i := range c.Parts {
			if part := &c.Parts[i]; part.Scope == call.One && wrote(c, part) {
				key := string(writtenKey(part))
				order[key] = append(order[key], made)
			}
		}
	}
	return order
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

func (f *finder) part(part *call.Part) {
	if by, ok := f.grants[part.Lease]; ok && part.Lease != 0 {
		f.add(by)
	}
	switch part.Action {
	case call.Revoke:
		for _, n := range f.uses[part.Lease] {
			f.ended(n)
		}
		return
	case call.Compare:
		if part.Target == call.Modified || part.Target == call.Created {
			if by, ok := f.plan.writers[part.Number]; ok && by != f.now {
				f.found = append(f.found, by)
			}
		}
	case call.Write, call.Remove:
	default:
		return
	}
	if part.Scope != call.One {
		// What was asked for before may be of any of those keys.
		for n := f.now - 1; n >= max(0, f.now-mostSweeps); n-- {
			f.ended(n)
		}
		return
	}
	f.readBefore(part.Key)
	if c := f.plan.calls[f.now]; c.OK() && c.Revision > 0 {
		f.before(part.Key)
	} else {
		f.newest(f.writes[string(part.Key)])
	}
	for i := range f.sweeps {
		if within(f.sweeps[i].part, part.Key) {
			f.newest([]int32{f.sweeps[i].by})
		}
	}
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

// note remembers what a call writes, grants and tells.
func (f *finder) note(c *call.Call) {
	for _, l := range f.plan.told.lessons[f.now] {
		f.tells[l.slot] = recent(f.tells[l.slot], f.now, mostRecent)
		if l.read {
			f.reads[string(l.key)] = recent(f.reads[string(l.key)], f.now, mostRecent)
		}
	}
	for i := range c.Parts {
		if part := &c.Parts[i]; part.Lease != 0 && part.Action != call.Grant {
			f.uses[part.Lease] = recent(f.uses[part.Lease], f.now, mostRecent)
		}
		switch part := &c.Parts[i]; {
		case (part.Action == call.Watch || part.Action == call.Unwatch) && i == 0:
			f.watches = recent(f.watches, f.now, mostWatches)
		case part.Action == call.Grant && c.OK():
			f.grants[c.Lease] = f.now
		case part.Action != call.Write && part.Action != call.Remove, c.Answered() && !did(c, part):
		case part.Scope == call.One:
			key := string(writtenKey(part))
			f.writes[key] = recent(f.writes[key], f.now, mostRecent)
		default:
			if len(f.sweeps) == mostSweeps {
				f.sweeps = slices.Delete(f.sweeps, 0, 1)
			}
			f.sweeps = append(f.sweeps, sweep{part, f.now})
		}
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

// within reports whether a part that is of several keys is of the given one.
func within(part *call.Part, key []byte) bool {
	switch part.Scope {
	case call.Prefix:
		return bytes.HasPrefix(key, part.Key)
	case call.Rest:
		return bytes.HasPrefix(key, part.End) && bytes.Compare(key, part.Key) >= 0
	case call.From:
		return bytes.Compare(key, part.Key) >= 0
	case call.Interval:
		return bytes.Compare(key, part.Key) >= 0 && bytes.Compare(key, part.End) < 0
	}
	return bytes.Equal(key, part.Key)
}
