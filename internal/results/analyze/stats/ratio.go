package stats

import (
	"math"
)

// Ratio is the ratio between the values of a figure in two groups of independent repeats. It is the
// ratio of the groups' geometric means. Its interval is Welch's interval for the difference between
// the logarithms ("The Generalization of 'Student's' Problem", Biometrika 34, 1947). This interval
// has four useful properties. If the groups are swapped, the ratio and its interval are inverted
// exactly. The unit of the figure does not matter. The groups may differ in size and variance. The
// bounds are always finite.
//
// The alternative is Fieller's interval for the ratio of arithmetic means ("Some Problems in
// Interval Estimation", J. R. Stat. Soc. B 16, 1954), which lacks the first and the last property.
// For groups with equal variances, Fieller's interval contains the true value as often as Welch's.
// For skewed groups, it is 10 % wider.
//
// If disturbances may have changed repeats, the means are weighted, and the interval is for the
// ratio as it would be without the disturbances. See the type estimate.
type Ratio struct {
	// Value is the ratio of the geometric means of the measured values. If there were disturbances,
	// the means are weighted.
	Value float64
	log   estimate
}

// logarithms returns the logarithms of a group's values. It returns false if a value is not above
// 0.
func logarithms(r Repeats) (sample, bool) {
	if !r.allKnown(2) {
		return sample{}, false
	}
	s := sample{values: make([]float64, len(r.Values)), claims: r.claims()}
	for i, v := range r.Values {
		if v <= 0 {
			return sample{}, false
		}
		s.values[i] = math.Log(v)
	}
	s.weights = claimWeights(s.claims)
	return s, true
}

// RatioOf returns the ratio of a figure in group a to the figure in group b. It returns false
// unless each group has at least two repeats, and all values are finite and above 0.
func RatioOf(a, b Repeats) (Ratio, bool) {
	logA, okA := logarithms(a)
	logB, okB := logarithms(b)
	if !okA || !okB {
		return Ratio{}, false
	}
	return newRatio(estimateOf(logA, logB)), true
}

// newRatio returns the ratio whose logarithm is the given estimate.
func newRatio(log estimate) Ratio { return Ratio{Value: math.Exp(log.value), log: log} }

// MinRounds is the minimum number of rounds for which RatioOfRounds compares the two repeats of
// each round as a pair. Pairing reduces the degrees of freedom. With fewer rounds, and if nothing
// drifts, this loss outweighs the benefit.
const MinRounds = 10

// RatioOfRounds returns the ratio of a figure in group a to the figure in group b. The repeats a[i]
// and b[i] must be from the same round, and so be measured shortly after each other. If there are
// at least MinRounds rounds, the interval is Student's interval for the logarithms of the
// rounds' ratios. A drift from round to round cancels in these ratios. With fewer rounds,
// RatioOfRounds returns the same result as RatioOf. The choice between the two depends on the
// number of rounds, and not on the values.
func RatioOfRounds(a, b Repeats) (Ratio, bool) {
	n := len(a.Values)
	if n != len(b.Values) || n < MinRounds {
		return RatioOf(a, b)
	}
	logA, okA := logarithms(a)
	logB, okB := logarithms(b)
	if !okA || !okB {
		return Ratio{}, false
	}
	rounds := sample{values: make([]float64, n), claims: make([]float64, n)}
	size := make([]float64, n)
	for i := range n {
		rounds.values[i] = logA.values[i] - logB.values[i]
		rounds.claims[i] = logA.claims[i] - logB.claims[i]
		size[i] = math.Hypot(logA.claims[i], logB.claims[i])
	}
	rounds.weights = claimWeights(size)
	logA.weights, logB.weights = rounds.weights, rounds.weights
	return newRatio(estimateOf(rounds)), true
}

// Paired reports whether the ratio's interval is computed from pairs of repeats in the same round.
func (r Ratio) Paired() bool { return len(r.log.parts) == 1 }

// Interval returns the ratio's interval at a confidence level.
func (r Ratio) Interval(level float64) Interval {
	i := r.log.interval(level, func(t float64) float64 { return t })
	return Interval{Value: r.Value, Low: math.Exp(i.Low), High: math.Exp(i.High), Level: level, DisturbedPart: r.Value * (math.Exp(i.DisturbedPart) - 1)}
}

// P returns the two-sided p-value of the hypothesis that the ratio is 1. For any level, P is below
// 1 - level if and only if the interval at that level excludes 1.
func (r Ratio) P() float64 {
	se, freedom := r.log.error()
	if se == 0 {
		freedom = 1
	}
	return twoSided(r.log.distanceFromZero(), 1, freedom)
}
