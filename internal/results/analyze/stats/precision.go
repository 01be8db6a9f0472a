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

// Interleaved is the order in which the sides of a comparison, numbered from 0,
// take their turns in a round, numbered from 0: A B in one and B A in the next,
// so that what drifts on a machine falls on all sides alike.
func Interleaved(round, sides int) []int {
	order := make([]int, sides)
	for i := range order {
		order[i] = i
		if round%2 == 1 {
			order[i] = sides - 1 - i
		}
	}
	return order
}
