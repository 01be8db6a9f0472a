package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// timed is an operation on a key in the history of a store that returns no revisions of writes. Its
// position in the order of operations follows only from real time and from the revisions that reads
// return.
type timed struct {
	startedAt, endedAt int64 // for a write with an unknown outcome, endedAt is the constant `never`
	value              uint64
	mod                int64 // read: revision of the version that it returned; write: revision at which reads returned its version; 0: unknown
	expected           int64 // revision that a compare-and-set expects
	answer             int64 // deletion reported to a watcher: revision of the response
	readFrom           int   // read: index of the write whose value it returned, or one of the constants below
	ord                uint32
	role               role
	member             uint8
	flags
	seen bool // a read returned it
}

const never = math.MaxInt64

// Sources of the data that a read returned, other than a write in the history.
const (
	beforeHistory  = -1 - iota // the value was written before the history
	noSource                   // no known write wrote the value
	noVersion                  // the key did not exist
	unknownVersion             // the key existed, but its version is unknown
)

// timedKey holds the operations on a key. Its memory is reused.
type timedKey struct {
	writes, reads []timed
	byValue       []int // writes with a value
	acked         []int // acknowledged writes, in the order of their ends
	latest        []int // for each prefix of acked: index of the write that began last
	latestPut     []int // like latest, but only for writes that are not deletes; -1: none
	latestDelete  []int // like latest, but only for deletes
	deletes, puts writesByStart
	shownVersions []shownVersion
}

// writesByStart holds the indices of writes in the order in which they began and, for each prefix
// of these writes, the index of the write that ended last.
type writesByStart struct{ writes, longest []int }

// sort sorts the writes by the times at which they began, and sets longest.
func (b *writesByStart) sort(all []timed) {
	slices.SortStableFunc(b.writes, func(x, y int) int { return cmp.Compare(all[x].startedAt, all[y].startedAt) })
	b.longest = b.longest[:0]
	last := -1
	for _, i := range b.writes {
		if last < 0 || all[i].endedAt > all[last].endedAt {
			last = i
		}
		b.longest = append(b.longest, last)
	}
}

// latestEnd returns the latest end of the writes that had begun by a time, or -1 if none had begun.
// It includes writes that began at exactly this time, because the order of events with equal times
// is unknown.
func (b *writesByStart) latestEnd(time int64, all []timed) int64 {
	n := sort.Search(len(b.writes), func(i int) bool { return all[b.writes[i]].startedAt > time })
	if n == 0 {
		return -1
	}
	return all[b.longest[n-1]].endedAt
}

// endedBefore returns the number of writes in the field acked that ended before a time.
func (t *timedKey) endedBefore(time int64) int {
	return sort.Search(len(t.acked), func(i int) bool { return t.writes[t.acked[i]].endedAt >= time })
}

// stateInTime describes a write whose effect a read should have seen.
func (w *timed) stateInTime() string {
	if w.containsAny(isDelete) {
		return "the store had already acknowledged a delete that began after the returned version had been written"
	}
	return fmt.Sprintf("the store had already acknowledged a write of value #%d that began after the returned version had been written", w.value)
}
