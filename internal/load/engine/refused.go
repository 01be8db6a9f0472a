package engine

import "github.com/quorumbench/quorumbench/internal/kv"

// A client of a closed loop that was refused rests before it asks again, for as
// long as a success takes of late: a store that refuses at once for a tenth of
// the time then has about a tenth of errors, and not as many as a client can
// spin in that time. The rest is neither an operation in progress nor response
// time: the client's next operation is due at its end.

const (
	// firstRest is the rest while nothing succeeded yet: long enough not to spin,
	// and short enough for a total to end when nothing ever does. lastRest is the
	// longest of any.
	firstRest = 10 * millisecond
	lastRest  = secondNS
)

// rests is which clients rest, and how long one does.
type rests struct {
	resting
	usual int64 // how long a success takes: a running mean of service times; 0: none yet
}

// resting is the clients that rest, the first to wake at the front: a binary
// heap.
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

// until is when the first wakes.
func (r resting) until() int64 {
	if len(r) == 0 {
		return never
	}
	return r[0].until
}

// succeeded takes how long a success took.
func (r *rests) succeeded(service int64) {
	if r.usual == 0 {
		r.usual = max(service, 1)
	}
	r.usual = max(r.usual+(service-r.usual)/64, 1)
}

// after returns for how long a client rests whose operation failed: not at all, unless that
// came sooner than a success takes.
func (r *rests) after(sl *slot, outcome kv.Outcome, at, timeout int64) int64 {
	took := at - sl.due
	if sl.state == written {
		took = at - sl.sent
	}
	refused := outcome == kv.Refused || outcome == kv.NoLeader
	switch {
	case outcome == kv.WrongAnswer || outcome == kv.TimedOut:
		return 0 // an answer, and what took its time
	case r.usual > 0 && (refused || took < r.usual):
		return min(r.usual, lastRest)
	case r.usual == 0 && took < timeout:
		return firstRest
	}
	return 0
}

// wakeRested lets the clients go on whose rest has ended.
func (l *Loop) wakeRested() {
	r := &l.closed.rests
	for r.until() <= l.now {
		s := r.pop()
		due := max(s.until, l.clock.current.start)
		if l.measuring {
			// Since then it has been an operation's time, and no rest.
			over := float64(l.now - max(due, l.res.Opened))
			l.res.RestingArea -= over
			l.res.InFlightArea += over
		}
		l.begin(s.client, due)
	}
}
