// Package stat computes means, medians and variances of samples, and the two distributions that
// confidence intervals need. Except for the medians, its results are identical to those of gonum's
// packages stat and distuv. Those packages would add 2 MB of linear algebra to the program.
package stat

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
)

// Mean returns the arithmetic mean.
func Mean(x []float64) float64 { return floats.Sum(x) / float64(len(x)) }

// GeometricMean returns the geometric mean.
func GeometricMean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(x)))
}

// Median sorts the values and returns the middle one. If the number of values is even, it returns
// the mean of the two middle values. It returns NaN if there are no values.
func Median(x []float64) float64 {
	n := len(x)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// UpperMedian sorts the values and returns the middle one. If the number of values is even, it
// returns the upper of the two middle values. It returns 0 if there are no values.
func UpperMedian[T cmp.Ordered](x []T) (middle T) {
	if len(x) > 0 {
		slices.Sort(x)
		middle = x[len(x)/2]
	}
	return middle
}

// PopVariance returns the population variance, whose divisor is the number of values.
func PopVariance(x []float64) float64 {
	mean := Mean(x)
	return products(x, x, mean, mean) / float64(len(x))
}

// MeanStdDev returns the mean and the sample standard deviation. The divisor of the sample variance
// is the number of values minus one.
func MeanStdDev(x []float64) (mean, deviation float64) {
	mean = Mean(x)
	return mean, math.Sqrt(products(x, x, mean, mean) / float64(len(x)-1))
}

// LinearRegression returns the coefficients of the least-squares line alpha + beta*x.
func LinearRegression(x, y []float64) (alpha, beta float64) {
	meanX, meanY, degrees := Mean(x), Mean(y), float64(len(x)-1)
	beta = products(x, y, meanX, meanY) / degrees / (products(x, x, meanX, meanX) / degrees)
	return meanY - beta*meanX, beta
}

// products returns the sum of (x[i]-meanX)*(y[i]-meanY) over all i. It uses the corrected two-pass
// algorithm (1.7) in Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
func products(x, y []float64, meanX, meanY float64) float64 {
	var sum, missingX, missingY float64
	for i, v := range x {
		dx, dy := v-meanX, y[i]-meanY
		sum += dx * dy
		missingX += dx
		missingY += dy
	}
	return sum - missingX*missingY/float64(len(x))
}

// NormalCDF returns the probability that a standard normal variable is at most x.
func NormalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// NormalQuantile returns the p-quantile of the standard normal distribution: the value below which
// a standard normal variable lies with probability p.
func NormalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

// Student is Student's t-distribution with the given degrees of freedom.
type Student float64

// Survival returns the probability of a value above x.
func (s Student) Survival(x float64) float64 {
	if x == 0 {
		return 0.5
	}
	beyond := 0.5 * mathext.RegIncBeta(float64(s)/2, 0.5, float64(s)/(x*x+float64(s)))
	if x > 0 {
		return beyond
	}
	return 1 - beyond
}

// Prob returns the probability density at x.
func (s Student) Prob(x float64) float64 {
	nu := float64(s)
	above, _ := math.Lgamma((nu + 1) / 2)
	below, _ := math.Lgamma(nu / 2)
	return math.Exp(above - below - 0.5*math.Log(nu) - 0.5*logPi - ((nu+1)/2)*math.Log(1+x*x/nu))
}

const logPi = 1.1447298858494001741 // https://oeis.org/A053510

// Quantile returns the p-quantile of the distribution: the value below which a variable with this
// distribution lies with probability p.
func (s Student) Quantile(p float64) float64 {
	if p == 0.5 {
		return 0
	}
	t := mathext.InvRegIncBeta(float64(s)/2, 0.5, 2*min(p, 1-p))
	return math.Copysign(math.Sqrt(float64(s)*(1-t)/t), p-0.5)
}
