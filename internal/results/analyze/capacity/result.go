package capacity

import (
	"math"
	"slices"
)

// Result is the current state of a search, or its final result.
type Result struct {
	Interval
	Status Status
	Why    string // a sentence without the full stop
	// Periods are the parts of the search between which the capacity changed. The last period has
	// the current capacity. Periods is nil if the capacity did not change.
	Periods []Period
}

// Result returns the result of the trials so far. If they show that the capacity changed, the
// interval covers all values of the capacity, and the estimate is the current value.
func (s *Search) Result() Result {
	r := s.sinceChange()
	r.Interval = s.supported(r.Interval)
	if len(s.periods) == 0 {
		return r
	}
	last := Period{From: s.start, To: s.start, Interval: r.Interval}
	for i := range s.Trials {
		last.To = math.Max(last.To, s.Trials[i].Began+s.Trials[i].Length)
	}
	r.Periods = append(slices.Clone(s.periods), last)
	for _, p := range s.periods {
		r.include(p.Interval)
	}
	if s.ended != "" {
		r.Status, r.Why = Disturbed, s.why+", and the capacity changed during the search"
	}
	return r
}

// sinceChange returns the result of the trials since the last change of the capacity.
func (s *Search) sinceChange() Result {
	r := Result{Interval: s.Estimate(), Status: s.ended, Why: s.why}
	if s.ended == Found {
		r.Interval = s.found
	}
	pass, fail := s.bracket()
	switch {
	case len(s.Trials) == 0:
		r.Status, r.Why = NotKnown, "no trial was run"
		return r
	case s.ended == NotKnown:
		return r
	case pass == 0 && math.IsInf(fail, 1) && s.ended == NoSpace:
		r.Status = NotKnown
		return r
	case math.IsInf(fail, 1) && s.ended == NoSpace:
		r.Status = AtLeast
		return r
	case pass == 0 && math.IsInf(fail, 1):
		r.Status, r.Why = NotKnown, noUsableTrial
		return r
	case math.IsInf(fail, 1) && (s.ended == AtLeast || s.ended == TimeOver) && s.voidAbove(pass) && !s.isInformative(pass):
		r.Status, r.Why = NotKnown, "the highest "+s.called()+" at which the objective held is far below the store's known throughput, and above that "+s.called()+", "+noUsableTrial
		return r
	case s.ended == "" || !r.Closed() || pass == 0:
		return r
	}
	if moved := s.moved(); moved.surely || s.ended != Found {
		s.mayHaveChanged(&r.Interval)
		r.include(moved.all)
		if moved.surely {
			r.Status, r.Why = Disturbed, "the trials contradict each other: the capacity changed during the search"
		}
	}
	return r
}
