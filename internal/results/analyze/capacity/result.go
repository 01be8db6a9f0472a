package capacity

import (
	"math"
	"slices"
)

// Result is how a search ended, or stands.
type Result struct {
	Interval
	Status Status
	Why    string // a sentence without its end
	// Periods are the parts of the search between which the capacity changed, the last
	// with what it is now; nil where it did not change.
	Periods []Period
}

// Result says what the trials so far prove. Where they contradict each other under
// one capacity, but not under one that moves or changed, the interval is of all that it
// was, and the estimate is of what it is now.
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
		r.Status, r.Why = Disturbed, s.why+", and the capacity changed while it ran"
	}
	return r
}

// sinceChange returns the result of the trials since the last change.
func (s *Search) sinceChange() Result {
	r := Result{Interval: s.Estimate(), Status: s.ended, Why: s.why}
	if s.ended == Found {
		r.Interval = s.found
	}
	pass, fail := s.bracket()
	switch {
	case len(s.Trials) == 0:
		r.Status, r.Why = NotKnown, "no trial was made"
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
		r.Status, r.Why = NotKnown, noTrialTold
		return r
	case math.IsInf(fail, 1) && (s.ended == AtLeast || s.ended == TimeOver) && s.voidAbove(pass) && !s.known(pass):
		r.Status, r.Why = NotKnown, "the objective holds at a rate far below what the store has done already, and above that "+noTrialTold
		return r
	case s.ended == "" || !r.Closed() || pass == 0:
		return r
	}
	if moved := s.moved(); moved.surely || s.ended != Found {
		s.mayHaveChanged(&r.Interval)
		r.include(moved.all)
		if moved.surely {
			r.Status, r.Why = Disturbed, "the trials contradict each other under one capacity: it moved while they ran"
		}
	}
	return r
}
