package verify

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// place is a position in the sequence of a key's versions.
type place struct {
	versionIndex int  // index of the current version; -1: unknown
	mayBeDeleted bool // a write with an unknown outcome deleted the key
	deletedBy    uint32
	// existedAt is the highest revision at which a response showed that the current version still
	// existed. A delete can only have taken effect at a higher revision.
	existedAt int64
}

// replay goes through the key's versions in the order of their revisions, and checks each
// compare-and-set and each read against the version at its revision.
func (k *keyChecker) replay() {
	p := place{versionIndex: -1}
	next := func(until int64) {
		for p.versionIndex+1 < len(k.versions) && k.versions[p.versionIndex+1].rev <= until {
			v := &k.versions[p.versionIndex+1]
			if v.containsAny(isCAS) {
				k.checkCAS(v, &p)
			}
			p = place{versionIndex: p.versionIndex + 1, existedAt: v.rev}
		}
	}
	for i := range k.reads {
		r := &k.reads[i]
		next(r.revision)
		if r.containsAny(isKnown) {
			k.checkRead(r, &p)
		}
		if r.containsAny(isFinal) {
			k.checkFinalRead(r)
		}
		if r.containsAny(isConflict) {
			k.checkConflict(r, &p)
		}
		if r.flags&(isStrong|isFinal) == 0 {
			k.measureStaleness(r)
		}
	}
	next(1<<63 - 1)
}

// current returns the version at a place, or nil if it is unknown.
func (k *keyChecker) current(p *place) *version {
	if p.versionIndex < 0 {
		return nil
	}
	return &k.versions[p.versionIndex]
}

// canBeAbsent reports whether the key can be absent at a place and a revision. If this is possible
// only because of a delete with an unknown outcome, canBeAbsent treats the delete as executed. ord
// is the number of the operation that found the key absent.
func (k *keyChecker) canBeAbsent(p *place, atRevision int64, ord uint32) bool {
	v := k.current(p)
	switch {
	case v == nil, !v.exists(), p.mayBeDeleted:
		return true
	case atRevision > p.existedAt && k.deletes.take(atRevision):
		p.mayBeDeleted, p.deletedBy = true, ord
		k.resolved++
		return true
	}
	return false
}

// checkRead checks that a read returned the state of the key at the read's revision.
func (k *keyChecker) checkRead(r *entry, p *place) {
	v := k.current(p)
	switch {
	case r.value == history.Absent:
		if !k.canBeAbsent(p, r.revision, r.ord) {
			k.addWrongRead(r, p.versionIndex)
		}
	case v == nil:
		if r.versionRevision > r.revision {
			k.add(finding{kind: ReadOfFutureVersion, guarantee: history.Snapshot, operationCount: 1, ords: [3]uint32{r.ord}, revision: r.versionRevision})
		}
	case r.versionRevision > r.revision:
		k.add(finding{kind: ReadOfFutureVersion, guarantee: history.Snapshot, operationCount: 1, ords: [3]uint32{r.ord}, revision: r.versionRevision})
	case !matches(r, v):
		k.addWrongRead(r, p.versionIndex)
	case p.mayBeDeleted:
		k.add(finding{
			kind: ResurrectedWrite, guarantee: history.Durable, operationCount: 3, ords: [3]uint32{v.ord, p.deletedBy, r.ord},
			state: "another read had found the key deleted, and no write had created it again",
		})
	default:
		p.existedAt = r.revision
	}
}

// checkFinalRead checks the read of the key at a member after the load, when all faults have been
// healed. The member must have the last acknowledged version of the key. checkFinalRead handles the
// case that the read was served at a revision below the last acknowledged revision.
func (k *keyChecker) checkFinalRead(r *entry) {
	at := k.latestAtRevision(r.lo)
	if r.revision >= r.lo || at < 0 {
		return
	}
	if v := &k.versions[at]; v.done >= 0 && v.exists() && v.rev > r.revision && v.rev > r.versionRevision {
		k.add(finding{kind: LostWrite, guarantee: history.Durable, operationCount: 2, ords: [3]uint32{v.ord, r.ord}, revision: v.rev, state: v.state()})
	}
}

func matches(r *entry, v *version) bool {
	if r.versionRevision > 0 {
		return r.versionRevision == v.rev
	}
	return v.exists() && (r.value == v.value || r.value == history.UnknownValue || v.value == history.UnknownValue)
}

// addWrongRead adds the violation for a read that should have returned the version with index cur.
func (k *keyChecker) addWrongRead(r *entry, cur int) {
	v := &k.versions[cur]
	f := finding{kind: StaleRead, guarantee: history.Snapshot, operationCount: 2, ords: [3]uint32{v.ord, r.ord}, revision: v.rev, state: v.state()}
	if at := k.latestAtRevision(r.lo); r.containsAny(isStrong) && at >= 0 && k.versions[at].rev > r.versionRevision && k.found.guarantees[history.Linearizable] != "" {
		f.guarantee = history.Linearizable
	}
	switch {
	case v.pending:
		f.kind, f.guarantee = PartialTransaction, history.AtMostOnce
	case k.deletedSince(r, cur):
		f.kind, f.guarantee = ResurrectedWrite, history.Durable
	case r.containsAny(isFinal) || !v.wasRead && v.exists() && v.done >= 0:
		f.kind, f.guarantee = LostWrite, history.Durable
	}
	k.add(f)
}

