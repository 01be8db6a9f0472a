package watch

import "math/bits"

// track holds what one watcher received about one key. A key's versions count from 1 with each
// write since its creation, so a version that is skipped is a lost event, unless it arrives later.
type track struct {
	last int64  // highest version received
	base int64  // lowest version received
	rev  int64  // the store's revision at last; 0: no event yet
	seen uint64 // bit i: version last-i was received
	got  uint32 // distinct events
	// missing is the number of versions between base and last that were not received, and earlier
	// the number of such events before the key's last deletion.
	missing, earlier uint32
}

// verdict classifies an event.
type verdict uint8

const (
	fresh     verdict = iota // later than all before
	late                     // new, but out of order
	duplicate                // received before
)

const window = 64 // number of versions in track.seen

// take classifies and counts an event with the key's version and the store's revision. Version 0 is
// a deletion, and a negative version is unknown.
//
// A version older than the window counts as a missing one while a version of that age is missing,
// and otherwise as a duplicate. For example, after versions 1 to 4, 6 and 8 to 200, version 5
// counts as late twice, and then as a duplicate.
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
	return t.judgeEarlier(version)
}

// judgeRevision classifies an event without a version. An event older than the last counts as new,
// because such events are few, and no memory is kept of them.
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

// begin notes the state of the key when a watcher starts, and the revision that caused it. Versions
// between it and the last event were skipped. If the key has the same version as before at a higher
// revision, it was deleted and created again.
func (t *track) begin(version, revision int64) {
	switch {
	case t.rev == 0:
		t.last, t.base, t.rev, t.seen = version, version, max(revision, 1), 1
	case revision > t.rev:
		last := t.last
		if t.rev = revision; version != last || version > 0 {
			t.follow(version)
			t.missing++ // and the present version
		}
	}
}

// skipped returns the number of versions that were skipped.
func (t *track) skipped() uint32 { return t.missing + t.earlier }

// lostAndSkipped returns, for a watcher that may skip versions, the number of due events after the
// last one that arrived, which are lost, and the number of skipped versions.
func (t *track) lostAndSkipped(due uint32) (lost, passed uint32) {
	passed = t.skipped()
	if arrived := t.got + passed; due > arrived {
		lost = due - arrived
	}
	return lost, passed
}

// follow updates the versions with an event that is newer than all before.
func (t *track) follow(version int64) {
	switch {
	case version == 0: // deleted; the next version is 1
		t.newLife(0)
	case version <= t.last: // deleted and created again, without an event of the deletion
		t.newLife(1)
		t.shift(version)
	default:
		t.shift(version)
	}
}

// newLife starts again after a deletion. unseen is the number of its events that were not received.
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

// judgeEarlier classifies an event that is older than the newest.
func (t *track) judgeEarlier(version int64) verdict {
	age := t.last - version
	switch {
	case age < 0 || version == 0: // from the key's life before its deletion
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
	if version < t.base { // the versions between them are now known to be missing
		t.missing += uint32(t.base - version - 1)
		t.base = version
	} else {
		t.missing--
	}
	return late
}

// missingInWindow returns how many of the missing versions are inside the window.
func (t *track) missingInWindow() uint32 {
	known := ^uint64(0)
	if n := t.last - t.base + 1; n < window {
		known = 1<<n - 1
	}
	return uint32(bits.OnesCount64(^t.seen & known))
}

// lost returns how many of the due events were not received.
func (t *track) lost(due uint32) uint32 {
	lost := t.missing + t.earlier
	if due > t.got {
		lost = max(lost, due-t.got)
	}
	return lost
}
