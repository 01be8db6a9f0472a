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

// fewSamples is the minimum number of operations beyond a known percentile.
const fewSamples = 10

// window returns the length of a window, in seconds: at least the given length, and enough for the
// percentiles that the goals bound, as far as the search has time.
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

// mostOfTime limits the extension of a window: it is at most the search's time divided by
// mostOfTime.
const mostOfTime = 6

// nextTo returns the plan of a trial below or above the estimate. Whole numbers are rounded to
// the nearest one that is at least the next on that side.
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

// leastTelling returns the lowest rate that is tried after a void trial: at a lower rate, a window
// must be long to show the percentiles that the goals bound.
func (s *Search) leastTelling() float64 {
	if seconds := s.window(s.Least, exploring); seconds > longest {
		return s.Least * seconds / longest
	}
	return s.Least
}
