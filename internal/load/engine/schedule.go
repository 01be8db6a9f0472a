package engine

import "github.com/quorumbench/quorumbench/internal/load/pace"

// schedule walks along an open loop's schedule, which may lie behind the clock.
// The operations go round the places of all loops of all shards, and a loop has
// every stride-th of those, from offset on. Its clients have those numbers too, and
// so have the operations of a closed loop without a total.
type schedule struct {
	offset, stride, places uint64

	clock  *clockwork
	pacer  pace.Pacer // nil in a closed loop
	phase  int
	origin int64 // when the phase began
	n      uint64
	due    int64  // of operation n, on the loop's clock; never after the last
	place  uint64 // of operation n, among those of all loops
}

// enter puts it at the first operation of phase i, whose origin the clock knows:
// a schedule goes on in the next phase at its beginning, when the one before is
// used up.
func (s *schedule) enter(i int) {
	s.pacer, s.phase, s.origin = s.clock.phases[i].Pacer, i, s.clock.origin
	s.n, s.place = s.offset, s.offset
	s.setDue()
}

// step moves it to this loop's next operation.
func (s *schedule) step() {
	s.n, s.place = s.after(s.n, s.place)
	s.setDue()
}

// after is this loop's operation after the one with the given number, which
// belongs to the given place.
func (s *schedule) after(n, place uint64) (next, its uint64) {
	step := s.stride
	if place+step >= s.places {
		step = s.places - place + s.offset
		return n + step, s.offset
	}
	return n + step, place + step
}

func (s *schedule) setDue() {
	p := &s.clock.phases[s.phase]
	s.due = never
	if p.Total == 0 || s.n < p.Total {
		if due := s.pacer.Due(s.n); due < p.Duration {
			s.due = s.origin + due
			return
		}
	}
	// This phase's schedule is used up. When the clock is ahead of it, the
	// next phase's has begun meanwhile.
	if s.phase < s.clock.at {
		s.enter(s.phase + 1)
	}
}

// own is the place of operation n among this loop's own.
func (s *schedule) own() int {
	if s.stride == 1 { // one loop: no division
		return int(s.place)
	}
	return int(s.place / s.stride)
}

// second is the one in which operation n is due.
func (s *schedule) second(q *secondQueue) *second {
	return q.dueIn(s.clock.phases[s.phase].Kind, s.due)
}

// rest is what is left of the phase's schedule at a time.
func (s *schedule) rest(at int64) pace.Rest {
	p := &s.clock.phases[s.phase]
	var last pace.Point
	if p.Total > 0 && at >= s.origin+p.Duration {
		last = pace.Point{N: p.Total, Due: p.Duration}
	}
	return s.pacer.Rest(s.n, last)
}

// upTo is the first operation of the phase that is due at a time or later, and
// how many of this loop's there are before it, from operation n on.
func (s *schedule) upTo(rest pace.Rest, at int64) (next, count uint64) {
	p := &s.clock.phases[s.phase]
	next = rest.First(min(at-s.origin, p.Duration))
	if p.Total > 0 {
		next = min(next, p.Total)
	}
	next = max(next, s.n)
	return next, s.ownBelow(next) - s.ownBelow(s.n)
}

// backlog is how many operations are due before at and not taken up.
func (s *schedule) backlog(at int64) uint64 {
	_, count := s.upTo(s.rest(at), at)
	return count
}

// ownBelow is how many of the numbers below n belong to this loop.
func (s *schedule) ownBelow(n uint64) uint64 {
	own := func(below uint64) uint64 { return (max(below, s.offset) - s.offset + s.stride - 1) / s.stride }
	return n/s.places*own(s.places) + own(n%s.places)
}

// ownFrom is the first number from n on that belongs to this loop, and its
// place.
func (s *schedule) ownFrom(n uint64) (first, place uint64) {
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
