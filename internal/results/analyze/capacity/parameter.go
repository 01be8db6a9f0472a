package capacity

import "math"

// Parameter is one that a load grows with. Where a search is for its largest value, that
// is what rates are called here.
type Parameter struct {
	// Whole says that its values are whole numbers.
	Whole bool
	// Offered is how many operations a second become due at a value; it rises with it.
	Offered func(value float64) float64
	// Window is how long a trial's window is at least, in seconds. A trial has no warm-up.
	Window float64
	// Fresh says that each trial has a store of its own: no overload is left from the one
	// before.
	Fresh bool
}

// beside is what trials took beside their warm-ups and windows, in seconds.
type beside struct {
	longest         float64
	least, most     float64 // the values of the parameter that were prepared; 0: a rate, or none
	atLeast, atMost float64 // how long each took, with the start of its cluster
}

// add takes what a trial took. Its value is 0 where the rate is searched.
func (b *beside) add(value, took float64) {
	b.longest = math.Max(b.longest, took)
	if value > 0 && (b.least == 0 || value < b.least) {
		b.least, b.atLeast = value, took
	}
	if value > b.most {
		b.most, b.atMost = value, took
	}
}

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

// nextTo is a rate below or above the estimate. Whole numbers are tried as near to it as
// that allows, and at least the next on that side.
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
