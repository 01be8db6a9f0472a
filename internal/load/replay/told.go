package replay

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Versions that are no revisions of the store, or that no write tells, become those of
// the store now by who told them: the call that had a version of a key in its answer
// when it was recorded has another one now, and that is what guards name.

// versionOf is a version of a key when it was recorded.
type versionOf struct {
	key     string
	version int64
}

// findTold finds which calls tell of the versions that guards name.
func (p *Plan) findTold() {
	p.told = told{guards: map[guardAt]int32{}, lessons: map[int32][]lesson{}, enders: map[int32][]int32{}, changes: map[string][]change{}, readers: map[int32][]int32{}, creators: map[string][]int32{}}
	for _, c := range p.calls {
		for i := range c.Parts {
			p.told.any = p.told.any || c.Parts[i].Version != 0
		}
	}
	if !p.told.any {
		return
	}
	slots := map[versionOf]int32{}
	for n, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			replaces := c.OK() && c.Held && changesKey(c, part.Key)
			if absent(part) {
				if replaces {
					p.told.creators[string(part.Key)] = append(p.told.creators[string(part.Key)], int32(n))
				}
				continue
			}
			if part.Action != call.Compare || part.Number <= 0 || part.Target > call.Modified {
				continue
			}
			of := versionOf{string(part.Key), part.Number}
			slot, ok := slots[of]
			if !ok {
				slot = int32(len(slots)) // #nosec G115 -- a plan has few enough parts
				slots[of] = slot
			}
			p.told.guards[guardAt{int32(n), int32(i)}] = slot
			if replaces {
				p.told.enders[slot] = append(p.told.enders[slot], int32(n))
				p.told.changes[of.key] = append(p.told.changes[of.key], change{part.Number, int32(n)})
			}
		}
	}
	for _, of := range p.told.changes {
		slices.SortStableFunc(of, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	}
	p.told.now = make([]int64, len(slots))
	for n, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			slot, named := slots[versionOf{string(writtenKey(part)), part.Version}]
			if part.Version == 0 || !named || !c.OK() {
				continue
			}
			read := part.Action != call.Write
			p.told.lessons[int32(n)] = append(p.told.lessons[int32(n)], lesson{writtenKey(part), slot, read, part.Version})
			if read && !c.Guarded {
				p.told.readers[slot] = append(p.told.readers[slot], int32(n))
			}
		}
	}
}

// guarded is the version or revision now of what a guard names.
func (p *Plan) guarded(at guardAt, part *call.Part) int64 {
	slot, ok := p.told.guards[at]
	switch {
	case ok && p.told.now[slot] != 0:
		return p.told.now[slot]
	case part.Target == call.Version && ok:
		if now := p.had[string(part.Key)].version; now > 0 {
			return now
		}
		return part.Number
	case part.Target == call.Version:
		return part.Number
	}
	return p.revisionOf(part.Key, part.Number)
}

// guard adds who tells of the version that a part of the call names: the newest of those
// that had been answered, or else the newest.
func (f *finder) guard(part int32) {
	c := f.plan.calls[f.now]
	held := c.OK() && c.Held
	if p := &c.Parts[part]; absent(p) && !held {
		f.lost(f.plan.told.creators[string(p.Key)])
	}
	slot, ok := f.plan.told.guards[guardAt{f.now, part}]
	if !ok {
		return
	}
	tellers := f.tells[slot]
	if held && changesKey(c, c.Parts[part].Key) {
		for _, n := range tellers { // all that saw what this call changed
			f.add(n)
		}
		f.overtaken(slot)
		return
	}
	if !held {
		f.lost(f.plan.told.enders[slot])
	}
	for i := len(tellers) - 1; i >= 0; i-- {
		if f.ended(tellers[i]) {
			return
		}
	}
	for i := len(tellers) - 1; i >= 0; i-- { // but for one that saw what this call changed
		if n := tellers[i]; !slices.Contains(f.plan.needs.of(uint64(n)), f.now) {
			f.add(n)
			return
		}
	}
}

// overtaken has a call whose guard held wait for the reads that were asked for after it,
// and before it was answered, and still saw the version that it put another in the place
// of: else they would tell of that one.
func (f *finder) overtaken(slot int32) {
	c, readers := f.plan.calls[f.now], f.plan.told.readers[slot]
	from, _ := slices.BinarySearch(readers, f.now)
	for _, n := range readers[from:min(from+mostRecent, len(readers))] {
		if f.plan.calls[n].At < c.At+c.Took {
			f.wait(n)
		}
	}
}

// lost has a call whose guard did not hold wait for the one whose guard did, and that so
// put another version in the place of what both name: the newest that was asked for before
// it was answered. Which of several guards did not hold nobody says: then it is the newest
// that had been answered.
func (f *finder) lost(enders []int32) {
	c := f.plan.calls[f.now]
	several := guards(c) > 1
	// Calls are in the order of their times: of those asked for later none counts.
	last := sort.Search(len(enders), func(i int) bool { return f.plan.calls[enders[i]].At >= c.At+c.Took })
	for i := last - 1; i >= max(0, last-mostEnders) && c.OK(); i-- {
		n := enders[i]
		won := f.plan.calls[n]
		if before := !several && won.At < c.At+c.Took || won.At+won.Took <= c.At; before && f.wait(n) {
			return
		}
	}
}

// mostEnders is how many of those calls are looked at.
const mostEnders = 1024

// learns has a call that tells what it read wait for the write that it saw.
func (f *finder) learns(c *call.Call) {
	for _, l := range f.plan.told.lessons[f.now] {
		writes := f.order[string(l.key)]
		switch {
		case !l.read:
		case c.Revision > 0 && len(writes) > 0:
			if i := sort.Search(len(writes), func(i int) bool { return writes[i].at > c.Revision }); i > 0 {
				f.add(writes[i-1].by)
			}
		default:
			f.newest(f.writes[string(l.key)])
			f.replaced(l)
		}
	}
}

// replaced has a read wait for the writes that put something else in the place of an
// older version than it saw, though they had not been answered, or not even been asked for
// when it was.
func (f *finder) replaced(l lesson) {
	c, changes := f.plan.calls[f.now], f.plan.told.changes[string(l.key)]
	i, _ := slices.BinarySearchFunc(changes, l.version, func(a change, version int64) int { return cmp.Compare(a.from, version) })
	if i > 0 && changes[i-1].by > f.now && f.plan.calls[changes[i-1].by].At < c.At+c.Took {
		f.wait(changes[i-1].by)
	}
	for _, n := range f.writes[string(l.key)] {
		c := f.plan.calls[n]
		for i := range c.Parts {
			part := &c.Parts[i]
			guards := part.Action == call.Compare && part.Target <= call.Modified && bytes.Equal(part.Key, l.key)
			if guards && c.OK() && c.Held && part.Number < l.version {
				f.add(n)
			}
		}
	}
}

// readBefore has a write wait for the reads of its key that saw what was there before.
func (f *finder) readBefore(key []byte) {
	c := f.plan.calls[f.now]
	for _, n := range f.reads[string(key)] {
		if at := f.plan.calls[n].Revision; c.Revision > 0 && at > 0 {
			if at < c.Revision {
				f.add(n)
			}
			continue
		}
		f.ended(n)
	}
}
