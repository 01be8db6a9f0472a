package stats

import (
	"math"
)

// sample holds the values of one group of repeats, or one value for each round of two groups. The
// claim of a value is the amount by which disturbances may have changed the value.
type sample struct{ values, claims, weights []float64 }

// estimate is the weighted mean of one sample, or the difference between the means of two samples.
// It takes the effect of disturbances on the repeats into account.
//
// The model: disturbances changed each value by a part of its claim. On average, this part is the
// same for all values. It is called the true part and is between 0 and 1. The rest of each change
// is random. Therefore, equal claims on both sides cancel each other, and a larger claim on one
// side extends the interval in one direction. If the claims differ between repeats, a regression of
// the values on the claims estimates the true part.
type estimate struct {
	value float64
	// bias is the difference that all claims together would have made to the estimate if the claims
	// were completely true. Without the disturbances, the estimate would be `value` - `bias` × the
	// true part.
	bias  float64
	parts []part
	// slope is the true part, as estimated by the regression. slopeError is the standard error of
	// slope. It is infinite if all claims are equal.
	slope, slopeError float64
}

// part is the contribution of one sample to the error of an estimate.
type part struct {
	// variance is the variance of the sample's mean. size is the effective number of repeats, which
	// is the number of repeats with equal weights that would give the same precision.
	variance, size float64
	repeats        float64
	// regressionFreedom is the number of degrees of freedom that the regression takes from this
	// sample.
	regressionFreedom float64
	skew              float64
}

// minFreedom is the minimum number of degrees of freedom. This minimum matters if the weights of
// the repeats are very different.
const minFreedom = 0.5

func (p part) freedom() float64 { return max(p.size-1-p.regressionFreedom, minFreedom) }

// estimateOf returns the mean of one sample, or the mean of the first sample minus the mean of the
// second.
func estimateOf(samples ...sample) estimate {
	e := estimate{slopeError: math.Inf(1)}
	means := make([][2]float64, len(samples)) // for each sample, the means of its values and of its claims
	for k, s := range samples {
		means[k] = [2]float64{weightedMean(s.values, s.weights), weightedMean(s.claims, s.weights)}
		sign := 1 - 2*float64(k)
		e.value += sign * means[k][0]
		e.bias += sign * means[k][1]
	}
	e.regress(samples, means)
	// Without the regression, the slope would be uniformly distributed from 0 to 1 and have the
	// variance 1/12. The more precise the slope from the regression is compared with this variance,
	// the larger the part of one degree of freedom that the regression uses up.
	estimated := 1 / (1 + 12*e.slopeError*e.slopeError) / float64(len(samples))
	for k, s := range samples {
		p := part{regressionFreedom: estimated, repeats: float64(len(s.values))}
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

// weightedMean returns the weighted mean. A second pass corrects the result of the first, so that
// the result is exact if all values are equal.
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

// minSpread is a limit for the sum of the squared deviations of the claims, relative to the
// values. Below it, all claims count as equal.
const minSpread = 1e-12

// minSlopeError is the minimum standard error of slope. slope is never exact, because the true
// part of small claims may differ from that of large claims.
const minSlopeError = 0.1

// regress fits one straight line to all samples: value = slope × claim + the sample's own constant.
// A claim is the amount by which disturbances may have changed the value (see sample). slopeError
// is the larger of two standard errors. The first assumes that all residuals have the same variance
// relative to their weight. The second makes no assumption about the variances (White, "A
// Heteroskedasticity-Consistent Covariance Matrix Estimator", Econometrica 48, 1980).
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
	if xx <= minSpread*max(scale, minSpread) || left < 1 {
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
	e.slopeError = max(math.Sqrt(max(equal/left/xx, white/(xx*xx)*repeats/left)), minSlopeError)
}

// boundedSlope returns the slope of the regression, limited to the range from 0 to 1.
func (e *estimate) boundedSlope() float64 { return min(max(e.slope, 0), 1) }

// error returns the standard error of the estimate and its degrees of freedom. For two samples, the
// degrees of freedom are computed with the formula of Welch and Satterthwaite.
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

// penalty returns how implausible it is, according to the regression, that `part` is the true part
// of the claims. The result is the squared distance between `part` and slope, in standard errors,
// minus the smallest such value for any part from 0 to 1.
func (e *estimate) penalty(part float64) float64 {
	square := func(part float64) float64 {
		x := (part - e.slope) / e.slopeError
		return x * x
	}
	return square(part) - square(e.boundedSlope())
}

// bounds returns the lower and the upper bound of the undisturbed estimate. For each possible value
// `part` of the true part, the estimate would be `value` - `part` × `bias`. The bounds are the
// minimum and the maximum of these estimates, with an allowance for chance. The parameter `t` is
// the quantile for this allowance. The less plausible a part is according to the regression, the
// smaller the allowance. The function `quantile` adapts a quantile to a skewed sample.
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
		return e.value - at*e.bias - se*quantile(-sign*left)
	}
	return end(-1), end(1)
}

// manyRepeats is a number of additional repeats that is large enough to make the influence of
// chance negligible.
const manyRepeats = 1e9

// interval returns the estimate with its bounds at a confidence level.
func (e *estimate) interval(level float64, quantile func(t float64) float64) Interval {
	i := Interval{Value: e.value, Level: level}
	se, freedom := e.error()
	if se == 0 {
		freedom = 1
	}
	t := student(level, freedom)
	i.Low, i.High = e.bounds(t, quantile)
	if e.bias != 0 {
		far := e.extrapolate(manyRepeats)
		low, high := far.bounds(t, quantile)
		i.DisturbedPart = max(high-i.Value, i.Value-low)
	}
	return i
}

// distanceFromZero returns the distance of the undisturbed estimate from 0, in standard errors. The
// distance is greater than t if and only if the bounds for the quantile t exclude 0.
func (e *estimate) distanceFromZero() float64 {
	se, _ := e.error()
	at := e.boundedSlope()
	if e.bias != 0 {
		at = e.value / e.bias
		// Choose the part that minimizes the sum of the two squared distances: of the estimate from
		// 0, and of the part from slope.
		if x := se / (e.bias * e.slopeError); x != 0 {
			at = (at + e.slope*x*x) / (1 + x*x)
		}
		at = min(max(at, 0), 1)
	}
	distance := e.value - at*e.bias
	if math.Abs(distance) <= 1e-15*max(math.Abs(e.value), math.Abs(e.bias)) {
		distance = 0 // also if the standard error is 0
	} else {
		distance /= se
	}
	return math.Sqrt(max(distance*distance+e.penalty(at), 0))
}

// extrapolate returns the estimate that is expected if `additional` repeats are added to each
// sample.
func (e estimate) extrapolate(additional int) estimate {
	parts := make([]part, len(e.parts))
	fewer, grown := 0.0, 0.0
	for i, p := range e.parts {
		factor := 1 + float64(additional)/p.repeats
		fewer += p.repeats
		p.variance /= factor
		p.size *= factor
		p.repeats *= factor
		grown += p.repeats
		parts[i] = p
	}
	e.parts = parts
	if !math.IsInf(e.slopeError, 1) {
		e.slopeError = max(e.slopeError*math.Sqrt(fewer/grown), minSlopeError)
	}
	return e
}
