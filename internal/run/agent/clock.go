package agent

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// Clock is a source of timestamps and timers.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// SystemClock returns this machine's clock. Agents use it, because the times in members' logs come
// from this clock.
func SystemClock() Clock { return Clock{Now: time.Now, After: time.After} }

// ControllerClock returns the controller's clock, which never jumps. All agents' clocks are
// compared with it.
func ControllerClock() Clock { return Clock{Now: measure.Now, After: time.After} }

// Exchange contains the four timestamps of an NTP exchange. Asked and Heard are times on our clock;
// Received and Answered are times on the other clock.
type Exchange struct{ Asked, Received, Answered, Heard time.Time }

// farthest is the largest plausible difference between two clocks. Beyond it, one of the clocks is
// wrong.
const farthest = 20 * 365 * 24 * time.Hour

// Offset computes how far the other clock is ahead. ok is false if time ran backwards during the
// exchange.
func (e Exchange) Offset() (o host.Clock, ok bool) {
	there, back := e.Received.Sub(e.Asked), e.Answered.Sub(e.Heard)
	trip := e.Heard.Sub(e.Asked) - e.Answered.Sub(e.Received)
	if there.Abs() > farthest || back.Abs() > farthest || trip < 0 || e.Answered.Before(e.Received) {
		return host.Clock{}, false
	}
	return host.Clock{Ahead: back + (there-back)/2, Bound: (trip + 1) / 2, At: e.Heard}, true
}

// kept is the number of exchanges from which the estimate is chosen.
const kept = 16

// Offsets estimates the offset of another clock. It keeps the last exchanges that agree with each
// other, extends the error bound of each exchange by its age, and chooses the exchange with the
// smallest bound. The zero value has no estimate.
type Offsets struct {
	last  []host.Clock
	first *host.Clock
	jumps int
	set   time.Duration // sum of all jumps
}

// Add adds an exchange. If its offset differs from the offset of an earlier exchange by more than
// clocks can drift, one of the clocks was set. Add then discards the earlier exchanges.
func (o *Offsets) Add(e Exchange) {
	now, ok := e.Offset()
	if !ok {
		return
	}
	before := o.best(now.At)
	for i := range o.last {
		one := &o.last[i]
		if (now.Ahead - one.Ahead).Abs() > now.Bound+one.ErrorBound(now.At) {
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

// begins is the number of exchanges before a session is used for the first time. The first estimate
// is chosen from these exchanges.
const begins = 8

// best returns the best estimate for a time.
func (o *Offsets) best(at time.Time) (best host.Clock) {
	for i := range o.last {
		if one := &o.last[i]; i == 0 || one.ErrorBound(at) <= best.ErrorBound(at) {
			best = *one
		}
	}
	return best
}

// Estimate returns the estimate for a time, which must not be before the last exchange. Before the
// first exchange it returns the zero value.
func (o *Offsets) Estimate(at time.Time) host.Clock {
	best := o.best(at)
	if o.first != nil {
		best.Moved, best.Set, best.Jumps = best.Ahead-o.first.Ahead, o.set, o.jumps
	}
	return best
}

// Convert converts a time that was read from the other clock between asked and heard, which are
// times on our clock. If the result is not between asked and heard, the other clock was set after
// the last exchange. Convert then adds the three times as a new exchange, which shows by how much
// the clock was set.
func (o *Offsets) Convert(theirs, asked, heard time.Time) time.Time {
	is := o.best(heard)
	slack := is.ErrorBound(heard)
	at := theirs.Add(-is.Ahead)
	if len(o.last) > 0 && !at.Before(asked.Add(-slack)) && !at.After(heard.Add(slack)) {
		return at
	}
	o.Add(Exchange{Asked: asked, Received: theirs, Answered: theirs, Heard: heard})
	at = theirs.Add(-o.best(heard).Ahead)
	if at.Before(asked) || at.After(heard) { // implausible
		return asked.Add(heard.Sub(asked) / 2)
	}
	return at
}
