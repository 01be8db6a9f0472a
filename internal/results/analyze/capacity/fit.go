package capacity

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Range and number of the slopes that are tried for a line. A slope is the increase in the log odds
// of a bad operation when the rate increases by a factor of e.
const (
	minSlope = 1
	maxSlope = 4000
	slopes   = 18
)

// line describes how the log odds of a bad operation depend on the logarithm of the rate, near the
// capacity. The field `x` is the logarithm of the capacity at the time `middle`: at this rate, the
// odds equal those of the goal's limit. The field `drift` is the change of `x` per second.
type line struct{ x, slope, drift, middle float64 }

// logOdds returns the log odds at the point's rate and time, minus the log odds of the limit. The
// result is limited to the range from -bandBelow to bandAbove.
func (l *line) logOdds(p *point) float64 {
	return min(max(l.slope*(p.x-l.x-l.drift*(p.time-l.middle)), -bandBelow), bandAbove)
}

// fit searches for lines that fit the points.
type fit struct {
	points      []point
	goal        Goal
	eta         float64   // log odds of the limit
	weight      []float64 // effective number of operations of each point, for the steepest line
	slopeValues [slopes]slopeValues
	normal      *normalTable
	// fittest is the index of the slope that the last call of deviance found. A similar line has a
	// similar slope, so deviance begins there, and can soon stop to compare the other slopes.
	fittest int
}

// slopeValues holds those values of the points that depend on the slope of the line, for one slope.
type slopeValues struct {
	sizeRatio          float64   // effective number of operations, divided by that for the steepest line
	shares             []float64 // the share of bad operations of each point
	selfLogLikelihoods []float64 // the log-likelihood of each share if the share is the true probability
	// for each point, the log odds of the smallest share that is possible without the disturbance;
	// if the trial was not disturbed, this is the share of the point
	lowerLogOdds []float64
}

// slopeAt contains the slopes that are tried.
var slopeAt = func() (all [slopes]float64) {
	for k := range all {
		all[k] = minSlope * math.Pow(maxSlope/minSlope, float64(k)/(slopes-1))
	}
	return all
}()

// newFit returns a fit for the points. The number of operations that a single cause makes bad
// depends on the share of bad operations. To estimate this number, a preliminary fit uses the
// measured shares, and the final fit uses the shares on the best line of the preliminary fit.
func newFit(points []point, g Goal, low, high float64) *fit {
	f := &fit{points: points, goal: g, eta: logit(g.Limit), weight: make([]float64, len(points))}
	f.normal = newNormalTable(f.eta)
	phi := operationsPerCause(points, g, math.Inf(1))
	for k := range f.slopeValues {
		f.slopeValues[k].sizeRatio = phi / operationsPerCause(points, g, slopeAt[k])
	}
	f.addCauses(0)
	for i := range points {
		f.weight[i] = points[i].n / phi / causeGrowth(points[i].share, g.Limit)
	}
	best, least := line{}, math.Inf(1)
	for i := range steps + 1 {
		l := line{x: low + (high-low)*float64(i)/steps}
		if d := f.deviance(&l); d < least {
			best, least = l, d
		}
	}
	for i := range points {
		f.weight[i] = points[i].n / phi / causeGrowth(odds(f.eta+best.logOdds(&points[i])), g.Limit)
	}
	return f
}

// deviance sets the slope of the line to the slope that fits best. It returns the deviance of the
// points from the line: twice the log of A/B. A is the likelihood of the data if the true shares
// are the points' measured shares. B is the likelihood of the data if the true shares are on the
// line.
func (f *fit) deviance(l *line) (least float64) {
	one := *l
	limit := f.distance(&one, f.fittest, math.Inf(1))
	first := f.fittest
	least = math.Inf(1)
	for k := range slopes {
		d := limit
		if k != first {
			d = f.distance(&one, k, min(least, limit))
		}
		if d < least {
			least, l.slope, f.fittest = d, slopeAt[k], k
		}
	}
	return least
}

// distance returns the deviance of the points from a line with the k-th slope. It stops as soon as
// the sum exceeds the limit; the result is then only a lower bound of the deviance.
func (f *fit) distance(l *line, k int, limit float64) (sum float64) {
	slope := slopeAt[k]
	for i := range f.points {
		p := &f.points[i]
		sum += f.distanceAbove(i, slope*(p.x-l.x-l.drift*(p.time-l.middle)), k)
		if sum > limit {
			break
		}
	}
	return sum
}

