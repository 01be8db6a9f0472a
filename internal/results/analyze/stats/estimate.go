package stats

import (
	"math"
)

// sample holds the values of one group of repeats, or of the rounds of two groups. The claim of a
// value is the amount by which disturbances may have changed it.
type sample struct{ values, claims, weights []float64 }

// estimate is the weighted mean of one sample, or the difference between the means of two samples.
// It takes the effect of disturbances on the repeats into account.
//
// The model: disturbances changed each value by a part of its claim. On average, this part is the
// same for all values: the true part, which is between 0 and 1. The rest of the change is random.
// So equal claims on both sides cancel, and a larger claim on one side extends the interval in one
// direction. If the claims differ between repeats, a regression of the values on the claims
// estimates the true part.
type estimate struct {
	at float64
	// bias is the amount by which all claims together may have changed the estimate. Without the
	// disturbances, the estimate would be at - bias times the true part.
	bias  float64
	parts []part
	// slope is the true part according to the regression. slopeError is its standard error; it is
	// infinite if all claims are equal.
	slope, slopeError float64
}

// part is the contribution of one sample to the error of an estimate.
type part struct {
	// variance is the variance of the sample's mean. size is the effective number of repeats: how
	// many repeats with equal weights would give the same precision.
	variance, size float64
	repeats        float64
	// estimated is the number of degrees of freedom that the regression uses up.
	estimated float64
	skew      float64
}

// leastFreedom is the minimum number of degrees of freedom. It applies to repeats with very
// different weights.
const leastFreedom = 0.5

func (p part) freedom() float64 { return max(p.size-1-p.estimated, leastFreedom) }

// estimateOf returns the mean of one sample, or the mean of the first sample minus the mean of the
// second.
func estimateOf(samples ...sample) estimate {
	e := estimate{slopeError: math.Inf(1)}
	means := make([][2]float64, len(samples)) // the means of the values and of the claims
	for k, s := range samples {
		means[k] = [2]float64{weightedMean(s.values, s.weights), weightedMean(s.claims, s.weights)}
		sign := 1 - 2*float64(k)
		e.at += sign * means[k][0]
		e.bias += sign * means[k][1]
	}
	e.regress(samples, means)
	// Without the regression, the slope would have a uniform distribution from 0 to 1, with the
	// variance 1/12. The regression uses up only a part of a degree of freedom: the part by which
	// its slope is more precise than that.
	estimated := 1 / (1 + 12*e.slopeError*e.slopeError) / float64(len(samples))
	for k, s := range samples {
		p := part{estimated: estimated, repeats: float64(len(s.values))}
		var weight, squares, second, third float64
		rest := make([]float64, len(s.values))
		for i, w := range s.weights {
			r := s.values[i] - means[k][0] - e.boundedSlope()*(s.claims[i]-means[k][1])
			rest[i] = r
			weight += w
			squares += w * w
			p.variance += w * w * r * r
			second += w * r * r
			third += w * r * r * r
		}
		p.size = weight * weight / squares
		p.variance *= p.size / p.freedom() / (weight * weight)
		if second > 0 {
			p.skew = third / weight / math.Pow(second/weight, 1.5)
		}
		e.parts = append(e.parts, p)
	}
	return e
}

// weightedMean returns the weighted mean. It works in two passes, so that the result is exact if
// all values are equal.
func weightedMean(values, weights []float64) (mean float64) {
	for range 2 {
		var sum, weight float64
		for i, w := range weights {
			sum += w * (values[i] - mean)
			weight += w
		}
		mean += sum / weight
	}
	return mean
}

// leastSpread is the sum of squares below which all claims count as equal.
const leastSpread = 1e-12

// leastSlopeError is the minimum standard error of slope. Small claims may be true to a different
// degree than large claims, so slope is never exact.
const leastSlopeError = 0.1

// regress computes the slope of the values on their claims within the samples. It uses the larger
// of two standard errors. One of them assumes that all residuals have the same variance relative to
// their weight. The other one allows any variances (White, "A Heteroskedasticity-Consistent
// Covariance Matrix Estimator", Econometrica 48, 1980).
func (e *estimate) regress(samples []sample, means [][2]float64) {
	var xx, xy, scale, repeats float64
	for k, s := range samples {
		for i, w := range s.weights {
			x := s.claims[i] - means[k][1]
			xx += w * x * x
			xy += w * x * (s.values[i] - means[k][0])
			scale += w * s.values[i] * s.values[i]
			repeats++
		}
	}
	left := repeats - float64(len(samples)) - 1
	if xx <= leastSpread*max(scale, leastSpread) || left < 1 {
		return
	}
	e.slope = xy / xx
	var equal, white float64
	for k, s := range samples {
		for i, w := range s.weights {
			x := s.claims[i] - means[k][1]
			r := s.values[i] - means[k][0] - e.boundedSlope()*x
			equal += w * r * r
			white += w * w * x * x * r * r
		}
	}
	e.slopeError = max(math.Sqrt(max(equal/left/xx, white/(xx*xx)*repeats/left)), leastSlopeError)
}

