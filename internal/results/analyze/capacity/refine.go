package capacity

import (
	"math"
	"slices"
)

// confirmingTrials counts the longer trials at rates near the interval, separately below and above
// the interval's estimate.
type confirmingTrials struct {
	below, above int
	total        int
	// lastBelow is set if the last of these trials was below the estimate. changedSide is set if
	// the last two of these trials were on different sides of the estimate.
	lastBelow, changedSide bool
}

func (s *Search) countConfirming(i Interval) (t confirmingTrials) {
	for k := range s.Trials {
		one := &s.Trials[k]
		if !s.counts(one) || one.Length < refining*0.99 {
			continue
		}
		t.total++
		if one.Rate < i.Lower*(1-2*s.Width)-s.smallestStep() || one.Rate > i.Upper*(1+2*s.Width)+s.smallestStep() {
			continue
		}
		below := one.Rate < i.Estimate
		t.changedSide, t.lastBelow = t.below+t.above > 0 && below != t.lastBelow, below
		if below {
			t.below++
		} else {
			t.above++
		}
	}
	return t
}

// minOffset is the minimum distance of a confirming trial's rate from the estimate, as a share of
// the target width. A trial at a smaller distance provides no information about either end of the
// interval.
const minOffset = 0.3

// maxOverloads is the number of consecutive heavily overloaded trials after which the next trial is
// at the lower end of the interval. If the capacity has fallen since the last trial that held, only
// such a trial shows it: every trial above the former capacity would be overloaded in the same way.
const maxOverloads = 3

// consecutiveOverloads returns the number of heavily overloaded trials since the last other trial
// that counts.
func (s *Search) consecutiveOverloads() (n int) {
	for _, t := range slices.Backward(s.Trials) {
		if !s.counts(&t) {
			continue
		}
		if !t.heavilyOverloaded(s.Goals) {
			break
		}
		n++
	}
	return n
}

// refine narrows the interval with the trials that are expected to provide the most information. It
// ends the search when the interval is narrow enough, each end was measured twice, and the last two
// trials were at different ends.
func (s *Search) refine() (Plan, bool) {
	i := s.Estimate()
	t := s.countConfirming(i)
	least := minOffset * s.Width * i.Estimate
	ended := t.below >= 2 && t.above >= 2 && t.changedSide
	if s.isNarrow(i) && (!ended || s.staysWithin(s.widenToTarget(i))) {
		switch {
		case ended:
			s.finalInterval = s.widenToTarget(i)
			s.end(Found, "the interval has the requested width, and both ends were confirmed")
			return Plan{}, false
		case t.below < 2 && (t.below <= t.above || !t.lastBelow) || t.above >= 2 && !t.lastBelow:
			return s.planNear(i.Estimate, -least, Confirm, refining), true
		}
		return s.planNear(i.Estimate, least, Confirm, refining), true
	}
	window := math.Min(refining+float64(t.total), longestWindow)
	if s.consecutiveOverloads() >= maxOverloads {
		return s.planNear(i.Estimate, math.Min(i.Lower-i.Estimate, -least), Refine, window), true
	}
	return s.planNear(i.Estimate, s.mostInformativeRate(i.Estimate, window)-i.Estimate, Refine, window), true
}

// widenToTarget widens an interval that is narrower than the target width. The additional width
// allows for a drift of the capacity.
func (s *Search) widenToTarget(i Interval) Interval {
	const within = 0.9999
	half := within * s.Width / 2
	if room := (1 + half) / (1 - half) * i.Lower / i.Upper; room > 1 && s.smallestStep() == 0 {
		i.Lower, i.Upper = i.Lower/math.Sqrt(room), i.Upper*math.Sqrt(room)
	}
	return i
}
