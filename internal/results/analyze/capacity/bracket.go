package capacity

import (
	"math"
	"slices"
)

// bracket returns the highest rate that did not fail below all failed ones, and the lowest
// failed rate; 0 and +Inf for none. Contradictions near the capacity are left to the estimate.
func (s *Search) bracket() (pass, fail float64) {
	fail = math.Inf(1)
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate < fail && s.failsAt(t.Rate) {
			fail = t.Rate
		}
	}
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate < fail {
			pass = math.Max(pass, t.Rate)
		}
	}
	return pass, fail
}

func (s *Search) counts(t *Trial) bool { return t.Void == "" && t.Purpose != Settle }

// describes reports whether an estimate has a point of the trial. A disturbed trial that missed the
// objective shows by how much at most the store missed it. Leaving it out while keeping the trials
// that met the objective would make the capacity too high.
func (s *Search) describes(t *Trial) bool {
	return s.counts(t) || t.Disturbed && t.Due > 0 && t.Length > 0 && t.Purpose != Settle
}

// trialsAt returns the trials of a rate.
func (s *Search) trialsAt(rate float64) (all []*Trial) {
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate == rate {
			all = append(all, t)
		}
	}
	return all
}

// failsAt reports whether the combined trials of a rate show that the objective does not hold
// there. Short trials only guide the search and are ignored next to longer ones.
func (s *Search) failsAt(rate float64) bool {
	all := s.trialsAt(rate)
	if long := slices.DeleteFunc(slices.Clone(all), (*Trial).pointing); len(long) > 0 {
		all = long
	}
	return s.evidence(all) >= failing
}

// pointing reports whether the trial is too short to prove anything by itself.
func (t *Trial) pointing() bool { return t.Length < narrowing }

// Evidence, as twice a log-likelihood ratio: the least for a rate to fail, and the least at which
// the failure is believed without another trial.
const (
	failing = 2.7 // by chance in one case of twenty
	certain = 30
)

// evidence returns how strongly trials of one rate show that the objective does not hold there.
// A single second in which a machine stalled is weak evidence.
func (s *Search) evidence(all []*Trial) (most float64) {
	overloaded, heavily := 0, 0
	for _, t := range all {
		if t.surelyOverloaded(s.Goals) {
			overloaded++
		}
		if t.heavily(s.Goals) {
			heavily++
		}
	}
	switch {
	case 2*heavily > len(all):
		return math.Inf(1)
	case 2*overloaded > len(all):
		return failing + float64(overloaded-1)*certain
	}
	for g, goal := range s.Goals {
		var points []point
		var due, bad float64
		for _, t := range all {
			n, _ := t.counts(g)
			due, bad = due+n, bad+t.surelyBad(g)
			points = append(points, pointOf(t, s.Goals, g))
		}
		if share := math.Min(bad/math.Max(due, 1), 1-1e-9); share > goal.Limit {
			most = math.Max(most, 2*due*divergence(share, logit(goal.Limit))/together(points, goal, math.Inf(1)))
		}
	}
	return most
}

// misses reports whether the trials of a rate, taken together, missed the objective, even by weak
// evidence. As in failsAt, short trials do not count if the rate has longer ones.
func (s *Search) misses(rate float64) bool {
	all := s.trialsAt(rate)
	if long := slices.DeleteFunc(slices.Clone(all), (*Trial).pointing); len(long) > 0 {
		all = long
	}
	overloaded := 0
	for _, t := range all {
		if t.Overloaded(s.Goals) {
			overloaded++
		}
	}
	if 2*overloaded > len(all) {
		return true
	}
	for g, goal := range s.Goals {
		var due, bad float64
		for _, t := range all {
			n, _ := t.counts(g)
			due, bad = due+n, bad+t.surelyBad(g)
		}
		if bad > goal.Limit*due {
			return true
		}
	}
	return false
}

// highestHeld returns the highest rate below one whose trials, taken together, did not miss the
// objective; 0 for none.
func (s *Search) highestHeld(below float64) (rate float64) {
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate < below && t.Rate > rate && !s.misses(t.Rate) {
			rate = t.Rate
		}
	}
	return rate
}

// contradictions returns the number of trials at or above a failed rate that did not fail: their
// windows were too short to show rare events.
func (s *Search) contradictions() (n int) {
	_, fail := s.bracket()
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate >= fail && t.Holds(s.Goals) {
			n++
		}
	}
	return n
}
