package agent

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Clock is the time of one side: what it stamps with, and what it waits by.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// System is this machine's, as an agent has it: members there write down its times.
func System() Clock { return Clock{Now: time.Now, After: time.After} }

// Steady is a controller's: all agents' clocks are compared with it, so that it must not
// be set.
func Steady() Clock { return Clock{Now: measure.Now, After: time.After} }

// Exchange is a question about the time and its answer, as NTP has them: asked and
// heard by our clock, received and answered by the other's.
type Exchange struct{ Asked, Received, Answered, Heard time.Time }

// farthest is how far apart two clocks can be: beyond, one of them says no time.
const farthest = 20 * 365 * 24 * time.Hour

// Offset is what one exchange says. It does not where time ran backwards in it.
func (e Exchange) Offset() (o host.Clock, ok bool) {
	there, back := e.Received.Sub(e.Asked), e.Answered.Sub(e.Heard)
	trip := e.Heard.Sub(e.Asked) - e.Answered.Sub(e.Received)
	if there.Abs() > farthest || back.Abs() > farthest || trip < 0 || e.Answered.Before(e.Received) {
		return host.Clock{}, false
	}
	return host.Clock{Ahead: back + (there-back)/2, Bound: (trip + 1) / 2, At: e.Heard}, true
}

// kept is how many exchanges an estimate is chosen from.
const kept = 16

// Offsets follows another clock: its estimate is that of the least bound, as old as
// it is, among the last exchanges that agree with each other. The zero value knows
// nothing.
type Offsets struct {
	last  []host.Clock
	first *host.Clock
	jumps int
	set   time.Duration // by all jumps together
}

// Add takes an exchange. One that contradicts an earlier one, by more than clocks
// drift, says that a clock was set: those before it are forgotten.
func (o *Offsets) Add(e Exchange) {
	now, ok := e.Offset()
	if !ok {
		return
	}
	before := o.best(now.At)
	for i := range o.last {
		one := &o.last[i]
		if (now.Ahead - one.Ahead).Abs() > now.Bound+one.Within(now.At) {
			o.last = o.last[:0]
			o.jumps++
			o.set += now.Ahead - before.Ahead
			break
		}
	}
	if len(o.last) == kept {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, now)
	if best := o.best(now.At); o.first == nil || o.jumps == 0 && len(o.last) <= begins && best.Bound < o.first.Bound {
		o.first = &best
	}
}

// begins is how many exchanges the first estimate is chosen from: those before a
// session is used.
const begins = 8

// best is the estimate of a time.
func (o *Offsets) best(at time.Time) (best host.Clock) {
	for i := range o.last {
		if one := &o.last[i]; i == 0 || one.Within(at) <= best.Within(at) {
			best = *one
		}
	}
	return best
}

// At is the estimate of a time that is not before the last exchange; the zero value
// before the first one.
func (o *Offsets) At(at time.Time) host.Clock {
	best := o.best(at)
	if o.first != nil {
		best.Moved, best.Set, best.Jumps = best.Ahead-o.first.Ahead, o.set, o.jumps
	}
	return best
}

// Ours is a time of the other clock by ours, where it was read between two times of
// ours. Where it cannot have been, the other clock was set since it was asked last,
// and the two times are an exchange that says by how much.
func (o *Offsets) Ours(theirs, asked, heard time.Time) time.Time {
	is := o.best(heard)
	slack := is.Within(heard)
	at := theirs.Add(-is.Ahead)
	if len(o.last) > 0 && !at.Before(asked.Add(-slack)) && !at.After(heard.Add(slack)) {
		return at
	}
	o.Add(Exchange{Asked: asked, Received: theirs, Answered: theirs, Heard: heard})
	at = theirs.Add(-o.best(heard).Ahead)
	if at.Before(asked) || at.After(heard) { // it says no time
		return asked.Add(heard.Sub(asked) / 2)
	}
	return at
}
