package engine

import "github.com/quorumbench/quorumbench/internal/load/pace"

// schedule iterates over this loop's operations in an open loop. The schedule may be behind the
// clock. In that case, the operations that were due in the time from `due` until now are the
// backlog.
//
// Operations are assigned to places (connections) round-robin, across all loops of all shards. This
// loop owns every stride-th place, starting with the place whose number is `offset`.
//
// Example: if places is 5, stride is 2 and offset is 1, the loop owns places 1 and 3, and its
// operations are 1, 3, 6, 8, 11, 13, …
//
// Invariant: n mod places == place, and place mod stride == offset.
//
// Invariant: `due` never decreases within a phase, whatever the clock or the store does.
type schedule struct {
	offset, stride, places uint64

	clock  *clockwork
	pacer  pace.Pacer // nil in a closed loop
	phase  int        // index in clock.phases
	origin int64      // start of the phase on the loop's clock
	n      uint64     // number of the next operation within the phase
	due    int64      // when operation n is due, on the loop's clock; never if there is no operation n
	place  uint64     // place of operation n, among the places of all loops
}

// enter moves the schedule to the first operation of phase i, the clock's current phase.
func (s *schedule) enter(i int) {
	s.pacer, s.phase, s.origin = s.clock.phases[i].Pacer, i, s.clock.origin
	s.n, s.place = s.offset, s.offset
	s.computeDue()
}

// step moves the schedule to this loop's next operation.
func (s *schedule) step() {
	s.n, s.place = s.nextOwn(s.n, s.place)
	s.computeDue()
}

// nextOwn returns the first of this loop's operations after operation n, and that operation's
// place. `place` is the place of operation n.
func (s *schedule) nextOwn(n, place uint64) (next, nextPlace uint64) {
	step := s.stride
	if place+step >= s.places {
		step = s.places - place + s.offset
		return n + step, s.offset
	}
	return n + step, place + step
}

// computeDue computes when operation n is due. If the phase does not contain operation n and the
// clock has already left the phase, computeDue moves the schedule to the next phase.
func (s *schedule) computeDue() {
	p := &s.clock.phases[s.phase]
	s.due = never
	if p.Total == 0 || s.n < p.Total {
		if due := s.pacer.Due(s.n); due < p.Duration {
			s.due = s.origin + due
			return
		}
	}
	// No operation is left in this phase. If the clock is ahead of the schedule, the next
	// phase has already begun.
	if s.phase < s.clock.phaseIndex {
		s.enter(s.phase + 1)
	}
}

// ownIndex returns the index of operation n's place in this loop's list of places.
func (s *schedule) ownIndex() int {
	if s.stride == 1 { // there is one loop, so no division is needed
		return int(s.place)
	}
	return int(s.place / s.stride)
}

// globalNumber returns the number, across all loops of all shards, of the client or place that has
// the given index in this loop.
func (s *schedule) globalNumber(index uint32) uint32 {
	return index*uint32(s.stride) + uint32(s.offset) // #nosec G115 -- these numbers are far below 2^32
}

// dueSecond returns the second in which operation n is due.
func (s *schedule) dueSecond(q *secondQueue) *second {
	return q.dueIn(s.clock.phases[s.phase].Kind, s.due)
}

// remaining returns the part of the phase's schedule that starts with operation n, as known at the
// given time.
func (s *schedule) remaining(at int64) pace.Remainder {
	p := &s.clock.phases[s.phase]
	var last pace.Point
	if p.Total > 0 && at >= s.origin+p.Duration {
		last = pace.Point{N: p.Total, Due: p.Duration}
	}
	return s.pacer.Remainder(s.n, last)
}

// countUntil returns two numbers. next is the number of the phase's first operation that is due at
// or after the given time. count is the number of this loop's operations between operation n,
// which is included, and operation next, which is not.
func (s *schedule) countUntil(rest pace.Remainder, at int64) (next, count uint64) {
	p := &s.clock.phases[s.phase]
	next = rest.FirstDueAt(min(at-s.origin, p.Duration))
	if p.Total > 0 {
		next = min(next, p.Total)
	}
	next = max(next, s.n)
	return next, s.countOwnBelow(next) - s.countOwnBelow(s.n)
}

// backlog returns the number of operations that are due before `at` and have not started.
func (s *schedule) backlog(at int64) uint64 {
	_, count := s.countUntil(s.remaining(at), at)
	return count
}

// countOwnBelow returns the number of this loop's operations with numbers below n.
func (s *schedule) countOwnBelow(n uint64) uint64 {
	own := func(below uint64) uint64 { return (max(below, s.offset) - s.offset + s.stride - 1) / s.stride }
	return n/s.places*own(s.places) + own(n%s.places)
}

// firstOwnFrom returns the first of this loop's operations whose number is at least n, and that
// operation's place.
func (s *schedule) firstOwnFrom(n uint64) (first, place uint64) {
	at := n % s.places
	place = s.offset
	if at > s.offset {
		place += (at - s.offset + s.stride - 1) / s.stride * s.stride
	}
	if place < s.places {
		return n + place - at, place
	}
	return n + s.places - at + s.offset, s.offset
}
