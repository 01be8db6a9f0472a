package verify

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// version is a key's state since a revision.
type version struct {
	rev      int64
	value    uint64 // Absent: it was deleted; Unseen: not known
	done     int64  // when its write was acknowledged; -1: it was not, or not in this history
	expected int64  // of a compare-and-set; AnyMod: not known
	ord      uint32 // of its write, or of the read that shows it
	flags           // of its write
	seen     bool   // a read returned it
	pending  bool   // its write is of a transaction whose other part was seen
}

func (v *version) there() bool { return v.value != history.Absent }

// count returns the number of writes since the key was created, if writes expect a count; 0:
// unknown.
func (v *version) count() int64 { return v.expected + 1 }

// state describes a version.
func (v *version) state() string {
	if !v.there() {
		return fmt.Sprintf("the key had been deleted at revision %d", v.rev)
	}
	if v.value == history.Unseen {
		return fmt.Sprintf("the key's version was that of revision %d", v.rev)
	}
	return fmt.Sprintf("the key had value #%d of revision %d", v.value, v.rev)
}

// keyChecker checks one key after the other. Its memory is used again.
type keyChecker struct {
	base    int64
	based   bool // base is the store's own word
	counted bool // a compare-and-set asks for a count of writes (version.count)
	found   *findings
	txns    *transactions
	members []uint64
	old     *stalenesses
	// watchers are those of all keys.
	watchers *watchers

	key      uint64
	entries  []entry
	writes   []entry // done, by revision
	reads    []entry // by the revision that they were served at
	loose    []entry // reads whose revision is not told
	maybes   []entry // writes that may have been done
	refusals []entry // writes that were not
	events   []entry // watch events
	endings  []entry // of sessions
	marks    []mark
	versions []version
	puts     pool // pool of maybes that may explain a version with an unknown value
	deletes  pool // pool of maybes that may explain a deleted key
	writers  []writer
	timed    timedKey // of what is checked in time
	resolved uint64
}

func versionOf(e *entry, rev int64) version {
	v := version{rev: rev, value: e.value, done: e.time, expected: e.mod, ord: e.ord, flags: e.flags, pending: e.is(isPending)}
	if e.role != wrote || v.pending {
		v.done = -1
	}
	return v
}

func (k *keyChecker) add(f finding) {
	f.key = k.key
	k.found.add(f)
}
