package capacity

import "math"

// takes is what a trial takes beside its warm-up and window, in seconds. What a parameter
// has to be prepared for grows with it; the start of a cluster, and the end of a trial, do
// not: their part is known from two values, and until then it is what was expected.
func (s *Search) takes(value float64) float64 {
	b := &s.beside
	if value <= b.most || b.most == 0 {
		return b.longest
	}
	each := math.Max(b.atMost-s.Overhead, 0) / b.most
	if b.most > b.least {
		each = math.Max(b.atMost-b.atLeast, 0) / (b.most - b.least)
	}
	return math.Max(b.longest, b.atMost+each*(value-b.most))
}

// called is what sentences call a rate.
func (s *Search) called() string {
	if s.Parameter != nil {
		return "value"
	}
	return "rate"
}

// step is how far two values are apart at least; 0 for any.
func (s *Search) step() float64 {
	if s.Parameter != nil && s.Parameter.Whole {
		return 1
	}
	return 0
}

// faster is by how much the next rate is higher while none has failed. What a parameter
// is prepared for takes its time, and is to be too much by little.
func (s *Search) faster() float64 {
	if s.Parameter != nil {
		return 2
	}
	return 4
}

// narrow reports whether an interval is as narrow as asked for. Of whole numbers the next
// but one is.
func (s *Search) narrow(i Interval) bool {
	return i.Width() <= s.Width || i.Upper-i.Lower <= 2*s.step()
}

// carrying is the rate at which so many operations a second become due, between two.
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
