package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

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

// mostOfFlow is how much a trial's backlog says at most, as twice a logarithm of
// likelihoods: what makes a store slow for a while, or fast, is one cause, however steadily
// the backlog follows. Two trials are as good as a proof.
const mostOfFlow = 6

// grew is how surely the backlog grew from second to second, as twice a logarithm of
// likelihoods: the square of the normal deviate that is as rare as Student's t of the
// seconds' differences. Of a queue that can do as much as is asked of it their mean is 0 or
// less, as long as it is not empty. One second of standing still is no steady growth.
func (t *Trial) grew() float64 {
	n := len(t.Seconds) - 1
	if n < 2 {
		return 0
	}
	var sum, squares float64
	for i := range n {
		by := t.Seconds[i+1].InFlight - t.Seconds[i].InFlight
		sum, squares = sum+by, squares+by*by
	}
	mean := sum / float64(n)
	if mean <= 0 {
		return 0
	}
	variance := math.Max(squares-sum*mean, 0) / float64(n-1)
	student := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	z := distuv.UnitNormal.Quantile(1 - math.Max(student.Survival(mean/math.Sqrt(variance/float64(n))), 1e-9))
	return math.Min(math.Max(z, 0)*z, mostOfFlow)
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
