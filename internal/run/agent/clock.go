package agent

import "time"

// Clock is the time of one side: what it stamps with, and what it waits by.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// System is this machine's.
func System() Clock { return Clock{Now: time.Now, After: time.After} }

// Exchange is a question about the time and its answer, as NTP has them: asked and
// heard by our clock, received and answered by the other's.
type Exchange struct{ Asked, Received, Answered, Heard time.Time }

// farthest is how far apart two clocks can be: beyond, one of them says no time.
const farthest = 20 * 365 * 24 * time.Hour

// Offset is how far another clock is ahead of ours.
type Offset struct {
	// Ahead is the estimate, and the truth at most Bound away from it: half of
	// the round trip in which it was taken, which the answer may have spent on one way.
	Ahead, Bound time.Duration
	At           time.Time // when it was taken, by our clock
	// Moved is how far Ahead is from the first estimate, and Jumps how often the
	// clocks moved against each other by more than their bounds allow.
	Moved time.Duration
	Jumps int
}

// Offset is what one exchange says. It does not where time ran backwards in it.
func (e Exchange) Offset() (o Offset, ok bool) {
	there, back := e.Received.Sub(e.Asked), e.Answered.Sub(e.Heard)
	trip := e.Heard.Sub(e.Asked) - e.Answered.Sub(e.Received)
	if there.Abs() > farthest || back.Abs() > farthest || trip < 0 || e.Answered.Before(e.Received) {
		return Offset{}, false
	}
	return Offset{Ahead: back + (there-back)/2, Bound: (trip + 1) / 2, At: e.Heard}, true
}

// kept is how many exchanges an estimate is chosen from.
const kept = 16

// Offsets follows another clock: its estimate is that of the least bound among the
// last exchanges that agree with each other. The zero value knows nothing.
type Offsets struct {
	last  []Offset
	first *Offset
	jumps int
}

// Add takes an exchange. One that contradicts an earlier one says that a clock was
// set, or drifted: those before it are forgotten.
func (o *Offsets) Add(e Exchange) {
	now, ok := e.Offset()
	if !ok {
		return
	}
	for _, before := range o.last {
		if (now.Ahead - before.Ahead).Abs() > now.Bound+before.Bound {
			o.last = o.last[:0]
			o.jumps++
			break
		}
	}
	if len(o.last) == kept {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, now)
	if best := o.best(); o.first == nil || o.jumps == 0 && len(o.last) <= begins && best.Bound < o.first.Bound {
		o.first = &best
	}
}

// begins is how many exchanges the first estimate is chosen from: those before a
// session is used.
const begins = 8

func (o *Offsets) best() (best Offset) {
	for i, one := range o.last {
		if i == 0 || one.Bound < best.Bound {
			best = one
		}
	}
	return best
}

// Now is the present estimate; the zero value before the first exchange.
func (o *Offsets) Now() Offset {
	best := o.best()
	if o.first != nil {
		best.Moved, best.Jumps = best.Ahead-o.first.Ahead, o.jumps
	}
	return best
}
