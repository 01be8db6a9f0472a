package engine

import "github.com/quorumbench/quorumbench/internal/kv"

// If the store refuses an operation of a closed loop, the client rests before its next operation.
// The rest takes as long as the current mean service time of successful operations. Suppose that a
// store refuses all operations during a tenth of the time, and does so immediately. Without rests,
// clients would send most of their operations in that tenth, because refusals are fast. With rests,
// about a tenth of the operations are errors. A rest does not count as in flight and is not part of
// a response time: the client's next operation is due when the rest ends.

const (
	// firstRest is the length of a rest before the first success. It is long enough to avoid a busy
	// loop, and short enough for a load with a total to complete even if no operation ever
	// succeeds. lastRest is the maximum length of a rest.
	firstRest = 10 * millisecond
	lastRest  = secondNS
)

// rests tracks which clients rest, and determines how long a client rests.
type rests struct {
	resting
	meanService int64 // running mean of successful operations' service times; 0 before the first success
}

// resting is the set of clients that rest. It is a binary heap; the client that wakes first is at
// the front.
//
// Invariant: r[(i-1)/2].wakeTime <= r[i].wakeTime for each i > 0.
type resting []sleeper

type sleeper struct {
	wakeTime int64
	client   int32
}

func (r *resting) push(s sleeper) {
	*r = append(*r, s)
	h := *r
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].wakeTime <= h[i].wakeTime {
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
		if next+1 < last && h[next+1].wakeTime < h[next].wakeTime {
			next++
		}
		if next >= last || h[i].wakeTime <= h[next].wakeTime {
			break
		}
		h[next], h[i] = h[i], h[next]
		i = next
	}
	*r = h
	return first
}

// firstWake returns the time at which the first client wakes, or never if no client rests.
func (r resting) firstWake() int64 {
	if len(r) == 0 {
		return never
	}
	return r[0].wakeTime
}

// noteSuccess adds the service time of a successful operation to the mean.
func (r *rests) noteSuccess(service int64) {
	if r.meanService == 0 {
		r.meanService = max(service, 1)
	}
	r.meanService = max(r.meanService+(service-r.meanService)/64, 1)
}

// restAfter returns how long a client rests after its operation failed. It returns 0 after a
// timeout and after a wrong response. It also returns 0 after any other failure that is not a
// refusal, if this failure took at least as long as an average success.
func (r *rests) restAfter(sl *slot, outcome kv.Outcome, at, timeout int64) int64 {
	took := at - sl.due
	if sl.state == written {
		took = at - sl.sent
	}
	refused := outcome == kv.Refused || outcome == kv.NoLeader
	switch {
	case outcome == kv.WrongResponse || outcome == kv.TimedOut:
		return 0 // the failure is not a refusal, or already took the whole timeout
	case r.meanService > 0 && (refused || took < r.meanService):
		return min(r.meanService, lastRest)
	case r.meanService == 0 && took < timeout:
		return firstRest
	}
	return 0
}

// wakeRested starts the next operations of the clients whose rest has ended.
func (l *Loop) wakeRested() {
	r := &l.closed.rests
	for r.firstWake() <= l.now {
		s := r.pop()
		due := max(s.wakeTime, l.clock.current.start)
		if l.measuring {
			// The client's next operation has counted as in flight since the end of the rest.
			over := float64(l.now - max(due, l.res.WindowStart))
			l.res.RestingArea -= over
			l.res.InFlightArea += over
		}
		l.startNext(s.client, due)
	}
}
