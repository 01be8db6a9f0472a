package verify

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// version is the state of a key from one revision to the next.
type version struct {
	rev      int64
	value    uint64 // Absent: the key was deleted; UnknownValue: unknown value
	done     int64  // time at which the write was acknowledged; -1: not acknowledged in this history
	expected int64  // revision (or number of writes) that a compare-and-set expects; UnknownRevision: unknown
	ord      uint32 // number of the operation that wrote the version, or of a read that returned it
	flags           // flags of the write
	wasRead  bool   // a read returned it
	pending  bool   // the write is a part of a transaction; a response showed another part of the same transaction
}

func (v *version) exists() bool { return v.value != history.Absent }

// count returns the number of writes of the key since it was created, including the write of this
// version, or 0 if the number is unknown. It is valid only for stores whose compare-and-sets
// compare this number.
func (v *version) count() int64 { return v.expected + 1 }

// state describes a version.
func (v *version) state() string {
	if !v.exists() {
		return fmt.Sprintf("the key had been deleted at revision %d", v.rev)
	}
	if v.value == history.UnknownValue {
		return fmt.Sprintf("the key had the version of revision %d", v.rev)
	}
	return fmt.Sprintf("the key had value #%d of revision %d", v.value, v.rev)
}

// keyChecker checks keys one after the other, and reuses its memory for each key.
type keyChecker struct {
	base           int64
	baseKnown      bool // the store reported base
	comparesCounts bool // compare-and-sets compare the number of writes (version.count) instead of the revision
	found          *findings
	txns           *transactions
	members        []uint64
	staleReads     *stalenesses
	// watchers holds the watchers of all keys.
	watchers *watchers

	key                  uint64
	entries              []entry
	writes               []entry // acknowledged writes, by revision
	reads                []entry // ordered by the revision at which they were served
	readsWithoutRevision []entry // reads without a revision
	indefiniteWrites     []entry // writes with unknown outcomes
	refusedWrites        []entry // writes that were not executed
	watchEvents          []entry // watch events
	sessionEnds          []entry // ends of sessions
	shownVersions        []shownVersion
	versions             []version
	puts                 writePool // the writes in indefiniteWrites that may explain a version with an unknown value
	deletes              writePool // the deletes in indefiniteWrites that may explain why the key does not exist
	writers              []writer
	timed                timedKey // used by checkByTime
	resolved             uint64
}

func versionOf(e *entry, rev int64) version {
	v := version{rev: rev, value: e.value, done: e.time, expected: e.versionRevision, ord: e.ord, flags: e.flags, pending: e.containsAny(isPending)}
	if e.role != wrote || v.pending {
		v.done = -1
	}
	return v
}

func (k *keyChecker) add(f finding) {
	f.key = k.key
	k.found.add(f)
}
