package capacity

import "math"

// together is how many operations are bad for one cause, at the limit: by so much the
// variance of their number is larger than if each were by itself. What the trials show
// is taken together with what is known without any, which counts as one of prior
// seconds.
//
// A queue's excursions above a bound are the longer the steeper its line is: with a slope
// s and a limit L they are of 2(s/log(1/L))² operations. In M/M/1 the slope is the rate
// times the bound, and for a steeper one no more is expected.
func together(points []point, g Goal, slope float64) float64 {
	var rate, weight float64
	for i := range points {
		rate, weight = rate+points[i].n, weight+points[i].seconds
	}
	if weight == 0 {
		return 1
	}
	rate /= weight
	of := rate * priorSeconds * g.Limit * (1 - g.Limit)
	sum := of * math.Max(1+2*rate*g.Span, 2*math.Pow(math.Min(slope, rate*g.Span)/math.Log(g.Limit), 2))
	for i := range points {
		p := &points[i]
		sum, of = sum+p.variance, of+p.most*grown(p.share, g.Limit)
	}
	return math.Max(sum/of, 1)
}

const priorSeconds = 3

// grown is by how much more are bad for one cause where the share is above the limit.
// A queue's excursions above a bound B grow with the square of what is left of the
// server, which is -log(share)/B.
func grown(share, limit float64) float64 {
	if share <= limit {
		return 1
	}
	r := math.Log(limit) / math.Log(share)
	return r * r
}

// keptUp is how surely a trial without an overload was not one whose backlog grows by a
// share of what is due, as twice a logarithm of likelihoods.
func (p *point) keptUp(g Goal, growth, slope float64) float64 {
	z := p.deviates(g, growth-p.behind, slope)
	return math.Min(z*z, mostOfFlow)
}

// deviates is how many standard deviations of chance a growth of the backlog is, as a share
// of what is due; 0 for none. The number done in so many due has a variance of that times
// the dispersion, and the line of a queue with that has a slope of twice the rate times the
// bound, over the dispersion (the heavy-traffic limit of Kingman 1961).
func (p *point) deviates(g Goal, growth, slope float64) float64 {
	dispersion := math.Max(2*p.n/p.seconds*g.Span/slope, 1)
	return math.Max(growth, 0) * math.Sqrt(p.n/dispersion)
}
