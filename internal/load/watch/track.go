package watch

import "math/bits"

// track is what one watcher saw of one key. A key's versions count from 1 with
// each write since it was created, so a version that is passed over is an event
// that is lost, until it comes after all.
type track struct {
	last int64  // the highest version seen
	base int64  // the lowest
	rev  int64  // the store's revision at the last; 0: nothing was seen
	seen uint64 // bit i: version last-i was seen
	got  uint32 // distinct events
	// missing is how many versions between base and last were not seen, and
	// earlier how many events of the key's life before its last deletion.
	missing, earlier uint32
}

// verdict says what an event is.
type verdict uint8

const (
	fresh     verdict = iota // later than all before
	late                     // new, and later ones came before
	duplicate                // seen before
)

const window = 64 // versions that track.seen tells apart

// take takes an event: the key's version and the store's revision at it.
// Version 0 is a deletion.
//
// A version older than the window is taken for a missing one as long as one of
// that age is missing, else for a duplicate.
func (t *track) take(version, revision int64) verdict {
	v := t.judge(version, revision)
	if v != duplicate {
		t.got++
	}
	return v
}

func (t *track) judge(version, revision int64) verdict {
	if version < 0 {
		return t.judgeRevision(revision)
	}
	switch {
	case t.rev == 0:
		t.last, t.base, t.rev, t.seen = version, version, revision, 1
		return fresh
	case revision > t.rev:
		t.rev = revision
		t.follow(version)
		return fresh
	case revision == t.rev:
		return duplicate
	}
	return t.earlierOne(version)
}

// judgeRevision judges an event whose version is not told. One before the last is
// taken for new: those are few, and not kept.
func (t *track) judgeRevision(revision int64) verdict {
	switch {
	case revision > t.rev:
		t.rev = revision
		return fresh
	case revision == t.rev:
		return duplicate
	}
	return late
}

// begin says what the key is when a watcher begins, and the revision that made it so. What
// was written between that and what it was told last was passed over. A key that is there
// with the version that it had, and was written since, was deleted meanwhile.
func (t *track) begin(version, revision int64) {
	switch {
	case t.rev == 0:
		t.last, t.base, t.rev, t.seen = version, version, max(revision, 1), 1
	case revision > t.rev:
		last := t.last
		if t.rev = revision; version != last || version > 0 {
			t.follow(version)
			t.missing++ // itself too
		}
	}
}

// passed is how many versions were passed over.
func (t *track) passed() uint32 { return t.missing + t.earlier }

// behind is lost where versions may be passed over: what did not come, and is
// behind the last that did, and how many were passed over.
func (t *track) behind(due uint32) (lost, passed uint32) {
	passed = t.passed()
	if came := t.got + passed; due > came {
		lost = due - came
	}
	return lost, passed
}

// follow takes the newest event.
func (t *track) follow(version int64) {
	switch {
	case version == 0: // deleted: the next version is 1
		t.newLife(0)
	case version <= t.last: // deleted and created again, and the deletion was not seen
		t.newLife(1)
		t.shift(version)
	default:
		t.shift(version)
	}
}

// newLife begins after a deletion, of which so many events were not seen.
func (t *track) newLife(unseen uint32) {
	t.earlier += t.missing + unseen
	t.last, t.base, t.seen, t.missing = 0, 0, 1, 0
}

// shift moves last up to version.
func (t *track) shift(version int64) {
	d := version - t.last
	t.missing += uint32(d - 1)
	t.last = version
	if d < window {
		t.seen = t.seen<<d | 1
	} else {
		t.seen = 1
	}
}

// earlierOne takes an event that is older than the newest.
func (t *track) earlierOne(version int64) verdict {
	age := t.last - version
	switch {
	case age < 0 || version == 0: // of the key's life before its deletion
		if t.earlier == 0 {
			return duplicate
		}
		t.earlier--
		return late
	case age >= window:
		if t.missing <= t.missingInWindow() {
			return duplicate
		}
		t.missing--
		return late
	case t.seen&(1<<age) != 0:
		return duplicate
	}
	t.seen |= 1 << age
	if version < t.base { // what lies between is known to be missing now
		t.missing += uint32(t.base - version - 1)
		t.base = version
	} else {
		t.missing--
	}
	return late
}

// missingInWindow is how many of the missing ones the window tells apart.
func (t *track) missingInWindow() uint32 {
	known := ^uint64(0)
	if n := t.last - t.base + 1; n < window {
		known = 1<<n - 1
	}
	return uint32(bits.OnesCount64(^t.seen & known))
}

// lost is how many events did not come, of as many as are known to be due.
func (t *track) lost(due uint32) uint32 {
	lost := t.missing + t.earlier
	if due > t.got {
		lost = max(lost, due-t.got)
	}
	return lost
}
