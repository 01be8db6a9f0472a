package changepoint

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// The simple detectors that Find is compared with. They use only the values of the points.

// windows finds changes with a t-test of two adjacent windows of 12 points. If t exceeds 7 at
// several consecutive positions, the change is at the position with the largest t.
func windows(points []Point) (at []int) {
	const width, limit = 12, 7
	best, most := -1, 0.0
	for i := width; i+width <= len(points); i++ {
		a, b := valuesOf(points[i-width:i]), valuesOf(points[i:i+width])
		meanA, devA := stat.MeanStdDev(a)
		meanB, devB := stat.MeanStdDev(b)
		t := math.Abs(meanA-meanB) / math.Sqrt((devA*devA+devB*devB)/width)
		switch {
		case t > limit && t > most:
			best, most = i, t
		case t <= limit && best >= 0:
			at = append(at, best)
			best, most = -1, 0
		}
	}
	if best >= 0 {
		at = append(at, best)
	}
	return at
}

// divisive finds changes by E-divisive with a t-test for significance. It then removes the weakest
// changes until all remaining changes are significant. This is the method of Hunter (Fleming et
// al., ICPE 2023), but applied to the whole series instead of windows.
func divisive(points []Point) []int {
	const significance, least = 0.001, 0.0
	all := valuesOf(points)
	var at []int
	var split func(from, to int)
	split = func(from, to int) {
		k, ok := energy(all[from:to])
		if !ok || welch(all[from:from+k], all[from+k:to]) > significance {
			return
		}
		split(from, from+k)
		at = append(at, from+k)
		split(from+k, to)
	}
	split(0, len(all))
	for len(at) > 0 {
		worst, most := -1, significance
		for i := range at {
			from, to := 0, len(all)
			if i > 0 {
				from = at[i-1]
			}
			if i+1 < len(at) {
				to = at[i+1]
			}
			if p := welch(all[from:at[i]], all[at[i]:to]); p > most {
				worst, most = i, p
			}
		}
		if worst < 0 {
			break
		}
		at = append(at[:worst], at[worst+1:]...)
	}
	return at
}

// energy returns the index that splits the values into two sides with the largest energy distance.
func energy(x []float64) (at int, ok bool) {
	n := len(x)
	if n < 4 {
		return 0, false
	}
	// within[k] is the sum of the distances between all pairs of the first k values. beyond[k] is
	// the same sum for all pairs of the other values.
	within, beyond := make([]float64, n+1), make([]float64, n+1)
	total := 0.0
	for k := 1; k <= n; k++ {
		within[k] = within[k-1]
		for i := range k - 1 {
			within[k] += math.Abs(x[i] - x[k-1])
		}
	}
	for k := n - 1; k >= 0; k-- {
		beyond[k] = beyond[k+1]
		for i := k + 1; i < n; i++ {
			beyond[k] += math.Abs(x[i] - x[k])
		}
	}
	total = within[n]
	most := 0.0
	for k := 2; k <= n-2; k++ {
		a, b := float64(k), float64(n-k)
		between := total - within[k] - beyond[k]
		q := a * b / (a + b) * (2/(a*b)*between - 2/(a*(a-1))*within[k] - 2/(b*(b-1))*beyond[k])
		if q > most {
			most, at = q, k
		}
	}
	return at, most > 0
}

// welch returns the p-value of Welch's t-test. It returns 1 if a side has fewer than two values.
func welch(a, b []float64) float64 {
	if len(a) < 2 || len(b) < 2 {
		return 1
	}
	meanA, devA := stat.MeanStdDev(a)
	meanB, devB := stat.MeanStdDev(b)
	va, vb := devA*devA/float64(len(a)), devB*devB/float64(len(b))
	if va+vb == 0 {
		return 1
	}
	freedom := (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	return 2 * stat.Student(freedom).Survival(math.Abs(meanA-meanB)/math.Sqrt(va+vb))
}

func valuesOf(points []Point) []float64 {
	all := make([]float64, len(points))
	for i := range points {
		all[i] = points[i].Value
	}
	return all
}
