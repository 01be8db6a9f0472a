package changepoint

import (
	"math"
)

// examine decides whether the points [from, n) contain a change near the index `at`.
func (f *finder) examine(from, at, n int) (Change, bool) {
	before, after := f.levelOf(from, at), f.levelOf(at, n)
	place := f.estimatePlace(from, at, n, before.mean, after.mean)
	if place.low < from+f.minPoints() || place.high > n-minAfter {
		return Change{}, false
	}
	before, after = f.levelOf(from, place.low), f.levelOf(place.high, n)
	r := f.residuals(from, place.index, n, before.mean, after.mean)
	t := compare(before, after, f.scale, correlationFactor(r))
	if t.p() > significant || !f.isConsistent(place.high, n, before.mean, after.mean) {
		return Change{}, false
	}
	c := Change{Kind: Step, Index: place.index, Low: place.low, High: place.high, LastDriftIndex: place.index, Rises: t.difference > 0, ConfirmedBy: n - 1, PValue: min(t.p()*float64(n), 1)}
	first, last, better := f.slope(from, place.index, n, before.mean, after.mean, r)
	patient := n-place.index < patience
	switch {
	case better > undecided, better > 0 && !patient, better > -undecided && f.inDrift && place.index-from < patience:
		c.Kind, c.LastDriftIndex = Drift, from+last
		c.Index, c.Low, c.High = from+first, from+first, from+first
	case better > -undecided && patient:
		return Change{}, false
	}
	return c, true
}

// slope returns the first and the last point of the slope that explains the points [from, n) best.
// The result `better` states how much better the slope explains them than a step at the index `at`
// with the residuals `r`. The indexes `first` and `last` are relative to `from`.
func (f *finder) slope(from, at, n int, before, after float64, r []float64) (first, last int, better float64) {
	y := make([]float64, 0, n-from)
	cost := 0.0
	for i, x := range r {
		mean := before
		if from+i >= at {
			mean = after
		}
		y = append(y, mean/f.scale+x)
		cost += x * x
	}
	first, last, sloped := ramp(y)
	return first, last, cost - sloped - extra
}

// place is the estimated index of a step, and the range that contains it with 95 % confidence.
type place struct{ index, low, high int }

// estimatePlace estimates the index of the step between two known levels, from the likelihood of
// each index near `at`.
func (f *finder) estimatePlace(from, at, n int, before, after float64) place {
	const far = 60
	first, last := max(from+1, at-far), min(n-1, at+far)
	cost := func(i int, mean float64) float64 {
		x := (f.points[i].Value - mean) / f.scale
		return min(f.weight(i)*x*x, clip*clip)
	}
	likelihood := make([]float64, last-first+1) // logarithms
	most, best := 0.0, 0
	for k := 1; k < len(likelihood); k++ {
		i := first + k - 1 // this point moves from the new level to the old one
		likelihood[k] = likelihood[k-1] + (cost(i, after)-cost(i, before))/2
		if likelihood[k] > most {
			most, best = likelihood[k], k
		}
	}
	total := 0.0
	for k, l := range likelihood {
		likelihood[k] = math.Exp(l - most)
		total += likelihood[k]
	}
	low, high := best, best
	for sum := likelihood[best]; sum < 0.95*total; {
		left, right := -1.0, -1.0
		if low > 0 {
			left = likelihood[low-1]
		}
		if high+1 < len(likelihood) {
			right = likelihood[high+1]
		}
		if left >= right {
			low--
			sum += left
		} else {
			high++
			sum += right
		}
	}
	return place{index: first + best, low: first + low, high: first + high}
}

// residuals returns the weighted distances of the points from the levels of a step, in units of the
// scale and limited to clip.
func (f *finder) residuals(from, at, n int, before, after float64) []float64 {
	r := make([]float64, 0, n-from)
	for i := from; i < n; i++ {
		mean := before
		if i >= at {
			mean = after
		}
		w := math.Sqrt(f.weight(i))
		r = append(r, w*min(max((f.points[i].Value-mean)/f.scale, -clip/w), clip/w))
	}
	return r
}

// isConsistent reports whether at least three quarters of the points of a new level are closer to
// it than to the old level. If the new level has at most minAfter points, all of them must be
// closer. If it has more than 2*minBefore points, isConsistent always returns true.
func (f *finder) isConsistent(from, n int, before, after float64) bool {
	if n-from > 2*minBefore {
		return true
	}
	against := 0
	for _, p := range f.points[from:n] {
		if math.Abs(p.Value-after) > math.Abs(p.Value-before) {
			against++
		}
	}
	return 4*against <= n-from && (n-from > minAfter || against == 0)
}

// correlationFactor returns the factor by which the correlation of adjacent residuals increases the
// variance of their mean. The factor is 1 unless the correlation is significant.
func correlationFactor(r []float64) float64 {
	if len(r) < 4*minBefore {
		return 1
	}
	var products, squares float64
	for i, x := range r {
		squares += x * x
		if i > 0 {
			products += x * r[i-1]
		}
	}
	if squares == 0 {
		return 1
	}
	n := float64(len(r))
	rho := products/squares - 0.5/math.Sqrt(n)
	rho = min(max(rho, 0), 0.9)
	return (1 + rho) / (1 - rho)
}

// ramp fits a slope between two levels; the second level may be missing. It returns the first and
// the last point of the slope, and the sum of the squared distances from the fit.
func ramp(y []float64) (first, last int, cost float64) {
	n := len(y)
	sum, moment := make([]float64, n+1), make([]float64, n+1) // of y and of i*y
	squares := 0.0
	for i, v := range y {
		sum[i+1], moment[i+1] = sum[i]+v, moment[i]+float64(i)*v
		squares += v * v
	}
	cost = math.Inf(1)
	m := float64(n)
	grid := max(1, n/32)
	for g := n - 1; g >= minRamp; g -= grid {
		for h := 0; h <= g-minRamp; h += grid {
			// x is 0 up to the index h, increases linearly between h and g, and is 1 after g.
			w, k := float64(g-h), float64(g-h)
			x := (k-1)/2 + m - float64(g)
			xx := (k-1)*(2*k-1)/(6*k) + m - float64(g)
			xy := (moment[g]-moment[h]-float64(h)*(sum[g]-sum[h]))/w + sum[n] - sum[g]
			varX := xx - x*x/m
			cov := xy - x*sum[n]/m
			if c := squares - sum[n]*sum[n]/m - cov*cov/varX; varX > 0 && c < cost {
				first, last, cost = h, g, c
			}
		}
	}
	return first, last, max(cost, 0)
}

// minRamp is the minimum length of a slope, in points. A shorter change is a step.
const minRamp = 8
