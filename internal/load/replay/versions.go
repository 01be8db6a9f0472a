package replay

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// In some stores, versions are not revisions of the store, or responses to writes do not contain
// the version. The replay translates such a version by means of the calls whose responses contain
// it. If a call's response contained a version of a key in the recording, the response to the same
// call in the replay contains the corresponding new version. In guards, the new version replaces
// the recorded one.

// keyVersion is a recorded version of a key.
type keyVersion struct {
	key     string
	version int64
}

// findVersions finds the calls whose responses contain the versions that guards require.
func (p *Plan) findVersions() {
	p.versions = versions{guards: map[guardID]int32{}, learned: map[int32][]learnedVersion{}, replacers: map[int32][]int32{}, changes: map[string][]change{}, readers: map[int32][]int32{}, creators: map[string][]int32{}}
	for _, c := range p.calls {
		for i := range c.Parts {
			p.versions.hasVersions = p.versions.hasVersions || c.Parts[i].Version != 0
		}
	}
	if !p.versions.hasVersions {
		return
	}
	slots := map[keyVersion]int32{}
	for n, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			replaces := c.OK() && c.GuardsHeld && changesKey(c, part.Key)
			if expectsNoKey(part) {
				if replaces {
					p.versions.creators[string(part.Key)] = append(p.versions.creators[string(part.Key)], int32(n))
				}
				continue
			}
			if part.Action != call.Compare || part.Number <= 0 || part.Target > call.Modified {
				continue
			}
			version := keyVersion{string(part.Key), part.Number}
			slot, ok := slots[version]
			if !ok {
				slot = int32(len(slots)) // #nosec G115 -- a plan has few enough parts
				slots[version] = slot
			}
			p.versions.guards[guardID{int32(n), int32(i)}] = slot
			if replaces {
				p.versions.replacers[slot] = append(p.versions.replacers[slot], int32(n))
				p.versions.changes[version.key] = append(p.versions.changes[version.key], change{part.Number, int32(n)})
			}
		}
	}
	for _, changes := range p.versions.changes {
		slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.replaced, b.replaced) })
	}
	p.versions.replayed = make([]int64, len(slots))
	for n, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			slot, named := slots[keyVersion{string(writtenKey(part)), part.Version}]
			if part.Version == 0 || !named || !c.OK() {
				continue
			}
			read := part.Action != call.Write
			p.versions.learned[int32(n)] = append(p.versions.learned[int32(n)], learnedVersion{writtenKey(part), slot, read, part.Version})
			if read && !c.Guarded {
				p.versions.readers[slot] = append(p.versions.readers[slot], int32(n))
			}
		}
	}
}

// replayGuardValue returns the version or revision that a guard must require in this replay instead
// of the recorded one.
func (p *Plan) replayGuardValue(at guardID, part *call.Part) int64 {
	slot, ok := p.versions.guards[at]
	switch {
	case ok && p.versions.replayed[slot] != 0:
		return p.versions.replayed[slot]
	case part.Target == call.Version && ok:
		if now := p.preloaded[string(part.Key)].version; now > 0 {
			return now
		}
		return part.Number
	case part.Target == call.Version:
		return part.Number
	}
	return p.replayRevision(part.Key, part.Number)
}

// needGuard makes the call wait for a source of the version that a guard requires. A source is a
// call whose response contains this version. If responses of sources had arrived when this call was
// sent, the call waits for the latest of these sources. Otherwise it waits for the latest of all
// sources.
func (f *finder) needGuard(part int32) {
	c := f.plan.calls[f.current]
	held := c.OK() && c.GuardsHeld
	if p := &c.Parts[part]; expectsNoKey(p) && !held {
		f.needWinner(f.plan.versions.creators[string(p.Key)])
	}
	slot, ok := f.plan.versions.guards[guardID{f.current, part}]
	if !ok {
		return
	}
	sources := f.sources[slot]
	if held && changesKey(c, c.Parts[part].Key) {
		for _, n := range sources { // all calls that saw the version that this call replaced
			f.need(n)
		}
		f.needReaders(slot)
		return
	}
	if !held {
		f.needWinner(f.plan.versions.replacers[slot])
	}
	for i := len(sources) - 1; i >= 0; i-- {
		if f.needEnded(sources[i]) {
			return
		}
	}
	// Skip a source that waits for this call because the source saw this call's change.
	for i := len(sources) - 1; i >= 0; i-- {
		if n := sources[i]; !slices.Contains(f.plan.needs.callsFor(uint64(n)), f.current) {
			f.need(n)
			return
		}
	}
}

