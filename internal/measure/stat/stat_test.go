package stat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Every result is exactly equal to gonum's result, bit by bit.
func TestResultsEqualGonums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	same := func(name string, got, want float64) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, and %v in gonum", name, got, want)
		}
	}
	for n := 2; n < 60; n++ {
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = 1e6*r.ExpFloat64(), r.ExpFloat64()
		}
		same("the mean", Mean(x), stat.Mean(x, nil))
		same("the geometric mean", GeometricMean(x), stat.GeometricMean(x, nil))
		same("the variance", PopVariance(x), stat.PopVariance(x, nil))
		mean, deviation := MeanStdDev(x)
		wantMean, wantDeviation := stat.MeanStdDev(x, nil)
		same("the mean", mean, wantMean)
		same("the deviation", deviation, wantDeviation)
		alpha, beta := LinearRegression(x, y)
		wantAlpha, wantBeta := stat.LinearRegression(x, y, nil, false)
		same("alpha", alpha, wantAlpha)
		same("beta", beta, wantBeta)

		ours, theirs := Student(n), distuv.StudentsT{Sigma: 1, Nu: float64(n)}
		for _, p := range []float64{0.001, 0.025, 0.3, 0.5, 0.8, 0.995, r.Float64()} {
			at := theirs.Quantile(p)
			same("Student's quantile", ours.Quantile(p), at)
			same("Student's survival", ours.Survival(at), theirs.Survival(at))
			same("Student's density", ours.Prob(at), theirs.Prob(at))
			z := distuv.UnitNormal.Quantile(p)
			same("the normal quantile", NormalQuantile(p), z)
			same("the normal CDF", NormalCDF(z), distuv.UnitNormal.CDF(z))
		}
	}
}

// The median of an even number of values is the mean of the two middle values or the upper one.
func TestMedians(t *testing.T) {
	for _, c := range []struct {
		of            []float64
		median, upper float64
	}{{[]float64{4}, 4, 4}, {[]float64{7, 1, 3}, 3, 3}, {[]float64{9, 1, 2, 6}, 4, 6}} {
		if got := Median(slices.Clone(c.of)); got != c.median {
			t.Errorf("the median of %v is %v", c.of, got)
		}
		if got := UpperMedian(slices.Clone(c.of)); got != c.upper {
			t.Errorf("the upper median of %v is %v", c.of, got)
		}
	}
	if got := UpperMedian([]int64{}); got != 0 {
		t.Errorf("the upper median of an empty list is %v", got)
	}
}
