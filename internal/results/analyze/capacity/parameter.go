package capacity

import "math"

// takes returns the time that a trial takes in addition to its warm-up and window, in seconds.
// Preparation grows with the parameter; the start of a cluster and the end of a trial do not.
// Two different values separate the two parts; until then the expected overhead is used.
func (s *Search) takes(value float64) float64 {
	b := &s.overheads
	if value <= b.most || b.most == 0 {
		return b.longest
	}
	each := math.Max(b.atMost-s.Overhead, 0) / b.most
	if b.most > b.least {
		each = math.Max(b.atMost-b.atLeast, 0) / (b.most - b.least)
	}
	return math.Max(b.longest, b.atMost+each*(value-b.most))
}

// called returns the name of a rate in sentences.
func (s *Search) called() string {
	if s.Parameter != nil {
		return "value"
	}
	return "rate"
}

// step returns the smallest distance between two values; 0 if there is none.
func (s *Search) step() float64 {
	if s.Parameter != nil && s.Parameter.Integer {
		return 1
	}
	return 0
}

// faster returns the factor for the next rate while none has failed. Preparing a parameter value
// takes time, so the search should overshoot by little.
func (s *Search) faster() float64 {
	if s.Parameter != nil {
		return 2
	}
	return 4
}

// narrow reports whether an interval has the target width, or whole numbers differ by at most two.
func (s *Search) narrow(i Interval) bool {
	return i.Width() <= s.Width || i.Upper-i.Lower <= 2*s.step()
}

// carrying returns the rate between low and high at which perSecond operations per second become
// due.
func (s *Search) carrying(perSecond, low, high float64) float64 {
	if s.Parameter == nil {
		return perSecond
	}
	for range 40 {
		if middle := (low + high) / 2; s.Parameter.Offered(middle) < perSecond {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}
