package capacity

import "math"

// tested counts the longer trials at rates near the interval, separately below and above the
// interval's estimate.
type tested struct {
	below, above int
	all          int
	// lastBelow is set if the last of these trials was below the estimate. turned is set if the
	// last two of these trials were on different sides of the estimate.
	lastBelow, turned bool
}

func (s *Search) testedNear(i Interval) (t tested) {
	for k := range s.Trials {
		one := &s.Trials[k]
		if !s.counts(one) || one.Length < refining*0.99 {
			continue
		}
		t.all++
		if one.Rate < i.Lower*(1-2*s.Width)-s.step() || one.Rate > i.Upper*(1+2*s.Width)+s.step() {
			continue
		}
		below := one.Rate < i.Estimate
		t.turned, t.lastBelow = t.below+t.above > 0 && below != t.lastBelow, below
		if below {
			t.below++
		} else {
			t.above++
		}
	}
	return t
}

// leastOffset is the minimum distance of a confirming trial's rate from the estimate, as a share of
// the target width. A trial at a smaller distance provides no information about either end of the
// interval.
const leastOffset = 0.3

// refine narrows the interval with the trials that are expected to provide the most information. It
// ends the search when the interval is narrow enough, each end was measured twice, and the last two
// trials were at different ends.
func (s *Search) refine() (Plan, bool) {
	i := s.Estimate()
	t := s.testedNear(i)
	least := leastOffset * s.Width * i.Estimate
	ended := t.below >= 2 && t.above >= 2 && t.turned
	if s.narrow(i) && (!ended || s.stays(s.asWide(i))) {
		switch {
		case ended:
			s.found = s.asWide(i)
			s.end(Found, "the interval has the requested width, and both ends were confirmed")
			return Plan{}, false
		case t.below < 2 && (t.below <= t.above || !t.lastBelow) || t.above >= 2 && !t.lastBelow:
			return s.nextTo(i.Estimate, -least, Confirm, refining), true
		}
		return s.nextTo(i.Estimate, least, Confirm, refining), true
	}
	window := math.Min(refining+float64(t.all), longest)
	return s.nextTo(i.Estimate, s.mostTelling(i.Estimate, window)-i.Estimate, Refine, window), true
}

// asWide widens an interval that is narrower than the target width. The additional width allows for
// a drift of the capacity.
func (s *Search) asWide(i Interval) Interval {
	const within = 0.9999
	half := within * s.Width / 2
	if room := (1 + half) / (1 - half) * i.Lower / i.Upper; room > 1 && s.step() == 0 {
		i.Lower, i.Upper = i.Lower/math.Sqrt(room), i.Upper*math.Sqrt(room)
	}
	return i
}
