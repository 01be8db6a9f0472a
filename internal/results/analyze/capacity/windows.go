package capacity

import "math"

func (s *Search) plan(rate float64, purpose Purpose, window float64) Plan {
	if s.step() > 0 {
		rate = math.Max(math.Round(rate), s.Least)
	}
	p := Plan{Rate: rate, Window: window, Purpose: purpose, Warmup: 0.5}
	if purpose != Settle {
		p.Window = s.window(rate, window)
		p.Warmup = math.Min(math.Max(0.5, p.Window/6), longest/6)
	}
	if s.Parameter != nil {
		p.Warmup, p.Window = 0, math.Max(p.Window, s.Parameter.Window)
	}
	return p
}

// fewSamples is the minimum number of operations above a percentile for which the percentile is
// known.
const fewSamples = 10

// window returns the length of a trial's window in seconds. It is at least the given length. It is
// longer if the goals bound a percentile that needs more operations and the search has enough time.
func (s *Search) window(rate, seconds float64) float64 {
	offered := rate
	if s.Parameter != nil {
		offered = s.Parameter.Offered(rate)
	}
	need := seconds
	for _, g := range s.Goals {
		if g.Percentile && offered > 0 {
			need = math.Max(need, math.Ceil(1.1*fewSamples/(g.Limit*offered)))
		}
	}
	return math.Max(seconds, math.Min(need, math.Floor(s.Until/mostOfTime)))
}

// mostOfTime limits the length of an extended window: it is at most the time limit of the whole
// search divided by mostOfTime.
const mostOfTime = 6

// nextTo returns the plan for a trial at the given offset from the estimate. If the values are
// whole numbers, the rate is the nearest whole number that is on the same side of the estimate as
// the offset.
func (s *Search) nextTo(estimate, offset float64, purpose Purpose, window float64) Plan {
	p := s.plan(estimate+offset, purpose, window)
	switch {
	case s.step() > 0 && offset < 0:
		p.Rate = math.Max(math.Min(math.Ceil(estimate+offset), math.Ceil(estimate)-1), s.Least)
	case s.step() > 0:
		p.Rate = math.Max(math.Floor(estimate+offset), math.Ceil(estimate))
	}
	p.Rate = math.Min(math.Max(p.Rate, s.Least), s.Most)
	return p
}

// leastTelling returns the lowest rate to try after a void trial. At a lower rate, a window that is
// long enough to show the percentiles in the goals would be too long.
func (s *Search) leastTelling() float64 {
	if seconds := s.window(s.Least, exploring); seconds > longest {
		return s.Least * seconds / longest
	}
	return s.Least
}
