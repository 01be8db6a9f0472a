package watch

import "math/bits"

// track holds what one watcher has received for one key. The version of a key is 1 when it is
// created, and each write increases it by 1. So a skipped version means that an event was lost,
// unless the event arrives later.
type track struct {
	lastVersion  int64  // highest version received
	firstVersion int64  // lowest version received; 0 after a deletion
	rev          int64  // the store's revision at version lastVersion; 0: no event has arrived yet
	receivedBits uint64 // bit i is set if version lastVersion-i was received
	received     uint32 // number of different events
	// missing and missingBeforeDeletion count versions that were not received. missing counts those
	// between firstVersion and lastVersion, and missingBeforeDeletion counts those before the key's
	// last deletion.
	missing, missingBeforeDeletion uint32
}

// arrivalOrder classifies an event.
type arrivalOrder uint8

const (
	inOrder    arrivalOrder = iota // later than all earlier events
	outOfOrder                     // new, but not in order
	duplicate                      // was received before
)

const window = 64 // number of versions that receivedBits covers

// receive classifies and counts an event. `version` is the key's version, and `revision` is the
// store's revision. Version 0 means that the key was deleted. A negative version means that the
// version is unknown.
//
// The track knows how many versions before the window are missing, but not which. As long as this
// number is above 0, an event with a version before the window is classified as out of order and
// reduces the number by one. After that, such an event is classified as a duplicate. For example,
// if versions 1 to 4, 6 and 8 to 200 were received, version 5 is classified as out of order twice,
// and then as a duplicate.
func (t *track) receive(version, revision int64) arrivalOrder {
	v := t.classify(version, revision)
	if v != duplicate {
		t.received++
	}
	return v
}

func (t *track) classify(version, revision int64) arrivalOrder {
	if version < 0 {
		return t.classifyRevision(revision)
	}
	switch {
	case t.rev == 0:
		t.lastVersion, t.firstVersion, t.rev, t.receivedBits = version, version, revision, 1
		return inOrder
	case revision > t.rev:
		t.rev = revision
		t.follow(version)
		return inOrder
	case revision == t.rev:
		return duplicate
	}
	return t.classifyEarlier(version)
}

// classifyRevision classifies an event that has no version. An event that is older than the latest
// one is always classified as out of order, even if it is a duplicate, because the track does not
// remember earlier events. Such events are rare.
func (t *track) classifyRevision(revision int64) arrivalOrder {
	switch {
	case revision > t.rev:
		t.rev = revision
		return inOrder
	case revision == t.rev:
		return duplicate
	}
	return outOfOrder
}

// begin records the state of the key when a watcher starts. `revision` is the revision that caused
// this state. The watcher skipped the versions between the last event and this state. If the key
// has the same version as before at a higher revision, it was deleted and created again.
func (t *track) begin(version, revision int64) {
	switch {
	case t.rev == 0:
		t.lastVersion, t.firstVersion, t.rev, t.receivedBits = version, version, max(revision, 1), 1
	case revision > t.rev:
		last := t.lastVersion
		if t.rev = revision; version != last || version > 0 {
			t.follow(version)
			t.missing++ // the current version was skipped, too
		}
	}
}

// skipped returns the number of versions that were skipped.
func (t *track) skipped() uint32 { return t.missing + t.missingBeforeDeletion }

// countMissing is used for a watcher that may skip versions. `lost` is the number of expected
// events after the last event that arrived. `skipped` is the number of skipped versions.
func (t *track) countMissing(due uint32) (lost, skipped uint32) {
	skipped = t.skipped()
	if arrived := t.received + skipped; due > arrived {
		lost = due - arrived
	}
	return lost, skipped
}

// follow updates the track for an event that is newer than all earlier events.
func (t *track) follow(version int64) {
	switch {
	case version == 0: // deleted; the next version will be 1
		t.restartVersions(0)
	case version <= t.lastVersion: // deleted and created again, and no event for the deletion arrived
		t.restartVersions(1)
		t.shift(version)
	default:
		t.shift(version)
	}
}

// restartVersions restarts the count of versions after a deletion. `unseen` is 1 if the event for
// the deletion did not arrive, and otherwise 0.
func (t *track) restartVersions(unseen uint32) {
	t.missingBeforeDeletion += t.missing + unseen
	t.lastVersion, t.firstVersion, t.receivedBits, t.missing = 0, 0, 1, 0
}

// shift increases the field `lastVersion` to `version`.
func (t *track) shift(version int64) {
	d := version - t.lastVersion
	t.missing += uint32(d - 1)
	t.lastVersion = version
	if d < window {
		t.receivedBits = t.receivedBits<<d | 1
	} else {
		t.receivedBits = 1
	}
}

// classifyEarlier classifies an event that is older than the latest event.
func (t *track) classifyEarlier(version int64) arrivalOrder {
	age := t.lastVersion - version
	switch {
	case age < 0 || version == 0: // from before the key's last deletion
		if t.missingBeforeDeletion == 0 {
			return duplicate
		}
		t.missingBeforeDeletion--
		return outOfOrder
	case age >= window:
		if t.missing <= t.missingInWindow() {
			return duplicate
		}
		t.missing--
		return outOfOrder
	case t.receivedBits&(1<<age) != 0:
		return duplicate
	}
	t.receivedBits |= 1 << age
	if version < t.firstVersion { // the versions between version and firstVersion are missing
		t.missing += uint32(t.firstVersion - version - 1)
		t.firstVersion = version
	} else {
		t.missing--
	}
	return outOfOrder
}

// missingInWindow returns the number of missing versions that the field receivedBits covers.
func (t *track) missingInWindow() uint32 {
	known := ^uint64(0)
	if n := t.lastVersion - t.firstVersion + 1; n < window {
		known = 1<<n - 1
	}
	return uint32(bits.OnesCount64(^t.receivedBits & known))
}

// lost returns how many of the `due` expected events did not arrive.
func (t *track) lost(due uint32) uint32 {
	lost := t.missing + t.missingBeforeDeletion
	if due > t.received {
		lost = max(lost, due-t.received)
	}
	return lost
}
