package verify

import (
	"fmt"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkSessionKey checks that the end of a session deleted the version that was bound to it: no
// response served at or after the revision of the end may contain this version. Each version is
// bound to one session, so checkSessionKey does not check other versions.
func (k *keyChecker) checkSessionKey(end *entry) {
	for i := sort.Search(len(k.reads), func(i int) bool { return k.reads[i].revision >= end.revision }); i < len(k.reads); i++ {
		r := &k.reads[i]
		if !r.containsAny(isKnown) || !returnsDeletedVersion(r, end) {
			continue
		}
		f := finding{
			kind: KeyOutlivedSession, guarantee: history.EndsWithSession, operationCount: 2, ords: [3]uint32{end.ord, r.ord}, revision: end.revision,
			state: fmt.Sprintf("the session to which the returned version belonged had ended at revision %d", end.revision),
		}
		if made := k.writeAt(end.versionRevision); made != nil {
			f.operationCount, f.ords = 3, [3]uint32{made.ord, end.ord, r.ord}
		}
		k.add(f)
	}
}

// returnsDeletedVersion reports whether a read returned the version that the end of a session
// deleted. It compares the revisions of the versions. If the read contains no revision,
// returnsDeletedVersion compares the values and assumes that each version has a different value.
func returnsDeletedVersion(r, end *entry) bool {
	if r.versionRevision > 0 {
		return r.versionRevision == end.versionRevision
	}
	return r.value != history.Absent && r.value == end.value
}

// writeAt returns the write at a revision, or nil if there is none.
func (k *keyChecker) writeAt(rev int64) *entry {
	i := sort.Search(len(k.writes), func(i int) bool { return k.writes[i].revision >= rev })
	if i == len(k.writes) || k.writes[i].revision != rev {
		return nil
	}
	return &k.writes[i]
}
