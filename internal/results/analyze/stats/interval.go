package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Level is the confidence level of the intervals in a report: this share of such intervals contains
// the true value.
const Level = 0.95

// Interval is an estimate with its bounds, in the unit of the values.
type Interval struct {
	Value, Low, High float64
	// Level is the confidence level, above 0 and below 1.
	Level float64
	// Remains is the distance from the estimate to its farther bound that would remain after any
	// number of repeats like these: the possible effect of disturbances.
	Remains float64
}

// HalfWidth returns the distance from the estimate to its farther bound, as a share of the
// estimate's size: 0.02 is ± 2 %. It is infinite for an estimate of 0 that is not exact.
func (i Interval) HalfWidth() float64 {
	half := math.Max(i.High-i.Value, i.Value-i.Low)
	if half == 0 {
		return 0
	}
	return half / math.Abs(i.Value)
}

// skewedFrom is the number of repeats from which an interval follows the skewness of its sample.
// The skewness of a smaller sample is mostly chance.
const skewedFrom = 10

// OverRepeats returns the mean of a figure over independent repeats, with its interval at a
// confidence level (usually Level). It is Student's below ten repeats. For ten or more it
// follows the sample's skewness by Hall's cubic transformation of Student's statistic (Hall, "On
// the Removal of Skewness by Transformation", J. R. Stat. Soc. B 54, 1992), which holds 95 %
// where a store stalls in few of its repeats and Student's interval holds 91 %, and is 2 % wider
// without skew. A percentile bootstrap of five repeats holds 83 %, and a studentized one is no
// better than this and needs randomness.
//
// If disturbances may have moved repeats, the mean is weighted and the interval is for the
// figure without them, as estimate describes.
//
// It is unknown for fewer than two repeats, or if one is not finite.
func OverRepeats(repeats Repeats, level float64) (Interval, bool) {
	if !repeats.allKnown(2) {
		return Interval{}, false
	}
	claims := repeats.claims()
	s := sample{values: repeats.Values, claims: make([]float64, len(claims)), weights: weigh(claims)}
	undisturbed := 0.0 // the mean, if the whole of each claim is true
	for i, c := range claims {
		undisturbed += s.weights[i] * s.values[i] * math.Exp(-c) / floats.Sum(s.weights)
	}
	for i, c := range claims {
		s.claims[i] = undisturbed * (math.Exp(c) - 1)
	}
	e := estimateOf(s)
	p := e.parts[0]
	quantile := func(t float64) float64 { return t }
	if len(s.values) >= skewedFrom {
		quantile = func(t float64) float64 { return unskewed(t, p.skew, p.size) }
	}
	return e.interval(level, quantile), true
}

// unskewed returns the value of Student's statistic, of n values with a skewness, that Hall's
// transformation maps to x. The cube root keeps it monotone.
func unskewed(x, skew, n float64) float64 {
	if math.Abs(skew) < 1e-9 {
		return x
	}
	root := math.Sqrt(n)
	return 3 * root / skew * (math.Cbrt(1+skew*(x/root-skew/(6*n))) - 1)
}

// student returns the quantile of Student's distribution that is the half-width of a two-sided
// interval at a level, in standard errors. Newton's method starts from the smaller normal quantile
// and takes a tenth of the time of the library's inverse: a comparison of many trials needs
// thousands.
func student(level, freedom float64) float64 {
	beyond := (1 - level) / 2
	t := stat.Student(freedom)
	x := stat.NormalQuantile(1 - beyond)
	for range 100 {
		step := (t.Survival(x) - beyond) / t.Prob(x)
		if x += step; math.Abs(step) <= 1e-12*x {
			break
		}
	}
	return x
}

// finite reports whether no value is infinite or not a number.
func finite(values []float64) bool {
	for _, v := range values {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return false
		}
	}
	return true
}