// needReaders is used for a call whose guard held. Some reads were sent after this call and before
// its response arrived, but saw the version that the call replaced. needReaders makes the call wait
// for these reads, because otherwise they would return the new version.
func (f *finder) needReaders(slot int32) {
	c, readers := f.plan.calls[f.current], f.plan.versions.readers[slot]
	from, _ := slices.BinarySearch(readers, f.current)
	for _, n := range readers[from:min(from+maxRecent, len(readers))] {
		if f.plan.calls[n].At < c.At+c.Duration {
			f.wait(n)
		}
	}
}

// needWinner is used for a call whose guard did not hold. It makes the call wait for a winner: a
// call that made the same requirement in a guard that held, and that then changed the key. If
// several calls qualify, this call waits for the latest one that was sent before the response to
// this call arrived. If this call has several guards, the recording does not show which of them did
// not hold. This call then waits for the latest winner whose response had arrived when this call
// was sent.
func (f *finder) needWinner(candidates []int32) {
	c := f.plan.calls[f.current]
	several := countGuards(c) > 1
	// Calls are ordered by time, and calls that were sent later are not considered.
	last := sort.Search(len(candidates), func(i int) bool { return f.plan.calls[candidates[i]].At >= c.At+c.Duration })
	for i := last - 1; i >= max(0, last-maxWinners) && c.OK(); i-- {
		n := candidates[i]
		won := f.plan.calls[n]
		if before := !several && won.At < c.At+c.Duration || won.At+won.Duration <= c.At; before && f.wait(n) {
			return
		}
	}
}

// maxWinners limits how many calls needWinner considers.
const maxWinners = 1024

// needWritesRead is used for a call that reads a version. It makes the call wait for the write that
// created this version.
func (f *finder) needWritesRead(c *call.Call) {
	for _, l := range f.plan.versions.learned[f.current] {
		writes := f.writesByRevision[string(l.key)]
		switch {
		case !l.read:
		case c.Revision > 0 && len(writes) > 0:
			if i := sort.Search(len(writes), func(i int) bool { return writes[i].number > c.Revision }); i > 0 {
				f.need(writes[i-1].call)
			}
		default:
			f.needNewest(f.writes[string(l.key)])
			f.needReplacers(l)
		}
	}
}

// needReplacers makes a read wait for the writes that replaced an older version than the one that
// the read saw. The read waits even for writes that had no response yet, or had not been sent yet,
// when the read was sent.
func (f *finder) needReplacers(l learnedVersion) {
	c, changes := f.plan.calls[f.current], f.plan.versions.changes[string(l.key)]
	i, _ := slices.BinarySearchFunc(changes, l.version, func(a change, version int64) int { return cmp.Compare(a.replaced, version) })
	if i > 0 && changes[i-1].call > f.current && f.plan.calls[changes[i-1].call].At < c.At+c.Duration {
		f.wait(changes[i-1].call)
	}
	for _, n := range f.writes[string(l.key)] {
		c := f.plan.calls[n]
		for i := range c.Parts {
			part := &c.Parts[i]
			guards := part.Action == call.Compare && part.Target <= call.Modified && bytes.Equal(part.Key, l.key)
			if guards && c.OK() && c.GuardsHeld && part.Number < l.version {
				f.need(n)
			}
		}
	}
}

// needReads makes a write wait for the reads of its key that saw the state before the write.
func (f *finder) needReads(key []byte) {
	c := f.plan.calls[f.current]
	for _, n := range f.reads[string(key)] {
		if at := f.plan.calls[n].Revision; c.Revision > 0 && at > 0 {
			if at < c.Revision {
				f.need(n)
			}
			continue
		}
		f.needEnded(n)
	}
}
