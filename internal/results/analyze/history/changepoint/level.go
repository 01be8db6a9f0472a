package changepoint

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// minScale is the minimum standard deviation that is assumed for a series: a tenth of a percent
// on a logarithmic scale. It prevents the detection of tiny changes in rounded or constant figures.
const minScale = 1e-3

// measure estimates the center and scale of the points [from, n). If these points are few, because
// the level is new, the scale also includes the scatter of the points before them.
func (f *finder) measure(from, n int) {
	values, own := make([]float64, 0, n-from), make([]float64, 0, n-from)
	for _, p := range f.points[from:n] {
		values, own = append(values, p.Value), append(own, p.Error*p.Error+p.PossibleEffect*p.PossibleEffect)
	}
	f.center, f.measuredPoints = stat.Median(values), n
	slices.Sort(own)
	f.lowQuartileVariance = own[len(own)/4]
	first := max(min(from, n-4*minBefore), 0)
	f.scale = 0 // all points have full weight at first, because weights depend on the scale
	for range 3 {
		f.scale = f.noise(first, n, 1)
	}
	if n-first >= 4*minBefore {
		f.scale = max(f.scale, f.noise(first, n, 3))
	}
}

// noise returns the standard deviation of a point with full weight in [from, n), without the effect
// of level changes. It uses the differences between points that are `lag` points apart: a level
// change affects only `lag` of these differences, and an outlier only two. If points are
// correlated, the differences between adjacent points are too small.
func (f *finder) noise(from, n, lag int) float64 {
	steps := make([]float64, 0, n-from)
	for i := from + lag; i < n; i++ {
		d := f.points[i].Value - f.points[i-lag].Value
		if f.scale > 0 {
			d *= math.Sqrt(2 / (1/f.weight(i) + 1/f.weight(i-lag)))
		}
		steps = append(steps, math.Abs(d))
	}
	slices.Sort(steps)
	// The estimate from the trimmed mean is needed for series with few distinct values, because
	// their median difference may be 0.
	const normal, trimmed = 1.4826 / math.Sqrt2, 1.13
	kept := steps[:len(steps)-(len(steps)+7)/8]
	mean := 0.0
	for _, s := range kept {
		mean += s
	}
	mean /= float64(max(len(kept), 1))
	return max(normal*steps[len(steps)/2], trimmed*mean, minScale)
}

// level is a robust weighted mean of points. Values that are farther than clip scales from the
// median count as if they were at this distance.
type level struct {
	mean            float64
	variance        float64 // of a point with full weight
	effectivePoints float64 // number of points with full weight that would be as precise
	points          float64 // effective number of points, given their weights
}

// levelOf returns the level of the points [from, to).
func (f *finder) levelOf(from, to int) level {
	values := make([]float64, 0, to-from)
	for _, p := range f.points[from:to] {
		values = append(values, p.Value)
	}
	center := stat.Median(values)
	var weight, weights, squares, sum float64
	at := func(i int) float64 {
		most := clip * f.scale / math.Sqrt(f.weight(i))
		return center + min(max(f.points[i].Value-center, -most), most)
	}
	for i := from; i < to; i++ {
		w := f.weight(i)
		weight, weights, sum = weight+w, weights+w*w, sum+w*at(i)
	}
	mean := sum / weight
	for i := from; i < to; i++ {
		squares += f.weight(i) * (at(i) - mean) * (at(i) - mean)
	}
	l := level{mean: mean, effectivePoints: weight, points: weight * weight / weights}
	if n := float64(to - from); n > 1 {
		l.variance = squares / (n - 1)
	}
	return l
}

// moderation is the weight of the series' scale, in degrees of freedom, when it moderates the
// variance of a short level.
const moderation = 4

// test is the comparison of two levels: their difference, and the standard error and degrees of
// freedom of this difference.
type test struct{ difference, err, degreesOfFreedom float64 }

// p returns the two-sided p-value of the hypothesis that the two levels are equal.
func (t test) p() float64 {
	return 2 * stat.Student(t.degreesOfFreedom).Survival(math.Abs(t.difference)/t.err)
}

// compare tests whether two levels differ. The parameter `inflation` is the factor by which the
// correlation of points increases the variance of a mean.
func compare(before, after level, scale, inflation float64) test {
	moderate := func(l level) (variance, freedom float64) {
		freedom = max(l.points-1, 0)
		return (moderation*scale*scale + freedom*l.variance) / (moderation + freedom), moderation + freedom
	}
	v1, f1 := moderate(before)
	v2, f2 := moderate(after)
	e1, e2 := v1*inflation/before.effectivePoints, v2*inflation/after.effectivePoints
	return test{after.mean - before.mean, math.Sqrt(e1 + e2), (e1 + e2) * (e1 + e2) / (e1*e1/f1 + e2*e2/f2)}
}
