package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// timed is an operation of a key without a revision. Only real time, and the
// revisions that reads return, restrict its place in the order.
type timed struct {
	began, ended int64 // ended: never, of a write that may have been done
	value        uint64
	mod          int64 // revision of its version by its response or by reads; 0: none, or possibly older
	expected     int64 // of a compare-and-set
	answer       int64 // revision of the response in which a watcher received a deletion
	from         int   // of a read: its write, or one of the constants below
	ord          uint32
	role         role
	member       uint8
	flags
	seen bool // a read returned it
}

const never = math.MaxInt64

// Origins of a read's value other than a write of the history.
const (
	before    = -1 - iota // older than the history
	nowhere               // reported as unwritten
	nothing               // the key did not exist
	something             // the key existed in an unknown version
)

// timedKey holds the operations of a key. Its memory is reused.
type timedKey struct {
	writes, reads []timed
	byValue       []int // writes with a value
	acked         []int // writes in the order of their ends
	latest        []int // for each prefix of acked, the write that began last
	latestPut     []int // as latest, for writes that do not delete; -1: none
	latestDelete  []int // as latest, for deletes
	deletes, puts begun
	marks         []mark
}

// begun holds writes in the order of their starts, and for each prefix the one that ended last.
type begun struct{ writes, longest []int }

// sort orders the writes and computes longest.
func (b *begun) sort(all []timed) {
	slices.SortStableFunc(b.writes, func(x, y int) int { return cmp.Compare(all[x].began, all[y].began) })
	b.longest = b.longest[:0]
	last := -1
	for _, i := range b.writes {
		if last < 0 || all[i].ended > all[last].ended {
			last = i
		}
		b.longest = append(b.longest, last)
	}
}

// latestEnd returns the latest end of the writes that began by a time; -1 if none had begun. Events
// at the same time have no order.
func (b *begun) latestEnd(at int64, all []timed) int64 {
	n := sort.Search(len(b.writes), func(i int) bool { return all[b.writes[i]].began > at })
	if n == 0 {
		return -1
	}
	return all[b.longest[n-1]].ended
}

// endedBefore returns the number of entries of acked that ended before a time.
func (t *timedKey) endedBefore(at int64) int {
	return sort.Search(len(t.acked), func(i int) bool { return t.writes[t.acked[i]].ended >= at })
}

// stateInTime describes the write that a read missed.
func (w *timed) stateInTime() string {
	if w.flagged(isDelete) {
		return "a delete of the key had been acknowledged that began after the returned version had been written"
	}
	return fmt.Sprintf("value #%d had been acknowledged, and its write began after the returned version had been written", w.value)
}
