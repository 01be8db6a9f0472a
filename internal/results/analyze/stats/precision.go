package stats

import "math"

// stoppedLevel is the confidence level that is used to compute an interval if the width of this
// interval determines when a run stops repeating. Such a run tends to stop when its repeats happen
// to vary little. As a result, a nominal 95 % interval contains the true value in only 91 to 94 %
// of the cases. (Chow and Robbins, "On the Asymptotic Theory of Fixed-Width Sequential Confidence
// Intervals for the Mean", Ann. Math. Stat. 36, 1965, guarantee the level only for many repeats.)
const stoppedLevel = 0.96

// MinUntilPrecise is the minimum number of repeats before an interval may be called precise. It is
// based on simulations of a store that stalls in a few of its repeats. After six repeats, this
// store may not have stalled yet, and only 87 % of the intervals contain the true value. With ten
// or more repeats, intervals take the skewness into account, and 93 to 96 % of them contain the
// true value.
const MinUntilPrecise = 10

// UntilPrecise returns the interval of a figure at the confidence level Level, for a run that
// repeats until its figures are precise or a time limit is reached. It works like OverRepeats, but
// widens the interval to compensate for this stopping rule.
func UntilPrecise(repeats Repeats) (Interval, bool) {
	i, ok := OverRepeats(repeats, stoppedLevel)
	i.Level = Level
	return i, ok
}

// UntilPreciseRatio returns the interval of the ratio of a figure in group a to the figure in group
// b, at the confidence level Level. It works like RatioOfRounds, but is for a run that repeats
// until its figures are precise, and widens the interval to compensate for this stopping rule.
func UntilPreciseRatio(a, b Repeats) (Interval, bool) {
	r, ok := RatioOfRounds(a, b)
	if !ok {
		return Interval{}, false
	}
	i := r.Interval(stoppedLevel)
	i.Level = Level
	return i, true
}

// Precision describes whether a figure has been measured precisely enough.
type Precision int

// The values of Precision.
const (
	// Imprecise means that more repeats can make the figure precise.
	Imprecise Precision = iota
	// Unsettled means that more repeats of this kind cannot make the figure precise, because
	// disturbances may have changed the repeats by more than the target.
	Unsettled
	// Precise means that each end of the interval differs from the figure by at most the target,
	// which is a share of the figure.
	Precise
)

// PrecisionOf returns the precision of a figure, given its interval and its number of repeats. The
// parameter `target` is the largest allowed half-width of the interval, as a share of the figure.
func PrecisionOf(i Interval, repeats int, target float64) Precision {
	switch {
	case repeats < MinUntilPrecise:
		return Imprecise
	case i.HalfWidth() <= target:
		return Precise
	case i.DisturbedPart > target*math.Abs(i.Value):
		return Unsettled
	}
	return Imprecise
}