// deletedSince reports whether the key was deleted after the version that a read returned had been
// written.
func (k *keyChecker) deletedSince(r *entry, cur int) bool {
	if r.value == history.Absent {
		return false
	}
	for ; cur >= 0 && k.versions[cur].rev > r.versionRevision; cur-- {
		if !k.versions[cur].exists() {
			return true
		}
	}
	return false
}

// latestAtRevision returns the index of the latest version whose revision is not higher than rev,
// or -1 if there is none.
func (k *keyChecker) latestAtRevision(rev int64) int {
	return sort.Search(len(k.versions), func(i int) bool { return k.versions[i].rev > rev }) - 1
}

// checkCAS checks that a successful compare-and-set found the version that it expected.
func (k *keyChecker) checkCAS(v *version, p *place) {
	was := k.current(p)
	switch {
	case k.comparesCounts && v.expected > 0:
		if k.mayHaveCount(was, v.expected, v.rev, p) {
			return
		}
	case v.expected == 0:
		if k.canBeAbsent(p, v.rev, v.ord) {
			return
		}
	case was != nil && was.rev == v.expected && was.exists() && !p.mayBeDeleted:
		return
	}
	f := finding{kind: CASOnWrongVersion, guarantee: history.CompareAndSet, operationCount: 1, ords: [3]uint32{v.ord}, state: "the key had no such version"}
	if was != nil {
		f.operationCount, f.ords, f.state = 2, [3]uint32{was.ord, v.ord}, was.state()
	}
	if p.mayBeDeleted {
		f.state = "a read had found the key deleted"
	}
	k.add(f)
}

// mayHaveCount reports whether the key may have been written `count` times since it was created.
// The key has the version v at the given place. Puts and deletes with unknown outcomes may have
// changed the number: a put increases it, and a delete resets it.
func (k *keyChecker) mayHaveCount(v *version, count, atRevision int64, p *place) bool {
	switch {
	case v == nil || k.deletes.hasPossible(atRevision):
		return true
	case !v.exists() || p.mayBeDeleted:
		return k.puts.hasPossible(atRevision)
	case v.count() == 0 || v.count() == count:
		return true
	}
	return count > v.count() && k.puts.hasPossible(atRevision)
}

// checkConflict checks that a compare-and-set was refused with a reason: the key did not have the
// expected version.
func (k *keyChecker) checkConflict(r *entry, p *place) {
	v := k.current(p)
	without := r.containsAny(isSelfContradiction)
	if !r.containsAny(isKnown) && v != nil && !k.puts.hasPossible(r.revision) && !k.deletes.hasPossible(r.revision) {
		if r.versionRevision == 0 {
			without = !v.exists()
		} else {
			without = v.exists() && k.isExpected(v, r.versionRevision) && !p.mayBeDeleted
		}
	}
	if without {
		k.add(finding{kind: UnjustifiedConflict, guarantee: history.CompareAndSet, operationCount: 1, ords: [3]uint32{r.ord}})
	}
}

// isExpected reports whether a version is the one that a compare-and-set expects.
func (k *keyChecker) isExpected(v *version, expected int64) bool {
	if k.comparesCounts {
		return v.count() == expected
	}
	return v.rev == expected
}

// checkReadWithoutRevision checks a linearizable read whose response does not contain the revision
// at which the read was served. It must have been served at or above the highest revision that had
// been acknowledged when it began.
func (k *keyChecker) checkReadWithoutRevision(r *entry) {
	cur := k.latestAtRevision(r.lo)
	if !r.containsAny(isStrong) || !r.containsAny(isKnown) || cur < 0 {
		return
	}
	v := &k.versions[cur]
	if r.value != history.Absent {
		if r.versionRevision > 0 && r.versionRevision < v.rev {
			k.addWrongRead(r, cur)
		}
		return
	}
	gone := !v.exists() || len(k.deletes.lows) > 0
	for i := cur; i < len(k.versions) && !gone; i++ {
		gone = !k.versions[i].exists()
	}
	if !gone {
		k.addWrongRead(r, cur)
	}
}

// measureStaleness measures how stale a read was: the number of acknowledged versions that it
// missed, and the time since the first of them was acknowledged.
func (k *keyChecker) measureStaleness(r *entry) {
	of := k.staleReads.get(r.containsAny(isLease), k.members[r.member])
	of.reads++
	if r.revision >= r.lo {
		return
	}
	first, last := k.latestAtRevision(r.revision)+1, k.latestAtRevision(r.lo)
	if first > last {
		return
	}
	since := r.time
	for i := first; i <= last && i < first+maxSearchedVersions; i++ {
		if done := k.versions[i].done; done >= 0 {
			since = min(since, done)
		}
	}
	of.recordLag(int64(last-first+1), r.time-since)
}

// maxSearchedVersions is the maximum number of versions that measureStaleness searches for the time
// of the first acknowledgment. The limit is too low only if nearly all operations timed out.
const maxSearchedVersions = 16
