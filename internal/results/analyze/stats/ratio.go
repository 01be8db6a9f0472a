package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Ratio is how many times as large a figure is in one group of independent
// repeats as in another: the ratio of their geometric means. Its interval is
// Welch's of the difference of logarithms ("The Generalization of 'Student's'
// Problem", Biometrika 34, 1947), so that swapping the groups inverts ratio and
// interval exactly, no unit matters, groups may differ in size and variance,
// and the bounds are always finite. Fieller's interval for the ratio of
// arithmetic means ("Some Problems in Interval Estimation", J. R. Stat. Soc. B
// 16, 1954) has none of the first and the last, holds as much where the groups
// vary alike, and is a tenth wider where they are skewed.
type Ratio struct {
	Value float64
	// of the logarithm, of each group
	variance [2]float64
	repeats  [2]int
	// ofRounds is the variance of the logarithms of the rounds' ratios, if paired.
	ofRounds float64
	paired   bool
}

// RatioOf is the ratio of a figure in a to that in b. It is not known unless
// both have two repeats at least, all of them finite and above 0.
func RatioOf(a, b []float64) (Ratio, bool) {
	var r Ratio
	var mean [2]float64
	for i, group := range [][]float64{a, b} {
		if len(group) < 2 || !finite(group) {
			return Ratio{}, false
		}
		logs := make([]float64, len(group))
		for k, v := range group {
			if v <= 0 {
				return Ratio{}, false
			}
			logs[k] = math.Log(v)
		}
		mean[i], r.variance[i] = stat.MeanVariance(logs, nil)
		r.repeats[i] = len(group)
	}
	r.Value = math.Exp(mean[0] - mean[1])
	return r, true
}

// FewestRounds is the number of rounds from which on they are what is compared.
// With fewer the degrees of freedom that pairing costs weigh more than what it
// gains where nothing drifts.
const FewestRounds = 10

// RatioOfRounds is the ratio of a figure in a to that in b, of which a[i] and b[i]
// were measured one soon after the other. From FewestRounds on its interval is
// Student's of the logarithms of the rounds' ratios, in which what drifts on a
// machine from round to round cancels; with fewer it is RatioOf's. Whether it is
// depends on the number of rounds alone, and not on what was measured.
func RatioOfRounds(a, b []float64) (Ratio, bool) {
	r, ok := RatioOf(a, b)
	if !ok || len(a) != len(b) || len(a) < FewestRounds {
		return r, ok
	}
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i]) - math.Log(b[i])
	}
	_, r.ofRounds = stat.MeanVariance(logs, nil)
	r.paired = true
	return r, true
}

// Paired reports whether the ratio's interval is of rounds.
func (r Ratio) Paired() bool { return r.paired }

// Interval is the ratio's interval at a confidence level.
func (r Ratio) Interval(level float64) Interval {
	half := r.half(level)
	return Interval{r.Value, r.Value * math.Exp(-half), r.Value * math.Exp(half), level}
}

// P is the two-sided p-value of the ratio being 1: below 1 - level exactly if
// the interval at that level leaves out 1.
func (r Ratio) P() float64 {
	se, freedom := r.error()
	return twoSided(math.Log(r.Value), se, freedom)
}

// half is the half-width of the logarithm's interval.
func (r Ratio) half(level float64) float64 {
	se, freedom := r.error()
	if se == 0 {
		return 0
	}
	return student(level, freedom) * se
}

// error is the standard error of the logarithm, and its degrees of freedom:
// those of the rounds, or after Welch and Satterthwaite.
func (r Ratio) error() (se, freedom float64) {
	if r.paired {
		n := float64(r.repeats[0])
		return math.Sqrt(r.ofRounds / n), n - 1
	}
	sum, squares := 0.0, 0.0
	for i, n := range r.repeats {
		share := r.variance[i] / float64(n)
		sum += share
		squares += share * share / float64(n-1)
	}
	return math.Sqrt(sum), sum * sum / squares
}
