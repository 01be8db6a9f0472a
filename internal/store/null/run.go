package null

import (
	"sync/atomic"
	"time"
)

// Run is one script being followed: it numbers the operations and knows when
// the first arrived. The members of one null cluster share a Run. It may be
// used by several goroutines at once.
type Run struct {
	script *Script
	count  atomic.Uint64
	start  atomic.Int64 // 1 + the first operation's arrival; 0 before it
}

// NewRun begins to follow a script.
func NewRun(s *Script) *Run { return &Run{script: s} }

// Arrive numbers an operation that arrived at now, in nanoseconds of any clock
// that starts at or above zero, and decides about it. due is Action.At in that
// clock. first is true for the first operation, from which all times count.
func (r *Run) Arrive(now int64) (a Action, due int64, first bool) {
	n := r.count.Add(1)
	start := r.start.Load()
	if start == 0 {
		r.start.CompareAndSwap(0, now+1)
		start = r.start.Load()
	}
	start--
	// Another goroutine's operation, read a moment later, may have been first.
	a = r.script.Decide(n, time.Duration(max(now-start, 0)))
	return a, start + int64(a.At), n == 1
}

// Start is when the first operation arrived, in the clock that Arrive is
// given; ok is false before it.
func (r *Run) Start() (now int64, ok bool) {
	start := r.start.Load()
	return start - 1, start != 0
}

// Operations is how many have arrived.
func (r *Run) Operations() uint64 { return r.count.Load() }
