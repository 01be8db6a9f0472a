package engine

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Counting the operations that were due and never started must be cheap, even if their number is
// large. So they are counted in spans. All operations of a span were due in the same second and
// waited for about the same time (one step of the histogram).

// maxSingleQueries is the maximum number of abandoned operations of a mixed load for which the
// loop asks the source for the kind of each operation. The loop divides further operations among
// the kinds in proportion to their shares.
const maxSingleQueries = 1 << 18

// abandonState is the state that is needed to count operations that were due and never started.
type abandonState struct {
	reason blocker // why they could not start
	// This loop also counts the operations in Shared.spill, which no loop could start.
	spill         bool
	singleQueries uint64 // operations counted towards maxSingleQueries
	// By phase and share: the fractions of operations that the method `divide` has not counted yet
	// because of rounding.
	remainders [2][]float64

	shares [2][]Share // by phase
}

// markScheduleAbandoned is called when the window closes. It notes whether the schedule still
// contains operations. abandonSchedule counts these operations after the drain, so that the
// counting does not delay replies.
func (l *Loop) markScheduleAbandoned(at int64) {
	if l.sched.pacer == nil {
		return
	}
	l.abandoned.reason = l.blockedBy
	s := l.cfg.Shared
	l.abandoned.spill = s.hasSeveralLoops() && s.spill.leave()
	if l.sched.due >= at {
		l.sched.due = never
		return
	}
	l.keepErrorText(kv.NotSent, nil)
}

// abandonSchedule counts the operations that were due before the window closed and never started.
func (l *Loop) abandonSchedule(at int64) {
	s := &l.sched
	if s.pacer == nil {
		return
	}
	for s.due < at {
		l.abandonPhase(at)
	}
	s.due = never
}

// abandonPhase counts the operations of the schedule's current phase that were due before `at` and
// never started. If another phase follows, abandonPhase then moves the schedule to that phase.
func (l *Loop) abandonPhase(at int64) {
	s := &l.sched
	phase := s.phase
	rest := s.remaining(at)
	s.pacer = rest
	for s.phase == phase && s.due < at {
		acc := s.dueSecond(&l.secs)
		waited := at - s.due
		until := at - measure.StepFloor(waited) + 1
		if end := acc.start + secondNS; end > s.due {
			until = min(until, end)
		}
		next, count := s.countUntil(rest, min(until, at))
		l.countNeverSent(acc, span{s.n, next}, count, waited)
		s.n, s.place = s.firstOwnFrom(next)
		s.computeDue()
		// The histograms of each second are reused for the following seconds.
		l.secs.release(s.due)
	}
}

// countNeverSent takes those operations of a span that belong to this loop, and counts them as not
// sent. `count` is the number of these operations. All of them were due in second acc, waited for
// about the same time, and were never started.
func (l *Loop) countNeverSent(acc *second, numbers span, count uint64, waited int64) {
	if count == 0 {
		return
	}
	acc.Due += count
	acc.Outcomes[kv.NotSent] += count
	shares := l.abandoned.sharesOf(l.cfg.Source, acc.Phase)
	switch {
	case len(shares) == 1:
		l.recordNotSent(acc, shares[0].Kind, shares[0].Consistency, count, waited)
	case l.abandoned.singleQueries+count <= maxSingleQueries:
		l.abandoned.singleQueries += count
		for n, place := numbers.first, numbers.first%l.sched.places; n < numbers.end; n, place = l.sched.nextOwn(n, place) {
			kind, level := l.cfg.Source.Kind(acc.Phase, n)
			l.recordNotSent(acc, kind, level, 1, waited)
		}
	default:
		for i, n := range l.abandoned.divide(acc.Phase, shares, count) {
			l.recordNotSent(acc, shares[i].Kind, shares[i].Consistency, n, waited)
		}
	}
	l.ended.failed += count
	l.countBlocked(l.abandoned.reason, acc, count)
	l.keepErrorText(kv.NotSent, nil)
}

// recordNotSent records operations of one kind as not sent. Their number is `count`.
func (l *Loop) recordNotSent(acc *second, kind kv.Kind, level kv.Consistency, count uint64, waited int64) {
	if count == 0 {
		return
	}
	c := l.secs.cell(acc, &measure.Series{Kind: kind, Consistency: level})
	l.secs.recordAs(&c.Failed[measure.ErrorIndex(kv.NotSent)], waited, int64(count)) // #nosec G115 -- the number of operations due
}

// sharesOf returns the source's shares in an order that does not depend on the source. It asks the
// source only once per phase, because a source may have to go through all its operations to answer.
func (a *abandonState) sharesOf(s Source, phase measure.Phase) []Share {
	if a.shares[phase] == nil {
		a.shares[phase] = slices.SortedStableFunc(slices.Values(s.Shares(phase)), func(x, y Share) int {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Consistency, y.Consistency))
		})
	}
	return a.shares[phase]
}

// divide splits the number `count` among the shares. The fractions that are lost by rounding are
// carried over to the next call.
//
// Invariant: the parts add up to `count`.
func (a *abandonState) divide(phase measure.Phase, shares []Share, count uint64) []uint64 {
	if a.remainders[phase] == nil {
		a.remainders[phase] = make([]float64, len(shares))
	}
	remainders, parts, left := a.remainders[phase], make([]uint64, len(shares)), count
	for i := range shares {
		remainders[i] += shares[i].Fraction * float64(count)
		parts[i] = min(uint64(max(remainders[i], 0)), left)
		remainders[i] -= float64(parts[i])
		left -= parts[i]
	}
	// Apart from floating-point errors, this loop needs fewer iterations than there are shares.
	for ; left > 0; left-- {
		most := 0
		for i := range remainders {
			if remainders[i] > remainders[most] {
				most = i
			}
		}
		parts[most]++
		remainders[most]--
	}
	return parts
}
