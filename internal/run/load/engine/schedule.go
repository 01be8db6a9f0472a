package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// schedule puts the cursor at the first operation of phase i, whose origin the
// clock knows: an open loop's schedule goes on in the next phase at its
// beginning, when the one before is used up.
func (l *Loop) schedule(i int) {
	s := &l.sched
	*s = cursor{pacer: l.clock.phases[i].Pacer, phase: i, origin: l.clock.origin, n: l.cfg.Offset, due: never}
	l.setDue()
}

// step moves the cursor to this loop's next operation.
func (l *Loop) step() {
	l.sched.n += l.cfg.Stride
	l.setDue()
}

func (l *Loop) setDue() {
	s := &l.sched
	p := &l.clock.phases[s.phase]
	s.due = never
	if p.Total == 0 || s.n < p.Total {
		if due := p.Pacer.Due(s.n); due < p.Duration {
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
func (l *Loop) accOf(due int64) *second {
	if a := l.sched.acc; a != nil && due >= a.start && due < a.start+secondNS && a.Phase == l.clock.phases[l.sched.phase].Kind {
		return a
	}
	kind := l.clock.phases[l.sched.phase].Kind
	index := int((due - l.sched.origin) / secondNS)
	for _, a := range l.secs.queue {
		if a.Phase == kind && a.Index == index {
			l.sched.acc = a
			return a
		}
	}
	// Cannot be: a second is kept until the schedule has passed it.
	panic("engine: an operation is due in a second that is not there")
}

// backlog is how many operations are due before at and not taken up.
func (l *Loop) backlog(at int64) (count uint64) {
	p := &l.clock.phases[l.sched.phase]
	for n := l.sched.n; p.Total == 0 || n < p.Total; n += l.cfg.Stride {
		due := p.Pacer.Due(n)
		if due >= p.Duration || l.sched.origin+due >= at {
			break
		}
		count++
	}
	return count
}

// abandonSchedule ends what was due before the close and never taken up.
func (l *Loop) abandonSchedule(at int64) {
	if l.sched.pacer == nil {
		return
	}
	for l.sched.due < at {
		acc := l.accOf(l.sched.due)
		acc.Due++
		acc.Outcomes[kv.NotSent]++
		kind, level := l.kindOf(acc.Phase, l.sched.n)
		l.secs.failed(acc, measure.Series{Kind: kind, Consistency: level}, kv.NotSent, at-l.sched.due)
		l.failLive++
		l.explain(kv.NotSent, nil)
		l.step()
	}
	l.sched.due = never
}

// kindOf asks what an operation would have been.
func (l *Loop) kindOf(phase measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	l.cfg.Source.Fill(phase, n, 0, &l.op)
	return l.op.Kind, l.op.Consistency
}
