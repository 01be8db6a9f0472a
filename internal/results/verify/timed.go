package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// timed is an operation of a key without a revision of its own. Only real time, and the
// revisions that reads return, restrict its place in the order.
type timed struct {
	began, ended int64 // ended: never, of a write that may have been done
	value        uint64
	mod          int64 // that it shows, or that reads of it do; 0: none, or one that may be of before
	expected     int64 // of a compare-and-set
	answer       int64 // revision of the response in which a watcher received a deletion
	from         int   // of a read: its write, or one of the following
	ord          uint32
	role         role
	member       uint8
	flags
	seen bool // a read returned it
}

const never = math.MaxInt64

// Where a read's value is from, if not from a write of the history.
const (
	before    = -1 - iota // the history: it is older than all of it
	nowhere               // it is said to be invented
	nothing               // the key was not there
	something             // the key was there, and which version is not told
)

// timedKey is what is known of a key; its memory is used again.
type timedKey struct {
	writes, reads []timed
	byValue       []int // writes that have a value
	acked         []int // writes, by their ends
	latest        []int // of each beginning of acked: which began last
	latestPut     []int // as latest, only writes that do not delete; -1: none
	latestDelete  []int // as latest, only deletions
	deletes, puts begun
	marks         []mark
}

// begun is writes by their beginnings, and of each beginning of them which ended last.
type begun struct{ writes, longest []int }

// sort makes it of writes in any order.
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

// until is when the one of those that had begun by a time ended which ended last; -1: none
// had begun. At one time is in either order.
func (b *begun) until(at int64, all []timed) int64 {
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

func (w *timed) stateInTime() string {
	if w.is(isDelete) {
		return "a delete of the key had been acknowledged, which began after what it returned had been written"
	}
	return fmt.Sprintf("value #%d had been acknowledged, whose write began after what it returned had been there", w.value)
}
