package measure

import "math/bits"

// Steps is a histogram without the steps that nothing fell into: a few KiB where
// a Histogram has 240. It is what histograms are while they come from a file.
type Steps struct {
	// As of the histogram.
	Lowest, Highest, Digits int64
	All                     []Step // in rising order
}

// Step is how many times there are from Value, in nanoseconds, to the next step.
type Step struct{ Value, N int64 }

// StepsOf are those of a histogram into which something fell.
func StepsOf(h *Histogram) Steps {
	c := Steps{Lowest: h.LowestTrackableValue(), Highest: h.HighestTrackableValue(), Digits: h.SignificantFigures()}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			c.All = append(c.All, Step{bar.From, bar.Count})
		}
	}
	return c
}

// Total is how many times there are.
func (c *Steps) Total() (n int64) {
	for _, s := range c.All {
		n += s.N
	}
	return n
}

// AddTo adds them to a histogram and returns the sum, as Add does.
func (c *Steps) AddTo(into *Histogram) *Histogram {
	into = fit(into, c.Lowest, c.Highest, c.Digits)
	for _, s := range c.All {
		_ = into.RecordValues(s.Value, s.N) // what lies beyond a narrower histogram is dropped, as when two are merged
	}
	return into
}

// A step is Lowest up to the first 1<<subBuckets of them, and from there on
// doubles wherever the values do.
const (
	unit       = 3 // as powers of two
	subBuckets = 11
	half       = 1 << (subBuckets - 1)
)

// NumSteps is how many steps the histograms of NewHistogram have.
const NumSteps = 30_720

// StepAt is the lowest value of the i-th step, from 0 on, of NewHistogram's
// histograms.
func StepAt(i int) int64 {
	if i < half {
		return int64(i) << unit
	}
	return int64(i%half+half) << (i/half - 1 + unit)
}

// StepOf is the lowest of the values that NewHistogram's histograms count where
// they count ns.
func StepOf(ns int64) int64 {
	ns = inRange(ns)
	shift := max(bits.Len64(uint64(ns))-subBuckets, unit)
	return ns >> shift << shift
}
