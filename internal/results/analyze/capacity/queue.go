package capacity

import "math"

// operationsPerCause returns the number of operations that a single cause makes bad when the share
// of bad operations equals the goal's limit. This number is the factor by which the variance of the
// number of bad operations exceeds the variance for independent operations. operationsPerCause
// combines the value from the trials with a prior estimate, which has the weight of priorSeconds
// seconds of trials.
//
// The prior estimate depends on the slope of the line: with a steeper line, a queue stays above a
// bound for longer. For a slope s and a limit L, the queue stays above the bound for 2(s/log(1/L))²
// operations. In an M/M/1 queue, the slope is the rate times the bound; for steeper lines, the
// slope is limited to this value.
func operationsPerCause(points []point, g Goal, slope float64) float64 {
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
		sum, of = sum+p.variance, of+p.independentVariance*causeGrowth(p.share, g.Limit)
	}
	return math.Max(sum/of, 1)
}

const priorSeconds = 3

// causeGrowth returns the number of operations that a single cause makes bad at the given share, as
// a multiple of the number at the limit. The result is 1 if the share is not above the limit. A
// queue stays above a bound B for a time that depends on the remaining capacity of the server,
// which is -log(share)/B: the time is inversely proportional to the square of this capacity.
func causeGrowth(share, limit float64) float64 {
	if share <= limit {
		return 1
	}
	r := math.Log(limit) / math.Log(share)
	return r * r
}

// keptUpEvidence returns the evidence that the backlog in a trial without an overload did not grow
// by the given share of the due operations. The evidence is twice a log-likelihood ratio.
func (p *point) keptUpEvidence(g Goal, growth, slope float64) float64 {
	z := p.growthDeviation(g, growth-p.backlogGrowth, slope)
	return min(z*z, maxGrowthPerTrial)
}

// growthDeviation converts a growth of the backlog, given as a share of the due operations, to a
// multiple of the standard deviation that chance causes. It returns 0 if the backlog did not grow.
// The number of done operations has a variance that equals the number of due operations times the
// dispersion. The line for such a queue has a slope of twice the rate times the bound, divided by
// the dispersion (heavy-traffic limit, Kingman 1961).
func (p *point) growthDeviation(g Goal, growth, slope float64) float64 {
	dispersion := max(2*p.n/p.seconds*g.Span/slope, 1)
	return max(growth, 0) * math.Sqrt(p.n/dispersion)
}
