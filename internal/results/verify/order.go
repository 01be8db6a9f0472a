package verify

import (
	"fmt"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// bound holds the highest revisions of operations that had ended at a time, and the operations.
type bound struct {
	acked, seen     int64 // of the linearizable order, and of all responses
	ackedBy, seenBy uint32
}

// step is the time since which a bound applies to operations that start later.
type step struct {
	done int64
	bound
}

// sweep tracks the highest revisions while operations end. It keeps as many steps as an operation
// can look back.
type sweep struct {
	steps   []step
	longest int64
}

func newSweep(longest int64) *sweep { return &sweep{longest: longest, steps: []step{{done: -1}}} }

// ended processes an operation's response, in the order of the responses.
func (s *sweep) ended(o *history.Op, r role, ord uint32) {
	if o.At == 0 || r != read && r != wrote {
		return
	}
	last := &s.steps[len(s.steps)-1]
	next := *last
	if strong(o) && o.At > next.acked {
		next.acked, next.ackedBy = o.At, ord
	}
	if o.At > next.seen {
		next.seen, next.seenBy = o.At, ord
	}
	switch next.done = o.Done; {
	case next.acked == last.acked && next.seen == last.seen:
	case last.done == o.Done:
		*last = next
	default:
		s.push(next)
	}
}

// push drops the older half of the steps from time to time, when no operation looks back to it.
func (s *sweep) push(next step) {
	if len(s.steps) == cap(s.steps) {
		if half := len(s.steps) / 2; half > 0 && s.steps[half].done < next.done-s.longest {
			s.steps = s.steps[:copy(s.steps, s.steps[half:])]
		}
	}
	s.steps = append(s.steps, next)
}

// boundBefore returns the bound of the operations that ended strictly before a time, because two
// events with the same clock reading have no order.
func (s *sweep) boundBefore(at int64) bound {
	lo, hi, back := 0, len(s.steps), 1
	for hi-back > 0 { // most look back a little
		if s.steps[hi-back].done < at {
			lo = hi - back
			break
		}
		hi, back = hi-back, back*2
	}
	i := lo + sort.Search(hi-lo, func(i int) bool { return s.steps[lo+i].done >= at })
	return s.steps[max(i-1, 0)].bound
}

// orderOf checks a response against the operations that had ended before its operation began.
func (c *checker) orderOf(o *history.Op, r role, ord uint32, limit *bound) {
	switch {
	case o.Joined: // as the part before it
	case r == wrote && o.At <= limit.seen:
		c.found.add(finding{
			kind: Reordered, promise: history.Order, key: o.Key, n: 2, ords: [3]uint32{limit.seenBy, ord}, revision: limit.seen,
		})
	case r == read && strong(o) && o.At < limit.acked:
		promise := history.Linearizable
		if o.Kind.Writes() {
			promise = history.Order
		}
		c.found.add(finding{
			kind: StaleRead, promise: promise, key: o.Key, n: 2, ords: [3]uint32{limit.ackedBy, ord}, revision: limit.acked,
			state: fmt.Sprintf("revision %d had been acknowledged before it began", limit.acked),
		})
	}
}

// sessions holds the highest revision at which each client was served.
type sessions struct {
	places numbered // index in all, plus one
	all    []served
}

type served struct {
	at, done int64
	ord      uint32
}

func (s *sessions) check(f *findings, o *history.Op, r role, ord uint32) {
	if r != read && r != wrote || o.Final {
		return
	}
	now := served{o.At, o.Done, ord}
	place := s.places.get(uint64(o.Session))
	if place == 0 {
		s.all = append(s.all, now)
		s.places.set(uint64(o.Session), uint32(len(s.all)))
		return
	}
	was := &s.all[place-1]
	if o.At < was.at && o.Invoked > was.done {
		f.add(finding{kind: Backwards, promise: history.Session, key: o.Key, n: 2, ords: [3]uint32{was.ord, ord}, revision: was.at})
	}
	if o.At >= was.at {
		*was = now
	}
}
