package capacity

import (
	"math"
	"slices"
)

// bracket returns `fail`, the lowest rate that failed, and `pass`, the highest tried rate below
// `fail`. A rate fails if its trials show that the objective does not hold. If no rate failed,
// `fail` is +Inf. If no rate below `fail` was tried, `pass` is 0. Trials near the capacity may
// contradict each other; Estimate takes such contradictions into account.
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

func (s *Search) counts(t *Trial) bool { return t.VoidReason == "" && t.Purpose != Settle }

// usesForEstimates reports whether estimates use the trial. They also use a disturbed trial that
// missed the objective, because it shows by how much, at most, the store itself missed the
// objective. If estimates ignored such trials, but used the disturbed trials that met the
// objective, the estimated capacity would be too high.
func (s *Search) usesForEstimates(t *Trial) bool {
	return s.counts(t) || t.Disturbed && t.Due > 0 && t.Length > 0 && t.Purpose != Settle
}

// trialsAt returns the trials with the given rate.
func (s *Search) trialsAt(rate float64) (all []*Trial) {
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate == rate {
			all = append(all, t)
		}
	}
	return all
}

// failsAt reports whether the trials with the given rate, taken together, show that the objective
// does not hold at this rate. Short trials only guide the search; they are ignored if the rate also
// has longer trials.
func (s *Search) failsAt(rate float64) bool {
	all := s.trialsAt(rate)
	if long := slices.DeleteFunc(slices.Clone(all), (*Trial).tooShortToProve); len(long) > 0 {
		all = long
	}
	return s.evidence(all) >= failing
}

// tooShortToProve reports whether the trial is too short to prove anything by itself.
func (t *Trial) tooShortToProve() bool { return t.Length < narrowing }

// Thresholds for evidence, which is measured as twice a log-likelihood ratio. A rate fails if the
// evidence is at least `failing`. If the evidence is at least `certain`, no other trial needs to
// confirm it.
const (
	failing = 2.7 // exceeded by chance in one of twenty cases
	certain = 30
)

// evidence returns how strongly the trials of one rate show that the objective does not hold at
// this rate. A single second in which a machine stalled is weak evidence.
func (s *Search) evidence(all []*Trial) (most float64) {
	overloaded, heavily := 0, 0
	for _, t := range all {
		if t.certainlyOverloaded(s.Goals) {
			overloaded++
		}
		if t.heavilyOverloaded(s.Goals) {
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
			due, bad = due+n, bad+t.certainlyBad(g)
			points = append(points, pointOf(t, s.Goals, g))
		}
		if share := math.Min(bad/math.Max(due, 1), 1-1e-9); share > goal.Limit {
			most = math.Max(most, 2*due*divergence(share, logit(goal.Limit))/operationsPerCause(points, goal, math.Inf(1)))
		}
	}
	return most
}

// misses reports whether the trials with the given rate, taken together, missed the objective. Even
// weak evidence suffices. As in failsAt, short trials are ignored if the rate also has longer
// trials.
func (s *Search) misses(rate float64) bool {
	all := s.trialsAt(rate)
	if long := slices.DeleteFunc(slices.Clone(all), (*Trial).tooShortToProve); len(long) > 0 {
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
			due, bad = due+n, bad+t.certainlyBad(g)
		}
		if bad > goal.Limit*due {
			return true
		}
	}
	return false
}

// highestHeldRate returns the highest rate below the given rate whose trials, taken together, met
// the objective. It returns 0 if no such rate exists.
func (s *Search) highestHeldRate(below float64) (rate float64) {
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate < below && t.Rate > rate && !s.misses(t.Rate) {
			rate = t.Rate
		}
	}
	return rate
}

// contradictions returns the number of trials that met the objective although their rate is at or
// above a rate that failed. Their windows were too short to show rare events.
func (s *Search) contradictions() (n int) {
	_, fail := s.bracket()
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate >= fail && t.Holds(s.Goals) {
			n++
		}
	}
	return n
}
