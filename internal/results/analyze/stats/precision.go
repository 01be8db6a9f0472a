package stats

import "math"

// stoppedLevel is the level of an interval whose width may have ended the repeating. Stopping when
// an interval is narrow enough prefers samples that vary little by chance, and a 95 % interval then
// holds 91 to 94 % (Chow and Robbins, "On the Asymptotic Theory of Fixed-Width Sequential
// Confidence Intervals for the Mean", Ann. Math. Stat. 36, 1965, guarantee the rate only for many
// repeats).
const stoppedLevel = 0.96

// FewestUntilPrecise is the number of repeats before which no interval is narrow enough. By
// simulation: at six, a store that stalls in few of its repeats can look quiet in all of them,
// and 87 % of its intervals hold; at ten, where intervals start to follow the skewness, 93 to 96
// %.
const FewestUntilPrecise = 10

// UntilPrecise returns the interval at Level of a figure whose repeats were ended by Precise or by
// a time limit: as OverRepeats, but wider to compensate for stopping.
func UntilPrecise(repeats Repeats) (Interval, bool) {
	i, ok := OverRepeats(repeats, stoppedLevel)
	i.Level = Level
	return i, ok
}

// UntilPreciseRatio returns the interval at Level of the ratio of a figure in a to that in b, round
// by round, if its width may have ended the repeating.
func UntilPreciseRatio(a, b Repeats) (Interval, bool) {
	r, ok := RatioOfRounds(a, b)
	if !ok {
		return Interval{}, false
	}
	i := r.Interval(stoppedLevel)
	i.Level = Level
	return i, true
}

// Precision describes whether a figure has been repeated enough.
type Precision int

// The precisions.
const (
	// Imprecise is a figure that more repeats can make precise.
	Imprecise Precision = iota
	// Unsettled is a figure that more repeats like these cannot make precise, because disturbances
	// may have moved them by more than the target.
	Unsettled
	// Precise is a figure whose interval extends by at most the target, a share of the figure, to
	// either side.
	Precise
)

// PrecisionOf returns the precision of an interval over a number of repeats.
func PrecisionOf(i Interval, repeats int, target float64) Precision {
	switch {
	case repeats < FewestUntilPrecise:
		return Imprecise
	case i.HalfWidth() <= target:
		return Precise
	case i.Remains > target*math.Abs(i.Value):
		return Unsettled
	}
	return Imprecise
}
