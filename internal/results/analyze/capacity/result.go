package capacity

import (
	"math"
	"slices"
)

// Result is the current state of a search, or its final result.
type Result struct {
	Interval
	Status Status
	Reason string // a sentence without the full stop
	// Periods are the parts of the search between which the capacity changed. The last period has
	// the current capacity. Periods is nil if the capacity did not change.
	Periods []Period
}

// Result returns the result of the trials so far. If they show that the capacity changed, the
// interval covers all values of the capacity, and the estimate is the current value.
func (s *Search) Result() Result {
	r := s.sinceChange()
	r.Interval = s.limitToEvidence(r.Interval)
	if len(s.periods) == 0 {
		return r
	}
	last := Period{From: s.start, To: s.start, Interval: r.Interval}
	for i := range s.Trials {
		last.To = math.Max(last.To, s.Trials[i].StartTime+s.Trials[i].Length)
	}
	r.Periods = append(slices.Clone(s.periods), last)
	for _, p := range s.periods {
		r.include(p.Interval)
	}
	if s.finalStatus != "" {
		r.Status, r.Reason = Disturbed, s.reason+", and the capacity changed during the search"
	}
	return r
}

// sinceChange returns the result of the trials since the last change of the capacity.
func (s *Search) sinceChange() Result {
	r := Result{Interval: s.Estimate(), Status: s.finalStatus, Reason: s.reason}
	if s.finalStatus == Found {
		r.Interval = s.finalInterval
	}
	pass, fail := s.bracket()
	switch {
	case len(s.Trials) == 0:
		r.Status, r.Reason = Undecided, "no trial was run"
		return r
	case s.finalStatus == Undecided:
		return r
	case pass == 0 && math.IsInf(fail, 1) && s.finalStatus == NoSpace:
		r.Status = Undecided
		return r
	case math.IsInf(fail, 1) && s.finalStatus == NoSpace:
		r.Status = AtLeast
		return r
	case pass == 0 && math.IsInf(fail, 1):
		r.Status, r.Reason = Undecided, noUsableTrial
		return r
	case math.IsInf(fail, 1) && (s.finalStatus == AtLeast || s.finalStatus == TimeOver) && s.voidAbove(pass) && !s.isInformative(pass):
		r.Status, r.Reason = Undecided, "the highest "+s.rateNoun()+" at which the objective held is far below the store's known throughput, and above that "+s.rateNoun()+", "+noUsableTrial
		return r
	case s.finalStatus == "" || !r.Closed() || pass == 0:
		return r
	}
	if moved := s.estimateDrift(); moved.certain || s.finalStatus != Found {
		s.extendForPossibleChange(&r.Interval)
		r.include(moved.capacities)
		if moved.certain {
			r.Status, r.Reason = Disturbed, "the trials contradict each other: the capacity changed during the search"
		}
	}
	return r
}
