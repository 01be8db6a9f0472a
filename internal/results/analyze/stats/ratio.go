package stats

import (
	"math"
)

// Ratio is the ratio of a figure in one group of independent repeats to that in another: the ratio
// of their geometric means. Its interval is Welch's for the difference of logarithms ("The
// Generalization of 'Student's' Problem", Biometrika 34, 1947), so that swapping the groups inverts
// ratio and interval exactly, units do not matter, groups may differ in size and variance, and the
// bounds are always finite. Fieller's interval for the ratio of arithmetic means ("Some Problems in
// Interval Estimation", J. R. Stat. Soc. B 16, 1954) lacks the first and the last property, holds
// as often if the groups vary equally, and is a tenth wider if they are skewed.
//
// If disturbances may have moved repeats, the means are weighted and the interval is for the ratio
// without the disturbances, as estimate describes.
type Ratio struct {
	// Value is the ratio of the geometric means of the two groups as measured.
	Value float64
	log   estimate
}

// logarithms returns the logarithms of a group's values, which must be above 0.
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
	s.weights = weigh(s.claims)
	return s, true
}

// RatioOf returns the ratio of a figure in a to that in b. It is unknown unless both have at least
// two repeats, all of them finite and above 0.
func RatioOf(a, b Repeats) (Ratio, bool) {
	logA, okA := logarithms(a)
	logB, okB := logarithms(b)
	if !okA || !okB {
		return Ratio{}, false
	}
	return newRatio(estimateOf(logA, logB)), true
}

// newRatio returns the ratio for an estimate of its logarithm.
func newRatio(log estimate) Ratio { return Ratio{Value: math.Exp(log.at), log: log} }

// FewestRounds is the number of rounds from which pairs of a round are compared. With fewer, the
// degrees of freedom lost by pairing outweigh its gain if nothing drifts.
const FewestRounds = 10

// RatioOfRounds returns the ratio of a figure in a to that in b, of which a[i] and b[i] were
// measured shortly after each other. With at least FewestRounds its interval is Student's of the
// logarithms of the rounds' ratios, in which drift from round to round cancels; with fewer it is
// RatioOf's. The choice depends only on the number of rounds, and not on the values.
func RatioOfRounds(a, b Repeats) (Ratio, bool) {
	n := len(a.Values)
	if n != len(b.Values) || n < FewestRounds {
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
	rounds.weights = weigh(size)
	logA.weights, logB.weights = rounds.weights, rounds.weights
	return newRatio(estimateOf(rounds)), true
}

// Paired reports whether the ratio's interval is of rounds.
func (r Ratio) Paired() bool { return len(r.log.parts) == 1 }

// Interval returns the ratio's interval at a confidence level.
func (r Ratio) Interval(level float64) Interval {
	i := r.log.interval(level, func(t float64) float64 { return t })
	return Interval{Value: r.Value, Low: math.Exp(i.Low), High: math.Exp(i.High), Level: level, Remains: r.Value * (math.Exp(i.Remains) - 1)}
}

// P returns the two-sided p-value of the ratio being 1: below 1 - level exactly if the interval at
// that level excludes 1.
func (r Ratio) P() float64 {
	se, freedom := r.log.error()
	if se == 0 {
		freedom = 1
	}
	return twoSided(r.log.distanceFromZero(), 1, freedom)
}