// distanceAbove returns the deviance of the i-th point from a line with the k-th slope. The
// parameter `above` states how far the point's rate is above the capacity, in log odds; it is
// negative if the rate is below the capacity.
func (f *fit) distanceAbove(i int, above float64, k int) (sum float64) {
	p, of, slope := &f.points[i], &f.slopeValues[k], slopeAt[k]
	inBand := min(max(above, -bandBelow), bandAbove)
	eta, norm := f.eta+inBand, f.normal.lookUp(inBand)
	weight := 2 * f.weight[i] * of.sizeRatio
	switch share := of.shares[i]; {
	case p.undisturbedShare == p.share, odds(eta) > share:
		sum += weight * (of.selfLogLikelihoods[i] - share*eta + norm)
	case eta < of.lowerLogOdds[i]: // lines between the lower bound and the share match the point
		share = odds(of.lowerLogOdds[i])
		sum += weight * (selfLogLikelihood(share) - share*eta + norm)
	}
	switch {
	case p.overloaded && above < 0:
		sum += p.growthEvidence * min(-above, 1)
	case !p.overloaded && above > -f.eta:
		sum += p.keptUpEvidence(f.goal, (above+f.eta)/slope, slope)
	}
	if above < 0 && p.weight > 1 {
		sum += weight * (p.weight - 1) * (p.share*(f.eta-eta) + norm - f.normal.lookUp(0))
	}
	return sum
}

// devianceRatio returns the ratio of the points' deviance from the best line to the deviance that
// chance would cause. The ratio is at least 1, and is larger only if enough points show it. The
// argument `parameters` is the number of fitted parameters of the line.
func (f *fit) devianceRatio(l *line, deviance, parameters float64) float64 {
	const known = 4 // the weight of the assumption that the ratio is 1, in degrees of freedom
	n := -parameters
	for i := range f.points {
		if at := l.logOdds(&f.points[i]); at > -bandBelow && at < bandAbove {
			n++
		}
	}
	return math.Max(1, (deviance+known)/(math.Max(n, 0)+known))
}

// quantileFactor is the factor by which Student's quantile is enlarged. In simulations, the plain
// quantile is too small, because trials depend on the results of earlier trials and the search ends
// when the trials agree.
const quantileFactor = 1.2

// steps is the number of intervals into which a fit divides the searched range of the rate's
// logarithm.
const steps = 48

// profile returns the range of rates at which the share of bad operations may cross the goal's
// limit, and the best estimate of this rate. The parameters `low` and `high` are the bounds of the
// searched range; all rates are logarithms. A rate is in the returned range if the best line that
// crosses the limit at this rate fits almost as well as the best line of all.
//
// If there are few causes of bad operations, the likelihood overstates the evidence. For example,
// if no cause occurred, the exact 2.5 % bound for the mean number of causes is 3.7 (e to the -3.7
// is 2.5 %), but the bound from the likelihood is 1.9. To correct this, profile adds half a cause
// when it determines the lower end, and subtracts half a cause when it determines the upper end.
// This is similar to a continuity correction.
func profile(points []point, g Goal, low, high, level float64) (from, best, to float64) {
	f := newFit(points, g, low, high)
	t := quantileFactor * stat.Student(freedom(points)).Quantile(1-(1-level)/2)
	from, fewer, _ := f.withExtraCauses(0.5).profile(low, high, t)
	_, more, to := f.withExtraCauses(-0.5).profile(low, high, t)
	return from, (fewer + more) / 2, to
}

// withExtraCauses returns a fit for the same points, over which it distributes additional causes of
// bad operations. If the number of causes is negative, it removes causes.
func (f *fit) withExtraCauses(causes float64) *fit {
	out := *f
	out.addCauses(causes)
	return &out
}

func (f *fit) addCauses(causes float64) {
	all := 0.0
	for i := range f.points {
		if f.points[i].weight == 1 {
			all += f.weight[i]
		}
	}
	least, most := odds(f.eta-bandBelow), odds(f.eta+bandAbove)
	for k := range f.slopeValues {
		one := &f.slopeValues[k]
		one.shares, one.selfLogLikelihoods, one.lowerLogOdds = make([]float64, len(f.points)), make([]float64, len(f.points)), make([]float64, len(f.points))
		for i := range f.points {
			p := &f.points[i]
			shifted := func(share float64) float64 {
				if p.weight == 1 && share < most && causes != 0 {
					share = math.Min(math.Max(share+causes/math.Max(all*one.sizeRatio, math.Abs(causes)), least), most)
				}
				return share
			}
			one.shares[i] = shifted(p.share)
			one.selfLogLikelihoods[i], one.lowerLogOdds[i] = selfLogLikelihood(one.shares[i]), logit(shifted(p.undisturbedShare))
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
		limit := t * t * f.devianceRatio(&bestLine, least, 2)
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