// boundedSlope returns the slope of the regression, limited to the range from 0 to 1.
func (e *estimate) boundedSlope() float64 { return min(max(e.slope, 0), 1) }

// error returns the standard error of the estimate and its degrees of freedom. For two samples, the
// degrees of freedom follow Welch and Satterthwaite.
func (e *estimate) error() (se, freedom float64) {
	if len(e.parts) == 1 {
		return math.Sqrt(e.parts[0].variance), e.parts[0].freedom()
	}
	sum, squares := 0.0, 0.0
	for _, p := range e.parts {
		sum += p.variance
		squares += p.variance * p.variance / p.freedom()
	}
	return math.Sqrt(sum), sum * sum / squares
}

// penalty returns how unlikely it is, according to the regression, that the given part of the
// claims is true. It is the squared distance from the slope in standard errors, minus the smallest
// value that is possible.
func (e *estimate) penalty(part float64) float64 {
	square := func(part float64) float64 {
		x := (part - e.slope) / e.slopeError
		return x * x
	}
	return square(part) - square(e.boundedSlope())
}

// bounds returns the lower and upper bound of the undisturbed estimate: the minimum and maximum of
// at - part·bias, with an allowance for chance, over all possible values of part. The parameter t
// is the quantile for chance. If a part is unlikely according to the regression, the allowance for
// chance is smaller. The function quantile adapts a quantile to a skewed sample.
func (e *estimate) bounds(t float64, quantile func(t float64) float64) (low, high float64) {
	se, _ := e.error()
	room := math.Sqrt(t*t + math.Pow((e.boundedSlope()-e.slope)/e.slopeError, 2))
	end := func(sign float64) float64 {
		at := 0.0
		switch x := e.bias * e.slopeError; {
		case e.bias == 0:
			at = e.boundedSlope()
		case math.IsInf(x, 0) && sign*e.bias < 0:
			at = 1
		case !math.IsInf(x, 0):
			at = e.slope - sign*e.slopeError*room*x/math.Hypot(se, x)
			at = max(at, 0, e.slope-e.slopeError*room)
			at = min(at, 1, max(e.slope+e.slopeError*room, 0))
		}
		left := math.Sqrt(max(t*t-e.penalty(at), 0))
		return e.at - at*e.bias - se*quantile(-sign*left)
	}
	return end(-1), end(1)
}

// manyMore is a number of additional repeats that makes chance negligible.
const manyMore = 1e9

// interval returns the estimate with its bounds at a confidence level.
func (e *estimate) interval(level float64, quantile func(t float64) float64) Interval {
	i := Interval{Value: e.at, Level: level}
	se, freedom := e.error()
	if se == 0 {
		freedom = 1
	}
	t := student(level, freedom)
	i.Low, i.High = e.bounds(t, quantile)
	if e.bias != 0 {
		far := e.extrapolate(manyMore)
		low, high := far.bounds(t, quantile)
		i.Remains = max(high-i.Value, i.Value-low)
	}
	return i
}

// distanceFromZero returns how far the undisturbed estimate is from 0, in standard errors. The
// result is greater than t exactly if the bounds for t exclude 0.
func (e *estimate) distanceFromZero() float64 {
	se, _ := e.error()
	at := e.boundedSlope()
	if e.bias != 0 {
		at = e.at / e.bias
		// the minimum of the sum of the two squared distances
		if x := se / (e.bias * e.slopeError); x != 0 {
			at = (at + e.slope*x*x) / (1 + x*x)
		}
		at = min(max(at, 0), 1)
	}
	distance := e.at - at*e.bias
	if math.Abs(distance) <= 1e-15*max(math.Abs(e.at), math.Abs(e.bias)) {
		distance = 0 // even if the standard error is 0
	} else {
		distance /= se
	}
	return math.Sqrt(max(distance*distance+e.penalty(at), 0))
}

// extrapolate returns the estimate that is expected after the given number of additional repeats in
// each sample.
func (e estimate) extrapolate(more int) estimate {
	parts := make([]part, len(e.parts))
	fewer, grown := 0.0, 0.0
	for i, p := range e.parts {
		factor := 1 + float64(more)/p.repeats
		fewer += p.repeats
		p.variance /= factor
		p.size *= factor
		p.repeats *= factor
		grown += p.repeats
		parts[i] = p
	}
	e.parts = parts
	if !math.IsInf(e.slopeError, 1) {
		e.slopeError = max(e.slopeError*math.Sqrt(fewer/grown), leastSlopeError)
	}
	return e
}
