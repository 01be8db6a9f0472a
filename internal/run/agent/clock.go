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

// Exchange contains the four timestamps of an NTP exchange. RequestSent and ReplyReceived are times
// on our clock; RequestReceived and ReplySent are times on the other clock.
type Exchange struct{ RequestSent, RequestReceived, ReplySent, ReplyReceived time.Time }

// maxOffset is the largest plausible difference between two clocks. If the difference is larger,
// one of the clocks is wrong.
const maxOffset = 20 * 365 * 24 * time.Hour

// Offset computes how far the other clock is ahead. ok is false if time ran backwards during the
// exchange.
func (e Exchange) Offset() (o host.Clock, ok bool) {
	there, back := e.RequestReceived.Sub(e.RequestSent), e.ReplySent.Sub(e.ReplyReceived)
	trip := e.ReplyReceived.Sub(e.RequestSent) - e.ReplySent.Sub(e.RequestReceived)
	if there.Abs() > maxOffset || back.Abs() > maxOffset || trip < 0 || e.ReplySent.Before(e.RequestReceived) {
		return host.Clock{}, false
	}
	return host.Clock{Ahead: back + (there-back)/2, Bound: (trip + 1) / 2, At: e.ReplyReceived}, true
}

// maxExchanges is the number of exchanges from which the estimate is chosen.
const maxExchanges = 16

// Offsets estimates the offset of another clock. It keeps the last exchanges that agree with each
// other, extends the error bound of each exchange by its age, and chooses the exchange with the
// smallest bound. The zero value has no estimate.
type Offsets struct {
	recent  []host.Clock
	first   *host.Clock
	jumps   int
	jumpSum time.Duration // sum of all jumps
}

// Add adds an exchange. If its offset differs from the offset of an earlier exchange by more than
// clocks can drift, one of the clocks was set. Add then discards the earlier exchanges.
func (o *Offsets) Add(e Exchange) {
	now, ok := e.Offset()
	if !ok {
		return
	}
	before := o.best(now.At)
	for i := range o.recent {
		one := &o.recent[i]
		if (now.Ahead - one.Ahead).Abs() > now.Bound+one.ErrorBound(now.At) {
			o.recent = o.recent[:0]
			o.jumps++
			o.jumpSum += now.Ahead - before.Ahead
			break
		}
	}
	if len(o.recent) == maxExchanges {
		o.recent = append(o.recent[:0], o.recent[1:]...)
	}
	o.recent = append(o.recent, now)
	if best := o.best(now.At); o.first == nil || o.jumps == 0 && len(o.recent) <= initialExchanges && best.Bound < o.first.Bound {
		o.first = &best
	}
}

// initialExchanges is the number of exchanges before a session is used for the first time. The
// first estimate is chosen from these exchanges.
const initialExchanges = 8

// best returns the best estimate for a time.
func (o *Offsets) best(at time.Time) (best host.Clock) {
	for i := range o.recent {
		if one := &o.recent[i]; i == 0 || one.ErrorBound(at) <= best.ErrorBound(at) {
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
		best.ChangeSinceFirst, best.JumpSum, best.Jumps = best.Ahead-o.first.Ahead, o.jumpSum, o.jumps
	}
	return best
}

// Convert converts a time that was read from the other clock between requestSent and replyReceived,
// which are times on our clock. If the result is not between requestSent and replyReceived, the
// other clock was set after the last exchange. Convert then adds the three times as a new exchange,
// which shows by how much the clock was set.
func (o *Offsets) Convert(remoteTime, requestSent, replyReceived time.Time) time.Time {
	estimate := o.best(replyReceived)
	errorBound := estimate.ErrorBound(replyReceived)
	localTime := remoteTime.Add(-estimate.Ahead)
	if len(o.recent) > 0 && !localTime.Before(requestSent.Add(-errorBound)) && !localTime.After(replyReceived.Add(errorBound)) {
		return localTime
	}
	o.Add(Exchange{RequestSent: requestSent, RequestReceived: remoteTime, ReplySent: remoteTime, ReplyReceived: replyReceived})
	localTime = remoteTime.Add(-o.best(replyReceived).Ahead)
	if localTime.Before(requestSent) || localTime.After(replyReceived) { // implausible
		return requestSent.Add(replyReceived.Sub(requestSent) / 2)
	}
	return localTime
}
