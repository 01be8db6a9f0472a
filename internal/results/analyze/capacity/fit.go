package capacity

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// The possible slopes of a line: by how much the log odds of a bad operation rise if the rate rises
// by a factor of e.
const (
	leastSlope = 1
	mostSlope  = 4000
	slopes     = 18
)

// line is the log odds of a bad operation over the logarithm of the rate, around the point where it
// crosses the limit: at x in the middle of the search, moving by drift per second.
type line struct{ x, slope, drift, middle float64 }

// logOdds returns the log odds minus those of the limit, within the band.
func (l *line) logOdds(p *point) float64 {
	return math.Min(math.Max(l.slope*(p.x-l.x-l.drift*(p.at-l.middle)), -bandBelow), bandAbove)
}

// fit searches for lines that fit points.
type fit struct {
	points []point
	goal   Goal
	eta    float64   // the limit's log odds
	weight []float64 // independent operations of each point, for the steepest line
	of     [slopes]ofSlope
	// normal is the logarithm of 1 plus the odds: below the band, at the limit, and above.
	normal struct{ below, limit, above float64 }
}

// ofSlope holds the points' values for lines of one slope.
type ofSlope struct {
	more   float64   // ratio of the independent operations to those of the steepest line
	shares []float64 // the points' shares
	own    []float64 // the logarithms of the shares' likelihoods under themselves
	least  []float64 // lower bounds of the shares without disturbances, in log odds; the shares themselves if undisturbed
}

// slopeAt lists the slopes.
var slopeAt = func() (all [slopes]float64) {
	for k := range all {
		all[k] = leastSlope * math.Pow(mostSlope/leastSlope, float64(k)/(slopes-1))
	}
	return all
}()

// newFit returns the fit of points around the best line of a preliminary fit, which shows how many
// operations are bad together at each point; the preliminary fit uses the measured shares for that.
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

// deviance sets the slope with the best fit and returns the distance of the points from the
// line: twice the log-likelihood ratio of the points' own shares to the line.
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

// distance returns the deviance of a line with the k-th slope; it may stop once the sum exceeds
// enough.
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

// far returns the deviance of one point from a line with the k-th slope whose rate is above the
// capacity by above, in log odds.
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
	case eta < of.least[i]: // a line between the two ends describes the point
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

// excess returns the ratio of the points' distance from the best line to the distance expected
// by chance, if there are enough points to show it; at least 1. parameters is the line's number
// of parameters.
func (f *fit) excess(l *line, deviance, parameters float64) float64 {
	const known = 4 // the weight of 1 itself, in degrees of freedom
	n := -parameters
	for i := range f.points {
		if at := l.logOdds(&f.points[i]); at > -bandBelow && at < bandAbove {
			n++
		}
	}
	return math.Max(1, (deviance+known)/(math.Max(n, 0)+known))
}

// wider is the factor by which Student's quantile is too small, as simulated servers show: trials
// depend on the results of earlier ones, and the search ends when they agree.
const wider = 1.2

// steps is the number of steps in which the logarithm of a rate is searched.
const steps = 48

// profile finds the rates at which a goal's limit may be crossed, between two logarithms of
// rates: those whose best line fits almost as well as the best line of all.
//
// With few causes the likelihood overstates the evidence: with none, 2.5 % is e to the -3.7, and
// the likelihood gives -1.9. Half a cause more for the lower end, and half a cause less for the
// upper one, corrects that, like a continuity correction.
func profile(points []point, g Goal, low, high, level float64) (from, best, to float64) {
	f := newFit(points, g, low, high)
	t := wider * stat.Student(freedom(points)).Quantile(1-(1-level)/2)
	from, fewer, _ := f.shifted(0.5).profile(low, high, t)
	_, more, to := f.shifted(-0.5).profile(low, high, t)
	return from, (fewer + more) / 2, to
}

// shifted returns the fit of the same points with additional causes, distributed over the points.
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
