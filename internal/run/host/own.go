package host

import (
	"sync"
	"time"
)

// Own is the time of this process: it begins with the machine's wall clock, and goes on
// by a clock that nobody sets. All times of a run are of one Own, those of other machines
// by way of it, too; where the machine's wall clock is set meanwhile they stay as far
// apart as they were. Its methods may be called from several goroutines.
type Own struct {
	wall  func() time.Time
	since func() time.Duration // since began, by a clock that nobody sets
	began time.Time

	mu    sync.Mutex
	last  Clock // of the wall clock; At is zero before the first look
	set   time.Duration
	jumps int
}

// NewOwn begins with what wall says. since says how much time has passed since some
// moment, by a clock that nobody sets; nil is the system's for both.
func NewOwn(wall func() time.Time, since func() time.Duration) *Own {
	if wall == nil {
		wall = time.Now
	}
	o := &Own{wall: wall, began: wall()}
	if began := o.began; since == nil {
		began = time.Now()
		o.since = func() time.Duration { return time.Since(began) }
	} else {
		start := since()
		o.since = func() time.Duration { return since() - start }
	}
	return o
}

// Now is the time.
func (o *Own) Now() time.Time { return o.began.Add(o.since()) }

// leastSet is how far a wall clock moves at least where it was set. What disciplines a
// clock moves it by less at once, and the clock that nobody sets with it.
const leastSet = time.Millisecond

// Clock is how far the machine's wall clock is ahead of Now, and how often and by how
// much it was seen to be set by calls before and this one. A machine that was suspended
// looks alike: the clock that nobody sets may have stood still.
func (o *Own) Clock() Clock {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.Now()
	wall := o.wall().Round(0) // as it is shown, and not how far it is from began
	after := o.Now()
	half := after.Sub(before) / 2
	at := before.Add(half)
	is := Clock{Ahead: wall.Sub(at.Round(0)), Bound: half + 1, At: at}
	if o.last.At.IsZero() {
		o.last = Clock{At: o.began} // which is ahead of itself by nothing
	}
	if by := is.Ahead - o.last.Ahead; by.Abs() > leastSet+is.Bound+o.last.Within(at) {
		o.jumps++
		o.set += by
	} else if is.Bound > o.last.Within(at) {
		is.Ahead, is.Bound = o.last.Ahead, o.last.Within(at) // a look that took long says less
	}
	o.last = is
	is.Moved, is.Set, is.Jumps = is.Ahead, o.set, o.jumps
	return is
}
