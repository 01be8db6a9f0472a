package verify

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// version is what a key was from a revision on.
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

// count is how often the key was written since it was made, where that is what
// writes expect of it; 0: not known.
func (v *version) count() int64 { return v.expected + 1 }

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
	events   []entry // what watchers were told
	endings  []entry // of sessions
	marks    []mark
	versions []version
	puts     pool // of maybes: what may explain a version whose value is not known
	deletes  pool // what may explain that the key is gone
	writers  []writer
	timed    timedKey // of what is checked in time
	resolved uint64
}

// check checks the entries as those of a key.
func (k *keyChecker) check(key uint64) {
	k.key = key
	k.split()
	k.list()
	k.replay()
	for i := range k.loose {
		k.looseRead(&k.loose[i])
	}
	for i := range k.endings {
		k.outlived(&k.endings[i])
	}
	k.watched()
}

func (k *keyChecker) split() {
	k.writes, k.reads, k.loose, k.maybes, k.refusals = k.writes[:0], k.reads[:0], k.loose[:0], k.maybes[:0], k.refusals[:0]
	k.events, k.endings = k.events[:0], k.endings[:0]
	for i := range k.entries {
		to := &k.refusals
		switch e := &k.entries[i]; {
		case e.role == wrote:
			to = &k.writes
		case e.role == maybe:
			to = &k.maybes
		case e.role == read && e.at > 0:
			to = &k.reads
		case e.role == read:
			to = &k.loose
		case e.role == notice:
			to = &k.events
		case e.role == ending:
			to = &k.endings
		}
		*to = append(*to, k.entries[i])
	}
	byRevision := func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ord, b.ord)) }
	slices.SortFunc(k.writes, byRevision)
	slices.SortFunc(k.reads, byRevision)
}

// list makes the key's versions: those of writes that were done, and those that
// answers show.
func (k *keyChecker) list() {
	k.versions, k.marks, k.writers = k.versions[:0], k.marks[:0], k.writers[:0]
	for i := range k.writes {
		k.versions = append(k.versions, versionOf(&k.writes[i], k.writes[i].at))
	}
	for _, list := range [][]entry{k.reads, k.loose} {
		for i := range list {
			if e := &list[i]; e.is(isTold) && e.mod > 0 {
				k.witness(mark{rev: e.mod, value: e.value, ord: e.ord})
			}
		}
	}
	for i := range k.writes {
		if e := &k.writes[i]; e.is(isCAS) && e.mod > 0 && !k.counted {
			k.witness(mark{rev: e.mod, value: history.Unseen, ord: e.ord, cas: true})
		}
	}
	// One that may have been done names what was there before, which its client was told.
	for i := range k.maybes {
		if e := &k.maybes[i]; e.is(isCAS) && e.mod > 0 && e.mod <= k.base && !k.counted {
			k.witness(mark{rev: e.mod, value: history.Unseen, ord: e.ord, cas: true})
		}
	}
	for i := range k.events {
		e := &k.events[i]
		if k.witness(mark{rev: e.at, value: e.value, ord: e.ord}); e.mod > 0 {
			k.witness(mark{rev: e.mod, value: e.before(), ord: e.ord})
		}
	}
	k.deletes.fill(k.maybes, true)
	if len(k.marks) > 0 {
		k.resolve()
		slices.SortStableFunc(k.versions, func(a, b version) int { return cmp.Compare(a.rev, b.rev) })
	}
	k.puts.fill(k.maybes, false)
}

func versionOf(e *entry, rev int64) version {
	v := version{rev: rev, value: e.value, done: e.time, expected: e.mod, ord: e.ord, flags: e.flags, pending: e.is(isPending)}
	if e.role != wrote || v.pending {
		v.done = -1
	}
	return v
}

// witness notes that an answer shows a version. Those of writes that were done are
// found at once.
func (k *keyChecker) witness(m mark) {
	i := sort.Search(len(k.writes), func(i int) bool { return k.writes[i].at >= m.rev })
	if i == len(k.writes) || k.writes[i].at != m.rev {
		k.marks = append(k.marks, m)
		return
	}
	if !m.cas {
		k.versions[i].seen = true
	}
	for j := i; j < len(k.writes) && k.writes[j].at == m.rev; j++ {
		if w := &k.writes[j]; w.value == m.value || m.value == history.Unseen && w.value != history.Absent {
			return
		}
	}
	if m.cas {
		return // that it names a deleted version is seen when it is replayed
	}
	k.add(finding{kind: OtherValue, promise: history.Snapshot, n: 2, ords: [3]uint32{k.writes[i].ord, m.ord}, revision: m.rev})
}

func (k *keyChecker) add(f finding) {
	f.key = k.key
	k.found.add(f)
}

// state says what a version was.
func (v *version) state() string {
	if !v.there() {
		return fmt.Sprintf("the key had been deleted at revision %d", v.rev)
	}
	if v.value == history.Unseen {
		return fmt.Sprintf("the key's version was that of revision %d", v.rev)
	}
	return fmt.Sprintf("the key had value #%d of revision %d", v.value, v.rev)
}
