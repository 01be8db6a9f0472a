package capacity

import "math"

// tested are how many trials of some length were made near the interval below and
// above its estimate, how long they were in all, and on which side the last was.
type tested struct {
	below, above             int
	lengthBelow, lengthAbove float64
	all                      int
	lastBelow, turned        bool // the last was below; the one before was on the other side
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
			t.below, t.lengthBelow = t.below+1, t.lengthBelow+one.Length
		} else {
			t.above, t.lengthAbove = t.above+1, t.lengthAbove+one.Length
		}
	}
	return t
}

// leastOffset is how far from the estimate a trial is made at least, as a share of
// the width that is narrow enough: closer, it tells nothing of either end.
const leastOffset = 0.3

// far is by how much an interval is wider than it is to be where a rate that plainly held
// above its estimate is tried again, rather than one below: before a cliff the estimate is
// in the middle of what is unknown, and a trial there sees nothing bad once more. Of a
// narrower one such a rate held by chance.
const far = 4

// refine narrows the interval from both ends. It ends when the interval is narrow
// enough, each end was measured twice, and the last two trials were one at each.
func (s *Search) refine() (Plan, bool) {
	i := s.Estimate()
	t := s.testedNear(i)
	least := leastOffset * s.Width * i.Estimate
	ended := t.below >= 2 && t.above >= 2 && t.turned
	if s.narrow(i) && (!ended || s.stays(i)) {
		switch {
		case ended:
			s.end(Found, "the interval is as narrow as asked for, and both its ends were measured again")
			return Plan{}, false
		case t.below < 2 && (t.below <= t.above || !t.lastBelow) || t.above >= 2 && !t.lastBelow:
			return s.nextTo(i.Estimate, -least, Confirm, refining), true
		}
		return s.nextTo(i.Estimate, least, Confirm, refining), true
	}
	below, above := i.Estimate-i.Lower, i.Upper-i.Estimate
	window := math.Min(refining+float64(t.all), longest)
	held, failed := s.plainly()
	if above*(1+t.lengthBelow) > below*(1+t.lengthAbove) {
		return s.nextTo(i.Estimate, math.Max(least, math.Min(0.6*above, failed-i.Estimate)), Refine, window), true
	}
	if held > i.Estimate && held < failed && i.Width() > far*s.Width {
		return s.nextTo(held, 0, Refine, window), true
	}
	return s.nextTo(i.Estimate, -math.Max(least, math.Min(0.6*below, i.Estimate-held)), Refine, window), true
}

// plainly are the highest rate whose trials, taken together, have a share so far below the
// limit that it says no more than on which side that is, and the lowest with one so far
// above, or overloaded: whatever was bad in so short a time, that is above the limit.
// 0 and +Inf for none. Beyond them a trial would say less than there: before a cliff an
// interval's end is far away only because little was tried near it. Trials as short as those
// that narrow are no plain sign: of a store that stands still now and then they may lie
// between two stalls, and to place others by them made intervals wrong.
func (s *Search) plainly() (held, failed float64) {
	failed = math.Inf(1)
	for k := range s.Trials {
		if t := &s.Trials[k]; s.counts(t) && !t.pointing() {
			most, length := s.beyond(t.Rate)
			switch {
			case length < refining:
			case s.failsAt(t.Rate):
				if most > bandAbove || t.Overloaded() {
					failed = math.Min(failed, t.Rate)
				}
			case most < -bandBelow:
				held = math.Max(held, t.Rate)
			}
		}
	}
	return held, failed
}

// beyond is how far the share of a rate's trials is above the limit, in log odds, of the
// goal of which that is most, and how long they are together, in seconds.
func (s *Search) beyond(rate float64) (most, length float64) {
	most = math.Inf(-1)
	for _, t := range s.at(rate) {
		length += t.Length
	}
	for g, goal := range s.Goals {
		var due, bad float64
		for _, t := range s.at(rate) {
			n, of := t.counts(g)
			due, bad = due+n, bad+of
		}
		most = math.Max(most, logit(math.Min(bad/math.Max(due, 1), 1-1e-9))-logit(goal.Limit))
	}
	return most, length
}
