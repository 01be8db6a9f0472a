package capacity

import "math"

// Estimate returns the interval for the capacity according to the trials so far.
func (s *Search) Estimate() Interval {
	pass, fail := s.bracket()
	if pass == 0 || math.IsInf(fail, 1) {
		held := s.highestHeldRate(fail)
		return Interval{Lower: held, Estimate: held, Upper: fail}
	}
	low, high := s.capacityRange(pass, fail)
	out := Interval{Lower: math.Inf(1), Estimate: math.Inf(1), Upper: math.Inf(1)}
	for g, goal := range s.Goals {
		points, crossed := s.points(g, low, high)
		if !crossed {
			continue // no operation was bad for this goal, so another goal limits the capacity
		}
		from, best, to := profile(points, goal, low, high, s.Level)
		out.Lower, out.Estimate, out.Upper = math.Min(out.Lower, math.Exp(from)), math.Min(out.Estimate, math.Exp(best)), math.Min(out.Upper, math.Exp(to))
	}
	if math.IsInf(out.Lower, 1) {
		return Interval{Lower: pass, Estimate: math.Sqrt(pass * fail), Upper: fail}
	}
	out.Lower *= 1 - s.maxHiddenOverload()
	return out
}

// maxHiddenOverload returns the largest overload, as a share of the rate, that may remain
// undetected in a window.
func (s *Search) maxHiddenOverload() float64 {
	hidden := maxBacklogGrowth
	for _, goal := range s.Goals {
		hidden = math.Min(hidden, goal.Span/refining)
	}
	return hidden
}

// capacityRange returns the range of possible capacities, as logarithms of rates. The range is the
// bracket from `pass` to `fail` plus a margin. It is larger if a rate above `fail` held, or if a
// rate below `pass` missed the objective.
func (s *Search) capacityRange(pass, fail float64) (low, high float64) {
	low, high = math.Log(pass)-0.4, math.Log(fail)+0.2
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate > fail && !s.failsAt(t.Rate) {
			high = math.Max(high, math.Log(t.Rate)+0.2)
		} else if s.counts(t) && t.Rate < pass && !t.tooShortToProve() && !t.Holds(s.Goals) {
			low = math.Min(low, math.Log(t.Rate)-0.4)
		}
	}
	return low, high
}

// points returns the points for a goal at rates near the capacity. The result `crossed` reports
// whether a trial missed the goal. Short trials, which only guide the search, are included only if
// none of the longer trials missed the goal.
func (s *Search) points(goal int, low, high float64) (points []point, crossed bool) {
	for _, pointing := range []bool{false, true} {
		points = points[:0]
		for i := range s.Trials {
			t := &s.Trials[i]
			if x := math.Log(t.Rate); !s.usesForEstimates(t) || t.tooShortToProve() && !pointing || x < low-0.1 || x > high+0.1 {
				continue
			}
			points = append(points, pointOf(t, s.Goals, goal))
			due, _ := t.counts(goal)
			crossed = crossed || s.counts(t) && (t.certainlyOverloaded(s.Goals) || t.certainlyBad(goal) > s.Goals[goal].Limit*due)
		}
		if crossed {
			break
		}
	}
	return points, crossed
}
