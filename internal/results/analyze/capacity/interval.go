package capacity

import "math"

// Interval is an interval of rates in operations per second, or of a parameter's values. Upper may
// be +Inf.
type Interval struct{ Lower, Estimate, Upper float64 }

// Closed reports whether both ends of the interval are known.
func (i Interval) Closed() bool { return i.Lower >= 0 && i.Upper > i.Lower && !math.IsInf(i.Upper, 1) }

// Width returns the interval's width as a share of its middle.
func (i Interval) Width() float64 {
	if math.IsInf(i.Upper, 1) {
		return math.Inf(1)
	}
	return 2 * (i.Upper - i.Lower) / (i.Upper + i.Lower)
}

// include extends the interval so that it covers another interval.
func (i *Interval) include(other Interval) {
	i.Lower, i.Upper = math.Min(i.Lower, other.Lower), math.Max(i.Upper, other.Upper)
}
