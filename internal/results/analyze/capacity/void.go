package capacity

import (
	"math"
	"slices"
)

// maxVoid is the number of consecutive void trials after which a search ends. maxVoidPerRate is the
// number of void trials at one rate after which this rate is not tried again.
const (
	maxVoid        = 10
	maxVoidPerRate = 3
)

// voidBetween returns the lowest rate between pass and fail at which a trial was void, and the
// number of void trials at this rate.
func (s *Search) voidBetween(pass, fail float64) (rate float64, times int) {
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.VoidReason == "" || t.Purpose == Settle || t.Rate <= pass || t.Rate >= fail {
			continue
		}
		switch {
		case times == 0 || t.Rate < rate:
			rate, times = t.Rate, 1
		case t.Rate == rate:
			times++
		}
	}
	return rate, times
}

const noUsableTrial = "every trial was unusable"

// lastReason returns the reason why the latest void trial was void, in parentheses.
func (s *Search) lastReason() string {
	for _, t := range slices.Backward(s.Trials) {
		if t.VoidReason != "" {
			return " (last reason: " + t.VoidReason + ")"
		}
	}
	return ""
}

// planFirst returns the plan for the next trial as long as no trial has provided information. After
// a void trial, the next rate is lower, because a trial with less load may provide information.
// After the lowest rate, the search starts again with the first rate, because a disturbance may
// have ended.
func (s *Search) planFirst() (Plan, bool) {
	if s.consecutiveVoid >= maxVoid {
		s.end(Undecided, noUsableTrial+s.lastReason())
		return Plan{}, false
	}
	least, steps := math.Min(s.minInformativeRate(), s.InitialRate), 1
	for r := s.InitialRate; r > least && steps < maxVoid/2; r /= 4 {
		steps++
	}
	return s.plan(math.Max(s.InitialRate/math.Pow(4, float64(s.consecutiveVoid%steps)), least), Explore, exploring), true
}

// planLower returns the plan for the next trial as long as no rate has held. The trial's rate is
// below the lowest rate that failed.
func (s *Search) planLower(fail float64) (Plan, bool) {
	if s.consecutiveVoid >= maxVoid {
		s.end(Undecided, "below the rate that failed, "+noUsableTrial+s.lastReason())
		return Plan{}, false
	}
	rate := fail / 8
	if s.consecutiveVoid > 0 {
		rate = math.Max(fail/math.Pow(8, float64(1+s.consecutiveVoid%2)), math.Min(rate, s.minInformativeRate()))
	}
	return s.plan(math.Max(rate, s.MinRate), Explore, exploring), true
}

// planHigher returns the plan for the next trial as long as no rate has failed. The trial's rate is
// above the highest rate that held. If a trial is void, the search first tries a lower rate until a
// trial provides information. It then repeats the void trial with a longer window. If the rate
// remains void, the search tries lower rates that approach it, until further trials are not worth
// their time.
func (s *Search) planHigher(pass float64) (Plan, bool) {
	if pass >= s.MaxRate {
		s.end(AtLeast, "the objective holds even at the highest "+s.rateNoun()+" allowed")
		return Plan{}, false
	}
	next := math.Min(math.Max(pass*s.growthFactor(), pass+s.smallestStep()), s.MaxRate)
	rate, times := s.voidBetween(pass, math.Inf(1))
	near := rate/pass <= closeBracketRatio || rate-pass <= s.smallestStep()
	switch {
	case times == 0 || rate > next:
		return s.plan(next, Explore, exploring), true
	case times < maxVoidPerRate && (s.consecutiveVoid == 0 || near):
		return s.plan(rate, Explore, exploring*float64(1+times)), true
	case !near:
		return s.plan(math.Sqrt(pass*rate), Explore, exploring), true
	case s.consecutiveVoid >= maxVoid: // Result decides whether the lower bound is useful
		s.end(AtLeast, "above that "+s.rateNoun()+", "+noUsableTrial+s.lastReason())
		return Plan{}, false
	case s.consecutiveVoid%2 == 1: // the disturbance may have been short
		rate = next
	}
	return s.plan(rate, Explore, exploring*maxVoidPerRate), true
}

// closeBracketRatio limits the ratio of the lowest rate that failed to the highest rate that held.
// At or below this ratio, the search starts to refine the interval.
const closeBracketRatio = 1.12

// isInformative reports whether a lower bound without an upper end is useful: it must not be far
// below the highest throughput of any trial, including void trials.
func (s *Search) isInformative(floor float64) bool {
	if s.Parameter != nil {
		floor = s.Parameter.DueRate(floor)
	}
	done := s.KnownThroughput
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Length > 0 {
			done = math.Max(done, t.Served/t.Length)
		}
	}
	return floor >= minUsefulBound*done
}

// minUsefulBound is the smallest useful lower bound, as a share of the highest throughput.
const minUsefulBound = 0.5

// voidAbove reports whether a trial above a rate was void.
func (s *Search) voidAbove(rate float64) bool {
	_, times := s.voidBetween(rate, math.Inf(1))
	return times > 0
}
