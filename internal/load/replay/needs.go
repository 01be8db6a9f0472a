package replay

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

func (p *Plan) findNeeds() {
	f := finder{plan: p, writesByRevision: p.writesByKey(), writes: map[string][]int32{}, grants: map[int64]int32{}, uses: map[int64][]int32{},
		sources: map[int32][]int32{}, reads: map[string][]int32{}}
	for n, c := range p.calls {
		p.needs.first = append(p.needs.first, uint32(len(p.needs.calls)))
		f.current, f.needed = int32(n), f.needed[:0]
		for i := range c.Parts {
			f.needName(c.Parts[i].Key)
			f.needGuard(int32(i))
			f.needPart(&c.Parts[i])
			f.needWatch(&c.Parts[i])
		}
		f.needWritesRead(c)
		slices.Sort(f.needed)
		p.needs.calls = append(p.needs.calls, slices.Compact(f.needed)...)
		f.note(c)
	}
	p.needs.first = append(p.needs.first, uint32(len(p.needs.calls)))
}

// writesByKey returns, by key, the writes of the key in the order of their revisions.
func (p *Plan) writesByKey() map[string][]revision {
	order := map[string][]revision{}
	for _, made := range p.revisions { // ascending
		c := p.calls[made.call]
		for i := range c.Parts {
			if part := &c.Parts[i]; part.Scope == call.SingleKey && wroteKey(c, part) {
				key := string(writtenKey(part))
				order[key] = append(order[key], made)
			}
		}
	}
	return order
}

func (f *finder) needPart(part *call.Part) {
	if granter, ok := f.grants[part.Lease]; ok && part.Lease != 0 {
		f.need(granter)
	}
	switch part.Action {
	case call.Revoke:
		for _, n := range f.uses[part.Lease] {
			f.needEnded(n)
		}
		return
	case call.Compare:
		if part.Target == call.Modified || part.Target == call.Created {
			if writer, ok := f.plan.writers[part.Number]; ok && writer != f.current {
				f.needed = append(f.needed, writer)
			}
		}
	case call.Write, call.Remove:
	default:
		return
	}
	if part.Scope != call.SingleKey {
		// Any earlier call may have used one of the keys.
		for n := f.current - 1; n >= max(0, f.current-maxSweeps); n-- {
			f.needEnded(n)
		}
		return
	}
	f.needReads(part.Key)
	if c := f.plan.calls[f.current]; c.OK() && c.Revision > 0 {
		f.needPrevious(part.Key)
	} else {
		f.needNewest(f.writes[string(part.Key)])
	}
	for i := range f.sweeps {
		if containsKey(f.sweeps[i].part, part.Key) {
			f.needNewest([]int32{f.sweeps[i].call})
		}
	}
}

// note updates the finder after a call: it stores which keys and leases the call writes, grants or
// uses, and which versions the response contains.
func (f *finder) note(c *call.Call) {
	for _, l := range f.plan.versions.learned[f.current] {
		f.sources[l.slot] = appendRecent(f.sources[l.slot], f.current, maxRecent)
		if l.read {
			f.reads[string(l.key)] = appendRecent(f.reads[string(l.key)], f.current, maxRecent)
		}
	}
	for i := range c.Parts {
		if part := &c.Parts[i]; part.Lease != 0 && part.Action != call.Grant {
			f.uses[part.Lease] = appendRecent(f.uses[part.Lease], f.current, maxRecent)
		}
		switch part := &c.Parts[i]; {
		case (part.Action == call.Watch || part.Action == call.Unwatch) && i == 0:
			f.watches = appendRecent(f.watches, f.current, maxWatches)
		case part.Action == call.Grant && c.OK():
			f.grants[c.Lease] = f.current
		case part.Action != call.Write && part.Action != call.Remove, c.Answered() && !executed(c, part):
		case part.Scope == call.SingleKey:
			key := string(writtenKey(part))
			f.writes[key] = appendRecent(f.writes[key], f.current, maxRecent)
		default:
			if len(f.sweeps) == maxSweeps {
				f.sweeps = slices.Delete(f.sweeps, 0, 1)
			}
			f.sweeps = append(f.sweeps, sweep{part, f.current})
		}
	}
}
