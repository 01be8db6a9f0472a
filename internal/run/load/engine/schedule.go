package engine

import "github.com/quorumbench/quorumbench/internal/measure"

// schedule puts the cursor at the first operation of phase i, whose origin the
// clock knows: an open loop's schedule goes on in the next phase at its
// beginning, when the one before is used up.
func (l *Loop) schedule(i int) {
	s := &l.sched
	*s = cursor{pacer: l.clock.phases[i].Pacer, phase: i, origin: l.clock.origin, n: l.first, due: never, place: int(l.first)}
	l.setDue()
}

// step moves the cursor to this loop's next operation.
func (l *Loop) step() {
	l.sched.n, l.sched.place = l.after(l.sched.n, l.sched.place)
	l.setDue()
}

// after is this loop's operation after the one with the given number, which
// belongs to the given place: the operations go round all places, and this loop
// has every so many-th of those.
func (l *Loop) after(n uint64, place int) (uint64, int) {
	step := int(l.stride)
	if place+step >= l.cfg.Places {
		step = l.cfg.Places - place + int(l.first)
		return n + uint64(step), int(l.first)
	}
	return n + uint64(step), place + step
}

func (l *Loop) setDue() {
	s := &l.sched
	p := &l.clock.phases[s.phase]
	s.due = never
	if p.Total == 0 || s.n < p.Total {
		if due := s.pacer.Due(s.n); due < p.Duration {
			s.due = s.origin + due
			return
		}
	}
	// This phase's schedule is used up. When the clock is ahead of it, the
	// next phase's has begun meanwhile.
	if s.phase < l.clock.at {
		l.schedule(s.phase + 1)
	}
}

// accOf is the second in which an operation of the cursor's phase is due.
func (l *Loop) accOf(due int64) *second { return l.accAt(l.clock.phases[l.sched.phase].Kind, due) }

// accAt is the second of a phase in which an operation is due.
func (l *Loop) accAt(phase measure.Phase, due int64) *second {
	if a := l.sched.acc; a != nil && due >= a.start && due < a.start+secondNS && a.Phase == phase {
		return a
	}
	for _, a := range l.secs.queue {
		if a.Phase == phase && due >= a.start && due < a.start+secondNS {
			l.sched.acc = a
			return a
		}
	}
	if n := len(l.secs.queue); n > 0 && l.cfg.Shared.several() {
		// Another loop's clock was ahead by a moment when this one was stopped.
		return l.secs.queue[n-1]
	}
	// Cannot be: a second is kept until the schedule has passed it.
	panic("engine: an operation is due in a second that is not there")
}
