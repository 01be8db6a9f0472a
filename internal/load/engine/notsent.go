package engine

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// What is due and was not taken up is a number, and no work: it is counted in
// spans that belong to one second and to one step of the histogram, however many
// operations a span has.

// mostAsked is how many operations of a mix are asked one by one what they would
// have been; the others are divided by the mix's shares.
const mostAsked = 1 << 18

// abandoning is how far that is.
type abandoning struct {
	by    blocker      // what kept them from being taken up
	spill bool         // what other loops could not take up is this one's, too
	asked uint64       // of mostAsked
	owed  [2][]float64 // by phase and share: what rounding kept from it

	shares [2][]Share // by phase
}

// giveUpSchedule notes at the close what is not taken up any more. It comes into the
// books when what is in flight has ended, whose answers it does not delay.
func (l *Loop) giveUpSchedule(at int64) {
	if l.sched.pacer == nil {
		return
	}
	l.abandoned.by = l.blockedBy
	s := l.cfg.Shared
	l.abandoned.spill = s.several() && s.spill.leave()
	if l.sched.due >= at {
		l.sched.due = never
		return
	}
	l.explain(kv.NotSent, nil)
}

// abandonSchedule ends what was due before the close and never taken up.
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

// abandonPhase does so with the phase that the schedule is in, and moves it to
// the next one if it has one.
func (l *Loop) abandonPhase(at int64) {
	s := &l.sched
	phase := s.phase
	rest := s.rest(at)
	s.pacer = rest
	for s.phase == phase && s.due < at {
		acc := s.second(&l.secs)
		waited := at - s.due
		until := at - measure.StepOf(waited) + 1
		if end := acc.start + secondNS; end > s.due {
			until = min(until, end)
		}
		next, count := s.upTo(rest, min(until, at))
		l.neverSent(acc, span{s.n, next}, count, waited)
		s.n, s.place = s.ownFrom(next)
		s.setDue()
		// Each second's histograms are used again for those that follow.
		l.secs.release(s.due)
	}
}

// neverSent ends this loop's operations of a span, of which it has so many: they
// were due in one second, waited for about as long, and were never taken up.
func (l *Loop) neverSent(acc *second, numbers span, count uint64, waited int64) {
	if count == 0 {
		return
	}
	acc.Due += count
	acc.Outcomes[kv.NotSent] += count
	shares := l.abandoned.sharesOf(l.cfg.Source, acc.Phase)
	switch {
	case len(shares) == 1:
		l.notSent(acc, shares[0].Kind, shares[0].Consistency, count, waited)
	case l.abandoned.asked+count <= mostAsked:
		l.abandoned.asked += count
		for n, place := numbers.first, numbers.first%l.sched.places; n < numbers.end; n, place = l.sched.after(n, place) {
			kind, level := l.cfg.Source.Kind(acc.Phase, n)
			l.notSent(acc, kind, level, 1, waited)
		}
	default:
		for i, n := range l.abandoned.divide(acc.Phase, shares, count) {
			l.notSent(acc, shares[i].Kind, shares[i].Consistency, n, waited)
		}
	}
	l.ended.failed += count
	l.waitedFor(l.abandoned.by, acc, count)
	l.explain(kv.NotSent, nil)
}

func (l *Loop) notSent(acc *second, kind kv.Kind, level kv.Consistency, count uint64, waited int64) {
	if count == 0 {
		return
	}
	c := l.secs.cell(acc, &measure.Series{Kind: kind, Consistency: level})
	l.secs.recordAs(&c.Failed[measure.ErrorIndex(kv.NotSent)], waited, int64(count)) // #nosec G115 -- as many as are due
}

// sharesOf is what the source says, once, which may count all its operations for that,
// and in an order that is the same each time.
func (a *abandoning) sharesOf(s Source, phase measure.Phase) []Share {
	if a.shares[phase] == nil {
		a.shares[phase] = slices.SortedStableFunc(slices.Values(s.Shares(phase)), func(x, y Share) int {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Consistency, y.Consistency))
		})
	}
	return a.shares[phase]
}

// divide gives each share its part of a count, and what rounding keeps from one
// it gets of a later count.
func (a *abandoning) divide(phase measure.Phase, shares []Share, count uint64) []uint64 {
	if a.owed[phase] == nil {
		a.owed[phase] = make([]float64, len(shares))
	}
	owed, parts, left := a.owed[phase], make([]uint64, len(shares)), count
	for i := range shares {
		owed[i] += shares[i].Of * float64(count)
		parts[i] = min(uint64(max(owed[i], 0)), left)
		owed[i] -= float64(parts[i])
		left -= parts[i]
	}
	for ; left > 0; left-- { // fewer than there are shares, but for rounding
		most := 0
		for i := range owed {
			if owed[i] > owed[most] {
				most = i
			}
		}
		parts[most]++
		owed[most]--
	}
	return parts
}
