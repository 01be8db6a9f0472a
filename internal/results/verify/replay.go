package verify

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// place is a position in the sequence of a key's versions.
type place struct {
	cur  int  // index of the current version; -1: unknown
	gone bool // a write with an unknown outcome deleted the key
	by   uint32
}

// replay goes through the key's versions in the order of their revisions, and checks each
// compare-and-set and each read against the version at its revision.
func (k *keyChecker) replay() {
	p := place{cur: -1}
	next := func(until int64) {
		for p.cur+1 < len(k.versions) && k.versions[p.cur+1].rev <= until {
			v := &k.versions[p.cur+1]
			if v.flagged(isCAS) {
				k.compared(v, &p)
			}
			p = place{cur: p.cur + 1}
		}
	}
	for i := range k.reads {
		r := &k.reads[i]
		next(r.at)
		if r.flagged(isKnown) {
			k.read(r, &p)
		}
		if r.flagged(isFinal) {
			k.checkFinalRead(r)
		}
		if r.flagged(isConflict) {
			k.conflict(r, &p)
		}
		if r.flags&(isStrong|isFinal) == 0 {
			k.age(r)
		}
	}
	next(1<<63 - 1)
}

// current returns the version at a place, or nil if it is unknown.
func (k *keyChecker) current(p *place) *version {
	if p.cur < 0 {
		return nil
	}
	return &k.versions[p.cur]
}

// absent reports whether the key can be absent at a place and a revision. If this is possible only
// because of a delete with an unknown outcome, absent treats the delete as executed. ord is the
// number of the operation that found the key absent.
func (k *keyChecker) absent(p *place, by int64, ord uint32) bool {
	v := k.current(p)
	switch {
	case v == nil, !v.exists(), p.gone:
		return true
	case k.deletes.take(by):
		p.gone, p.by = true, ord
		k.resolved++
		return true
	}
	return false
}

// read checks that a read returned the state of the key at the read's revision.
func (k *keyChecker) read(r *entry, p *place) {
	v := k.current(p)
	switch {
	case r.value == history.Absent:
		if !k.absent(p, r.at, r.ord) {
			k.wrong(r, p.cur)
		}
	case v == nil:
		if r.mod > r.at {
			k.add(finding{kind: Future, promise: history.Snapshot, n: 1, ords: [3]uint32{r.ord}, revision: r.mod})
		}
	case r.mod > r.at:
		k.add(finding{kind: Future, promise: history.Snapshot, n: 1, ords: [3]uint32{r.ord}, revision: r.mod})
	case !matches(r, v):
		k.wrong(r, p.cur)
	case p.gone:
		k.add(finding{
			kind: Resurrected, promise: history.Durable, n: 3, ords: [3]uint32{v.ord, p.by, r.ord},
			state: "a read had found the key deleted, and no write had created it again",
		})
	}
}

// checkFinalRead checks the read of the key at a member after the load, when all faults have been
// healed. The member must have the last acknowledged version of the key. checkFinalRead handles the
// case that the read was served at a revision below the last acknowledged revision.
func (k *keyChecker) checkFinalRead(r *entry) {
	at := k.upTo(r.lo)
	if r.at >= r.lo || at < 0 {
		return
	}
	if v := &k.versions[at]; v.done >= 0 && v.exists() && v.rev > r.at && v.rev > r.mod {
		k.add(finding{kind: LostWrite, promise: history.Durable, n: 2, ords: [3]uint32{v.ord, r.ord}, revision: v.rev, state: v.state()})
	}
}

func matches(r *entry, v *version) bool {
	if r.mod > 0 {
		return r.mod == v.rev
	}
	return v.exists() && (r.value == v.value || r.value == history.Unseen || v.value == history.Unseen)
}

// wrong adds the violation for a read that should have returned the version with index cur.
func (k *keyChecker) wrong(r *entry, cur int) {
	v := &k.versions[cur]
	f := finding{kind: StaleRead, promise: history.Snapshot, n: 2, ords: [3]uint32{v.ord, r.ord}, revision: v.rev, state: v.state()}
	if at := k.upTo(r.lo); r.flagged(isStrong) && at >= 0 && k.versions[at].rev > r.mod && k.found.promises[history.Linearizable] != "" {
		f.promise = history.Linearizable
	}
	switch {
	case v.pending:
		f.kind, f.promise = Partial, history.Once
	case k.deletedSince(r, cur):
		f.kind, f.promise = Resurrected, history.Durable
	case r.flagged(isFinal) || !v.seen && v.exists() && v.done >= 0:
		f.kind, f.promise = LostWrite, history.Durable
	}
	k.add(f)
}

