package capacity

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Possible slopes of a line. A slope is the increase of the log odds of a bad operation when the
// rate increases by a factor of e.
const (
	leastSlope = 1
	mostSlope  = 4000
	slopes     = 18
)

// line describes how the log odds of a bad operation depend on the logarithm of the rate, near the
// capacity. The odds reach the limit at x, which is the logarithm of the capacity at the time
// middle. x moves by drift per second.
type line struct{ x, slope, drift, middle float64 }

// logOdds returns the log odds minus the log odds of the limit. The result is limited to the range
// from -bandBelow to bandAbove.
func (l *line) logOdds(p *point) float64 {
	return math.Min(math.Max(l.slope*(p.x-l.x-l.drift*(p.at-l.middle)), -bandBelow), bandAbove)
}

// fit searches for lines that fit the points.
type fit struct {
	points []point
	goal   Goal
	eta    float64   // log odds of the limit
	weight []float64 // number of independent operations of each point, for the steepest line
	of     [slopes]ofSlope
	// normal holds log(1 + odds) at the lower edge of the band, at the limit, and at the upper
	// edge.
	normal struct{ below, limit, above float64 }
}

// ofSlope holds values for the points that depend on the slope of the line.
type ofSlope struct {
	more   float64   // ratio of the number of independent operations to that for the steepest line
	shares []float64 // the share of bad operations of each point
	own    []float64 // the log-likelihood of each share if the share is the true probability
	// lower bound of each share without disturbances, in log odds; equal to the share if the trial
	// was not disturbed
	least []float64
}

// slopeAt contains the slopes that are tried.
var slopeAt = func() (all [slopes]float64) {
	for k := range all {
		all[k] = leastSlope * math.Pow(mostSlope/leastSlope, float64(k)/(slopes-1))
	}
	return all
}()

// newFit returns a fit for the points. How many operations are bad together depends on the share of
// bad operations. A preliminary fit uses the measured shares for this, and the final fit uses the
// shares on the best line of the preliminary fit.
func newFit(points []point, g Goal, low, high float64) *fit {
	f := &fit{points: points, goal: g, eta: logit(g.Limit), weight: make([]float64, len(points))}
	f.normal.below, f.normal.limit, f.normal.above = normal(f.eta-bandBelow), normal(f.eta), normal(f.eta+bandAbove)
	phi := together(points, g, math.Inf(1))
	for k := range f.of {
		f.of[k].more = phi / together(points, g, slopeAt[k])
	}
	f.shift(0)
	for i := range points {
		f.weight[i] = points[i].n / phi / grown(points[i].share, g.Limit)
	}
	best, least := line{}, math.Inf(1)
	for i := range steps + 1 {
		l := line{x: low + (high-low)*float64(i)/steps}
		if d := f.deviance(&l); d < least {
			best, least = l, d
		}
	}
	for i := range points {
		f.weight[i] = points[i].n / phi / grown(odds(f.eta+best.logOdds(&points[i])), g.Limit)
	}
	return f
}

// deviance sets the slope of the line to the slope that fits best. It returns the deviance of the
// points from the line: twice the log of the likelihood ratio between the points' own shares and
// the line.
func (f *fit) deviance(l *line) (least float64) {
	least = math.Inf(1)
	one := *l
	for k := range slopes {
		if d := f.distance(&one, k, least); d < least {
			least, l.slope = d, slopeAt[k]
		}
	}
	return least
}

// distance returns the deviance of a line with the k-th slope. It may stop early, once the sum
// exceeds the parameter enough.
func (f *fit) distance(l *line, k int, enough float64) (sum float64) {
	slope := slopeAt[k]
	for i := range f.points {
		p := &f.points[i]
		sum += f.far(i, slope*(p.x-l.x-l.drift*(p.at-l.middle)), k)
		if sum >= enough {
			break
		}
	}
	return sum
}

// far returns the deviance of the i-th point from a line with the k-th slope. The parameter above
// is the distance between the point's rate and the capacity, in log odds.
func (f *fit) far(i int, above float64, k int) (sum float64) {
	p, of, slope := &f.points[i], &f.of[k], slopeAt[k]
	var eta, norm float64
	switch {
	case above <= -bandBelow:
		eta, norm = f.eta-bandBelow, f.normal.below
	case above >= bandAbove:
		eta, norm = f.eta+bandAbove, f.normal.above
	default:
		eta, norm = f.eta+above, normal(f.eta+above)
	}
	weight := 2 * f.weight[i] * of.more
	switch share := of.shares[i]; {
	case p.least == p.share, odds(eta) > share:
		sum += weight * (of.own[i] - share*eta + norm)
	case eta < of.least[i]: // a line between the two ends matches the point
		share = odds(of.least[i])
		sum += weight * (selfLogLikelihood(share) - share*eta + norm)
	}
	switch {
	case p.overloaded && above < 0:
		sum += p.grew * math.Min(-above, 1)
	case !p.overloaded && above > -f.eta:
		sum += p.keptUp(f.goal, (above+f.eta)/slope, slope)
	}
	if above < 0 && p.surely > 1 {
		sum += weight * (p.surely - 1) * (p.share*(f.eta-eta) + norm - f.normal.limit)
	}
	return sum
}

