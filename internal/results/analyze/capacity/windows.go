package capacity

import "math"

func (s *Search) plan(rate float64, purpose Purpose, window float64) Plan {
	if s.smallestStep() > 0 {
		rate = math.Max(math.Round(rate), s.MinRate)
	}
	p := Plan{Rate: rate, Window: window, Purpose: purpose, Warmup: 0.5}
	if purpose != Settle {
		p.Window = s.window(rate, window)
		p.Warmup = math.Min(math.Max(0.5, p.Window/6), longestWindow/6)
	}
	if s.Parameter != nil {
		p.Warmup, p.Window = 0, math.Max(p.Window, s.Parameter.MinWindow)
	}
	return p
}

// minSamplesBeyond is the minimum number of operations above a percentile for which the percentile
// is known.
const minSamplesBeyond = 10

// window returns the length of a trial's window in seconds. It is at least the given length. It is
// longer if the goals bound a percentile that needs more operations and the search has enough time.
func (s *Search) window(rate, seconds float64) float64 {
	offered := rate
	if s.Parameter != nil {
		offered = s.Parameter.DueRate(rate)
	}
	need := seconds
	for _, g := range s.Goals {
		if g.Percentile && offered > 0 {
			need = math.Max(need, math.Ceil(1.1*minSamplesBeyond/(g.Limit*offered)))
		}
	}
	return math.Max(seconds, math.Min(need, math.Floor(s.TimeLimit/maxShareOfTime)))
}

// maxShareOfTime limits the length of an extended window: it is at most the time limit of the whole
// search divided by maxShareOfTime.
const maxShareOfTime = 6

// planNear returns the plan for a trial at the given offset from the estimate. If the values are
// whole numbers, the rate is rounded toward the estimate to a whole number, but never across the
// estimate.
func (s *Search) planNear(estimate, offset float64, purpose Purpose, window float64) Plan {
	p := s.plan(estimate+offset, purpose, window)
	switch {
	case s.smallestStep() > 0 && offset < 0:
		p.Rate = math.Max(math.Min(math.Ceil(estimate+offset), math.Ceil(estimate)-1), s.MinRate)
	case s.smallestStep() > 0:
		p.Rate = math.Max(math.Floor(estimate+offset), math.Ceil(estimate))
	}
	p.Rate = math.Min(math.Max(p.Rate, s.MinRate), s.MaxRate)
	return p
}

// minInformativeRate returns the lowest rate to try after a void trial. At a lower rate, a window
// that is long enough to show the percentiles in the goals would be too long.
func (s *Search) minInformativeRate() float64 {
	if seconds := s.window(s.MinRate, exploring); seconds > longestWindow {
		return s.MinRate * seconds / longestWindow
	}
	return s.MinRate
}
