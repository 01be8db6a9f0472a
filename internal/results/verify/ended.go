package verify

import (
	"fmt"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// outlived checks that the end of a session deleted the version that was bound to it: no response
// served at or after the revision of the end may contain this version. Each version is bound to one
// session, so outlived does not check other versions.
func (k *keyChecker) outlived(end *entry) {
	for i := sort.Search(len(k.reads), func(i int) bool { return k.reads[i].at >= end.at }); i < len(k.reads); i++ {
		r := &k.reads[i]
		if !r.flagged(isKnown) || !isOf(r, end) {
			continue
		}
		f := finding{
			kind: Outlived, promise: history.Ends, n: 2, ords: [3]uint32{end.ord, r.ord}, revision: end.at,
			state: fmt.Sprintf("the session to which the returned version belonged had ended at revision %d", end.at),
		}
		if made := k.madeAt(end.mod); made != nil {
			f.n, f.ords = 3, [3]uint32{made.ord, end.ord, r.ord}
		}
		k.add(f)
	}
}

// isOf reports whether a read returned the version that the end of a session deleted. It compares
// the revisions of the versions. If the read contains no revision, isOf compares the values and
// assumes that each version has a different value.
func isOf(r, end *entry) bool {
	if r.mod > 0 {
		return r.mod == end.mod
	}
	return r.value != history.Absent && r.value == end.value
}

// madeAt returns the write at a revision, or nil if there is none.
func (k *keyChecker) madeAt(rev int64) *entry {
	i := sort.Search(len(k.writes), func(i int) bool { return k.writes[i].at >= rev })
	if i == len(k.writes) || k.writes[i].at != rev {
		return nil
	}
	return &k.writes[i]
}