// deletedSince reports whether the key was deleted after the version that a read returned had been
// written.
func (k *keyChecker) deletedSince(r *entry, cur int) bool {
	if r.value == history.Absent {
		return false
	}
	for ; cur >= 0 && k.versions[cur].rev > r.mod; cur-- {
		if !k.versions[cur].exists() {
			return true
		}
	}
	return false
}

// upTo returns the index of the latest version whose revision is not higher than rev, or -1 if
// there is none.
func (k *keyChecker) upTo(rev int64) int {
	return sort.Search(len(k.versions), func(i int) bool { return k.versions[i].rev > rev }) - 1
}

// compared checks that a successful compare-and-set found the version that it expected.
func (k *keyChecker) compared(v *version, p *place) {
	was := k.current(p)
	switch {
	case k.counted && v.expected > 0:
		if k.mayCount(was, v.expected, v.rev, p) {
			return
		}
	case v.expected == 0:
		if k.absent(p, v.rev, v.ord) {
			return
		}
	case was != nil && was.rev == v.expected && was.exists() && !p.gone:
		return
	}
	f := finding{kind: WrongCAS, promise: history.Compare, n: 1, ords: [3]uint32{v.ord}, state: "the key had no such version"}
	if was != nil {
		f.n, f.ords, f.state = 2, [3]uint32{was.ord, v.ord}, was.state()
	}
	if p.gone {
		f.state = "a read had found the key deleted"
	}
	k.add(f)
}

// mayCount reports whether the key may have been written count times since it was created, at a
// place with the version v. Puts and deletes with unknown outcomes may have changed the number: a
// put increases it, and a delete resets it.
func (k *keyChecker) mayCount(v *version, count, by int64, p *place) bool {
	switch {
	case v == nil || k.deletes.possible(by):
		return true
	case !v.exists() || p.gone:
		return k.puts.possible(by)
	case v.count() == 0 || v.count() == count:
		return true
	}
	return count > v.count() && k.puts.possible(by)
}

// conflict checks that a compare-and-set was refused with a reason: the key did not have the
// expected version.
func (k *keyChecker) conflict(r *entry, p *place) {
	v := k.current(p)
	without := r.flagged(isSelf)
	if !r.flagged(isKnown) && v != nil && !k.puts.possible(r.at) && !k.deletes.possible(r.at) {
		if r.mod == 0 {
			without = !v.exists()
		} else {
			without = v.exists() && k.isExpected(v, r.mod) && !p.gone
		}
	}
	if without {
		k.add(finding{kind: WrongConflict, promise: history.Compare, n: 1, ords: [3]uint32{r.ord}})
	}
}

// isExpected reports whether a version is the one that a compare-and-set expects.
func (k *keyChecker) isExpected(v *version, asked int64) bool {
	if k.counted {
		return v.count() == asked
	}
	return v.rev == asked
}

// looseRead checks a linearizable read whose response does not contain the revision at which the
// read was served. It must have been served at or above the highest revision that had been
// acknowledged when it began.
func (k *keyChecker) looseRead(r *entry) {
	cur := k.upTo(r.lo)
	if !r.flagged(isStrong) || !r.flagged(isKnown) || cur < 0 {
		return
	}
	v := &k.versions[cur]
	if r.value != history.Absent {
		if r.mod > 0 && r.mod < v.rev {
			k.wrong(r, cur)
		}
		return
	}
	gone := !v.exists() || len(k.deletes.lows) > 0
	for i := cur; i < len(k.versions) && !gone; i++ {
		gone = !k.versions[i].exists()
	}
	if !gone {
		k.wrong(r, cur)
	}
}

// age measures how stale a read was: the number of acknowledged versions that it missed, and the
// time since the first of them was acknowledged.
func (k *keyChecker) age(r *entry) {
	of := k.old.get(r.flagged(isLease), k.members[r.member])
	of.reads++
	if r.at >= r.lo {
		return
	}
	first, last := k.upTo(r.at)+1, k.upTo(r.lo)
	if first > last {
		return
	}
	since := r.time
	for i := first; i <= last && i < first+mostLooked; i++ {
		if done := k.versions[i].done; done >= 0 {
			since = min(since, done)
		}
	}
	of.recordLag(int64(last-first+1), r.time-since)
}

// mostLooked is the maximum number of versions in which age searches for the time of the first
// acknowledgment. The limit is too low only if nearly all operations timed out.
const mostLooked = 16
