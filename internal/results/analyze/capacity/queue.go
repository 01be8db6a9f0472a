package capacity

import "math"

// together returns the number of operations that become bad by one cause, at the limit. It is the
// factor by which their variance exceeds that of independent operations. The trials' estimate is
// combined with a prior whose weight equals that of prior seconds.
//
// The steeper the line, the longer a queue's excursions above a bound: with a slope s and a
// limit L they have 2(s/log(1/L))² operations. In M/M/1 the slope is the rate times the bound,
// which also caps the expectation for steeper lines.
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

// grown returns the factor by which one cause makes more operations bad if the share is above the
// limit. A queue's excursions above a bound B grow with the square of the server's remaining
// capacity, which is -log(share)/B.
func grown(share, limit float64) float64 {
	if share <= limit {
		return 1
	}
	r := math.Log(limit) / math.Log(share)
	return r * r
}

// keptUp returns the evidence that a trial without an overload did not have a backlog that grows by
// a share of the operations due, as twice a log-likelihood ratio.
func (p *point) keptUp(g Goal, growth, slope float64) float64 {
	z := p.deviates(g, growth-p.behind, slope)
	return math.Min(z*z, mostOfFlow)
}

// deviates returns a growth of the backlog, as a share of the operations due, in standard
// deviations of chance; 0 for none. The number of operations done has a variance of the number
// due times the dispersion, and the line of such a queue has a slope of twice the rate times the
// bound, over the dispersion (the heavy-traffic limit of Kingman 1961).
func (p *point) deviates(g Goal, growth, slope float64) float64 {
	dispersion := math.Max(2*p.n/p.seconds*g.Span/slope, 1)
	return math.Max(growth, 0) * math.Sqrt(p.n/dispersion)
}
