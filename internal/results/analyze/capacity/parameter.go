package capacity

import "math"

// expectedOverhead returns the expected overhead of a trial in seconds: the time in addition to its
// warm-up and window. The preparation of a trial takes longer if the parameter's value is higher.
// The start of the cluster and the end of the trial do not depend on the value. After trials with
// two different values, expectedOverhead can separate the part that depends on the value from the
// constant part. Before that, it uses the overhead from Options.
func (s *Search) expectedOverhead(value float64) float64 {
	b := &s.overheads
	if value <= b.largestValue || b.largestValue == 0 {
		return b.longest
	}
	each := math.Max(b.overheadAtLargest-s.Overhead, 0) / b.largestValue
	if b.largestValue > b.smallestValue {
		each = math.Max(b.overheadAtLargest-b.overheadAtSmallest, 0) / (b.largestValue - b.smallestValue)
	}
	return math.Max(b.longest, b.overheadAtLargest+each*(value-b.largestValue))
}

// rateNoun returns the word that messages use for a tried rate: "value" in a search for a
// parameter, and "rate" otherwise.
func (s *Search) rateNoun() string {
	if s.Parameter != nil {
		return "value"
	}
	return "rate"
}

// smallestStep returns the smallest distance between two values, or 0 if the values are not whole
// numbers.
func (s *Search) smallestStep() float64 {
	if s.Parameter != nil && s.Parameter.Integer {
		return 1
	}
	return 0
}

// growthFactor returns the factor by which the rate increases while no rate has failed. The factor
// is smaller for a parameter, because preparing a value takes time and a value that is too high
// wastes this time.
func (s *Search) growthFactor() float64 {
	if s.Parameter != nil {
		return 2
	}
	return 4
}

// isNarrow reports whether an interval has at most the target width. If the values are whole
// numbers, an interval is also narrow if its ends differ by at most two.
func (s *Search) isNarrow(i Interval) bool {
	return i.Width() <= s.Width || i.Upper-i.Lower <= 2*s.smallestStep()
}

// valueAtRate returns the rate (or the parameter's value) between `low` and `high` at which the
// number of operations that become due per second equals `perSecond`.
func (s *Search) valueAtRate(perSecond, low, high float64) float64 {
	if s.Parameter == nil {
		return perSecond
	}
	for range 40 {
		if middle := (low + high) / 2; s.Parameter.DueRate(middle) < perSecond {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}
