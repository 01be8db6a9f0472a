package engine

import "github.com/quorumbench/quorumbench/internal/load/pace"

// schedule iterates over this loop's operations of an open loop. It may lag behind the
// clock: then the operations between due and now are the backlog.
//
// Operations are assigned to places (connections) round-robin, across all loops of all
// shards. This loop owns every stride-th place, beginning with offset.
//
// Example: with places = 5, stride = 2 and offset = 1 the loop owns places 1 and 3, and
// its operations are 1, 3, 6, 8, 11, 13, …
//
// Invariant: n mod places == place, and place mod stride == offset.
//
// Invariant: due never decreases within a phase, whatever the clock or the store does.
type schedule struct {
	offset, stride, places uint64

	clock  *clockwork
	pacer  pace.Pacer // nil in a closed loop
	phase  int        // index in clock.phases
	origin int64      // start of the phase on the loop's clock
	n      uint64     // number of the next operation in the phase
	due    int64      // of operation n, on the loop's clock; never if there is none
	place  uint64     // of operation n, among the places of all loops
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

// nextOwn returns this loop's operation after operation n, which belongs to place, and the
// place of the returned operation.
func (s *schedule) nextOwn(n, place uint64) (next, its uint64) {
	step := s.stride
	if place+step >= s.places {
		step = s.places - place + s.offset
		return n + step, s.offset
	}
	return n + step, place + step
}

// computeDue computes due for operation n, and enters the next phase if this one has no
// operation n and the clock has already left it.
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
	if s.phase < s.clock.at {
		s.enter(s.phase + 1)
	}
}

// ownIndex returns the index of operation n's place among this loop's places.
func (s *schedule) ownIndex() int {
	if s.stride == 1 { // one loop: no division
		return int(s.place)
	}
	return int(s.place / s.stride)
}

// dueSecond returns the second in which operation n is due.
func (s *schedule) dueSecond(q *secondQueue) *second {
	return q.dueIn(s.clock.phases[s.phase].Kind, s.due)
}

// remaining returns the remaining schedule of the phase, as it is known at a time.
func (s *schedule) remaining(at int64) pace.Rest {
	p := &s.clock.phases[s.phase]
	var last pace.Point
	if p.Total > 0 && at >= s.origin+p.Duration {
		last = pace.Point{N: p.Total, Due: p.Duration}
	}
	return s.pacer.Rest(s.n, last)
}

// countUntil returns the first operation of the phase that is due at or after a time, and the
// number of this loop's operations that precede it, starting with n.
func (s *schedule) countUntil(rest pace.Rest, at int64) (next, count uint64) {
	p := &s.clock.phases[s.phase]
	next = rest.First(min(at-s.origin, p.Duration))
	if p.Total > 0 {
		next = min(next, p.Total)
	}
	next = max(next, s.n)
	return next, s.countOwnBelow(next) - s.countOwnBelow(s.n)
}

// backlog returns the number of operations that are due before at and not started.
func (s *schedule) backlog(at int64) uint64 {
	_, count := s.countUntil(s.remaining(at), at)
	return count
}

// countOwnBelow returns the number of this loop's operations below n.
func (s *schedule) countOwnBelow(n uint64) uint64 {
	own := func(below uint64) uint64 { return (max(below, s.offset) - s.offset + s.stride - 1) / s.stride }
	return n/s.places*own(s.places) + own(n%s.places)
}

// firstOwnFrom returns this loop's first operation with a number of at least n, and its
// place.
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