// excess returns the ratio of the points' deviance from the best line to the deviance that chance
// would cause. It is at least 1, and larger only if there are enough points to show it. The line
// has the given number of parameters.
func (f *fit) excess(l *line, deviance, parameters float64) float64 {
	const known = 4 // the weight of the assumption that the ratio is 1, in degrees of freedom
	n := -parameters
	for i := range f.points {
		if at := l.logOdds(&f.points[i]); at > -bandBelow && at < bandAbove {
			n++
		}
	}
	return math.Max(1, (deviance+known)/(math.Max(n, 0)+known))
}

// wider is the factor by which Student's quantile is enlarged. In simulations, the plain quantile
// is too small: trials depend on the results of earlier trials, and the search ends when the trials
// agree.
const wider = 1.2

// steps is the number of intervals into which the range of a rate's logarithm is divided during the
// search.
const steps = 48

// profile returns the range of rates at which the share of bad operations may cross the goal's
// limit. low and high are the bounds of the searched range; all rates are logarithms. A rate is in
// the returned range if the best line through it fits almost as well as the best line of all.
//
// If there are few causes of bad operations, the likelihood overstates the evidence. With no cause
// at all, the bound for 2.5 % is a mean of 3.7 causes (e to the -3.7 is 2.5 %), but the likelihood
// gives 1.9. To correct this, profile adds half a cause for the lower end and subtracts half a
// cause for the upper end, similar to a continuity correction.
func profile(points []point, g Goal, low, high, level float64) (from, best, to float64) {
	f := newFit(points, g, low, high)
	t := wider * stat.Student(freedom(points)).Quantile(1-(1-level)/2)
	from, fewer, _ := f.shifted(0.5).profile(low, high, t)
	_, more, to := f.shifted(-0.5).profile(low, high, t)
	return from, (fewer + more) / 2, to
}

// shifted returns a fit for the same points, to which a number of additional causes is distributed.
func (f *fit) shifted(causes float64) *fit {
	out := *f
	out.shift(causes)
	return &out
}

func (f *fit) shift(causes float64) {
	all := 0.0
	for i := range f.points {
		if f.points[i].surely == 1 {
			all += f.weight[i]
		}
	}
	least, most := odds(f.eta-bandBelow), odds(f.eta+bandAbove)
	for k := range f.of {
		one := &f.of[k]
		one.shares, one.own, one.least = make([]float64, len(f.points)), make([]float64, len(f.points)), make([]float64, len(f.points))
		for i := range f.points {
			p := &f.points[i]
			shifted := func(share float64) float64 {
				if p.surely == 1 && share < most && causes != 0 {
					share = math.Min(math.Max(share+causes/math.Max(all*one.more, math.Abs(causes)), least), most)
				}
				return share
			}
			one.shares[i] = shifted(p.share)
			one.own[i], one.least[i] = selfLogLikelihood(one.shares[i]), logit(shifted(p.least))
		}
	}
}

func (f *fit) profile(low, high, t float64) (from, best, to float64) {
	from, to = low, high
	for range 3 {
		at, ds := make([]float64, steps+1), make([]float64, steps+1)
		bestLine, least := line{}, math.Inf(1)
		for i := range at {
			at[i] = from + (to-from)*float64(i)/steps
			l := line{x: at[i]}
			if ds[i] = f.deviance(&l); ds[i] < least {
				bestLine, least = l, ds[i]
			}
		}
		limit := t * t * f.excess(&bestLine, least, 2)
		first, last := steps, 0
		var sum, weight float64
		for i, d := range ds {
			if d-least <= limit {
				first, last = min(first, i), max(last, i)
			}
			w := math.Exp((least - d) / 2)
			sum, weight = sum+w*at[i], weight+w
		}
		best = sum / weight
		from, to = at[max(first-1, 0)], at[min(last+1, steps)]
	}
	return from, best, to
}
