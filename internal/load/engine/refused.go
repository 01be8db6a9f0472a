package engine

import "github.com/quorumbench/quorumbench/internal/kv"

// A client of a closed loop that is refused rests before its next operation, for the
// current mean service time of a success. Without the rest, a store that refuses at once
// for a tenth of the time would get most of all operations in that tenth; with the rest,
// about a tenth of the operations are errors. The rest is neither in flight nor part of a
// response time: the client's next operation is due at the end of the rest.

const (
	// firstRest is the rest before the first success: long enough to avoid a busy loop, and
	// short enough for a total to complete if no operation ever succeeds. lastRest is the
	// longest rest.
	firstRest = 10 * millisecond
	lastRest  = secondNS
)

// rests tracks the clients that rest, and how long a client rests.
type rests struct {
	resting
	usual int64 // running mean of the service times of successes; 0 before the first
}

// resting is the set of clients that rest: a binary heap with the first to wake at the
// front.
//
// Invariant: r[(i-1)/2].until <= r[i].until for each i > 0.
type resting []sleeper

type sleeper struct {
	until  int64
	client int32
}

func (r *resting) push(s sleeper) {
	*r = append(*r, s)
	h := *r
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].until <= h[i].until {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

func (r *resting) pop() sleeper {
	h := *r
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		next := 2*i + 1
		if next+1 < last && h[next+1].until < h[next].until {
			next++
		}
		if next >= last || h[i].until <= h[next].until {
			break
		}
		h[next], h[i] = h[i], h[next]
		i = next
	}
	*r = h
	return first
}

// firstWake returns the time at which the first client wakes; never if none rests.
func (r resting) firstWake() int64 {
	if len(r) == 0 {
		return never
	}
	return r[0].until
}

// noteSuccess adds the service time of a success to the mean.
func (r *rests) noteSuccess(service int64) {
	if r.usual == 0 {
		r.usual = max(service, 1)
	}
	r.usual = max(r.usual+(service-r.usual)/64, 1)
}

// restAfter returns how long a client rests after its operation failed. It returns 0 for a
// timeout, a wrong response, and a failure that took as long as a success without being a
// refusal.
func (r *rests) restAfter(sl *slot, outcome kv.Outcome, at, timeout int64) int64 {
	took := at - sl.due
	if sl.state == written {
		took = at - sl.sent
	}
	refused := outcome == kv.Refused || outcome == kv.NoLeader
	switch {
	case outcome == kv.WrongAnswer || outcome == kv.TimedOut:
		return 0 // not a refusal, or it already took the timeout
	case r.usual > 0 && (refused || took < r.usual):
		return min(r.usual, lastRest)
	case r.usual == 0 && took < timeout:
		return firstRest
	}
	return 0
}

// wakeRested starts the next operations of the clients whose rest has ended.
func (l *Loop) wakeRested() {
	r := &l.closed.rests
	for r.firstWake() <= l.now {
		s := r.pop()
		due := max(s.until, l.clock.current.start)
		if l.measuring {
			// Since the end of the rest the client has had an operation in flight.
			over := float64(l.now - max(due, l.res.Opened))
			l.res.RestingArea -= over
			l.res.InFlightArea += over
		}
		l.startNext(s.client, due)
	}
}
