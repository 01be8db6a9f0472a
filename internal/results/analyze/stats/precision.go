package stats

// stoppedLevel is the level at which an interval is computed that may itself
// have ended the repeating. To stop when an interval is narrow enough prefers
// samples that happen to vary little, and a 95 % interval then holds 91 to 94 %
// (Chow and Robbins, "On the Asymptotic Theory of Fixed-Width Sequential
// Confidence Intervals for the Mean", Ann. Math. Stat. 36, 1965, promise the
// rate for many repeats alone).
const stoppedLevel = 0.96

// FewestUntilPrecise is the number of repeats before which no interval is
// narrow enough. By simulation: at six, a store that stalls in few of its
// repeats can look quiet in all of them, and 87 % of its intervals hold; at ten,
// from which on intervals follow the skewness, 93 to 96 %.
const FewestUntilPrecise = 10

// UntilPrecise is the interval at Level of a figure whose repeats were ended by
// Precise, or by a time that ran out before: as OverRepeats, and wider by what
// stopping costs.
func UntilPrecise(repeats []float64) (Interval, bool) {
	i, ok := OverRepeats(repeats, stoppedLevel)
	i.Level = Level
	return i, ok
}

// Precise reports whether every figure has been repeated enough: each has
// FewestUntilPrecise repeats and an interval that reaches at most target, a
// share of the figure, to either side.
func Precise(target float64, figures ...[]float64) bool {
	for _, repeats := range figures {
		i, ok := UntilPrecise(repeats)
		if !ok || len(repeats) < FewestUntilPrecise || i.HalfWidth() > target {
			return false
		}
	}
	return true
}

// UntilPreciseRatio is the interval at Level of the ratio of a figure in a to
// that in b, round by round, where its width may have ended the repeating.
func UntilPreciseRatio(a, b []float64) (Interval, bool) {
	r, ok := RatioOfRounds(a, b)
	if !ok {
		return Interval{}, false
	}
	i := r.Interval(stoppedLevel)
	i.Level = Level
	return i, true
}

// PreciseRatio reports whether the ratio of a figure in a to that in b is known
// as well as Precise has it.
func PreciseRatio(target float64, a, b []float64) bool {
	i, ok := UntilPreciseRatio(a, b)
	return ok && min(len(a), len(b)) >= FewestUntilPrecise && i.HalfWidth() <= target
}
