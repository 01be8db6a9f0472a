package capacity

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// mostInformativeRate returns the rate at which a trial is expected to provide the most information
// per unit of time about the capacity and its drift. The parameter `window` is the length of the
// trial's window. The information is measured as the mutual information between the trial's result
// and the capacity, while the slope is unknown, too. (Kontsevich and Tyler, 1999, choose stimuli in
// the same way to find a threshold and an unknown slope.) If no goal was missed,
// mostInformativeRate returns the given rate.
func (s *Search) mostInformativeRate(rate, window float64) float64 {
	least := math.Inf(1)
	s.eachDrift(func(d *driftFit) {
		if d.best.x < least { // otherwise another goal has a lower capacity
			least, rate = d.best.x, math.Exp(d.mostInformativeRate(window, s.Overhead))
		}
	})
	return rate
}

// recoverySeconds is the approximate time, in seconds, that a store needs to drain its queues and
// settle after an overload.
const recoverySeconds = 4

// candidates is the number of rates that mostInformativeRate compares.
const candidates = 25

func (d *driftFit) mostInformativeRate(window, overhead float64) (x float64) {
	p := rateChooser{driftFit: d, phi: operationsPerCause(d.points, d.goal, math.Inf(1)), causes: tabulateOutcomes()}
	p.computeBeliefs(d.last + window)
	most := math.Inf(-1)
	x = d.best.x
	for i := range candidates {
		one := p.low + (p.high-p.low)*float64(i)/(candidates-1)
		information, overload := p.information(one, window)
		if information /= 7./6*window + overhead + overload*recoverySeconds; information > most {
			most, x = information, one
		}
	}
	return x
}

// rateChooser holds the data from which the rate of the next trial is chosen.
type rateChooser struct {
	*driftFit
	phi       float64 // number of operations that one cause makes bad, for the steepest line
	causes    *[means + 1][outcomes]float64
	beliefs   []belief
	low, high float64 // the range that probably contains the capacity; both are logarithms of rates
}

// belief holds the probability of one candidate for the capacity, separately for each slope. The
// field x is the logarithm of the capacity at the time when the trial will run.
type belief struct {
	x                  float64
	slopeProbabilities [slopes]float64
}

// Numbers of capacities and of drifts that computeBeliefs considers on each side of the best cell.
const (
	beliefCapacities = 20
	beliefDrifts     = 5
)

// computeBeliefs computes the beliefs about the capacity at the time `at`, which is in seconds
// since the start of the search.
func (p *rateChooser) computeBeliefs(at float64) {
	limit, all := p.maxDeviance(), 0.0
	p.low, p.high = math.Inf(1), math.Inf(-1)
	for _, c := range p.grid(p.boxAround(limit), beliefCapacities, beliefDrifts) {
		b, any := belief{x: c.x + c.drift*(at-p.middle)}, false
		l := line{x: c.x, drift: c.drift, middle: p.middle}
		for k := range slopes {
			if far := c.deviance + p.distance(&l, k, limit-c.deviance); far < limit {
				b.slopeProbabilities[k], any = math.Exp((p.best.deviance-far)/p.excess/2), true
				all += b.slopeProbabilities[k]
			}
		}
		if any {
			p.beliefs = append(p.beliefs, b)
			p.low, p.high = math.Min(p.low, b.x), math.Max(p.high, b.x)
		}
	}
	if all == 0 {
		p.low, p.high = p.best.x, p.best.x
	}
	for i := range p.beliefs {
		for k := range slopes {
			p.beliefs[i].slopeProbabilities[k] /= all
		}
	}
}

// information returns two results: the information that a trial is expected to provide about the
// capacity and its drift, in nats, and the probability of an overload. The parameter `x` is the
// logarithm of the trial's rate.
func (p *rateChooser) information(x, window float64) (information, overload float64) {
	next := point{n: math.Exp(x) * window, seconds: window}
	var all [outcomes]float64
	for i := range p.beliefs {
		b := &p.beliefs[i]
		var of [outcomes]float64
		sum := 0.0
		for k, likely := range b.slopeProbabilities {
			const negligible = 1e-7
			if likely < negligible {
				continue
			}
			sum += likely
			over, causes := p.outcomeProbabilities(&next, x-b.x, k)
			for j := range causes {
				of[j] += likely * (1 - over) * causes[j]
			}
			of[overloads] += likely * over
		}
		for j, likely := range of {
			all[j] += likely
			if likely > 0 {
				information += likely * math.Log(likely/sum)
			}
		}
	}
	for _, likely := range all {
		if likely > 0 {
			information -= likely * math.Log(likely)
		}
	}
	return information, all[overloads]
}

// outcomeProbabilities returns the probability of an overload, and the probabilities of the other
// outcomes if there is no overload. The parameter `above` is log(rate) - log(capacity), and `k`
// selects the slope of the fitted line, slopeAt[k].
func (p *rateChooser) outcomeProbabilities(next *point, above float64, k int) (overload float64, causes *[outcomes]float64) {
	slope := slopeAt[k]
	eta := slope * above
	share := odds(p.eta + math.Min(math.Max(eta, -bandBelow), bandAbove))
	mean := next.n / p.phi * p.slopeValues[k].sizeRatio * share / causeGrowth(share, p.goal.Limit)
	if eta > -p.eta { // more operations become due than the store can complete
		growth := (eta + p.eta) / slope
		z := next.growthDeviation(p.goal, growth, slope)
		overload = stat.NormalCDF(math.Min(z-certainGrowthZ, z*(1-maxBacklogGrowth/growth)))
	}
	place := math.Log(mean/minMean) / math.Log(maxMean/minMean) * means
	return overload, &p.causes[int(math.Min(math.Max(place+0.5, 0), means))]
}

// outcomeBounds defines the outcomes of a trial. Each value is an upper bound for the number of
// causes of bad operations. There are two more outcomes: more causes than the last bound, and an
// overload.
var outcomeBounds = [...]float64{0, 1, 2, 4, 8, 16, 32, 64}

const (
	overloads = len(outcomeBounds) + 1
	outcomes  = overloads + 1
)

// The range of means for which the probabilities are tabulated.
const (
	means   = 96
	minMean = 1e-4
	maxMean = 200
)

// tabulateOutcomes returns the probability of each outcome for means from minMean to maxMean. The
// number of causes has a Poisson distribution.
func tabulateOutcomes() *[means + 1][outcomes]float64 {
	var all [means + 1][outcomes]float64
	for i := range all {
		mean := minMean * math.Pow(maxMean/minMean, float64(i)/means)
		before := 0.0
		for j, n := range outcomeBounds {
			within := mathext.GammaIncRegComp(n+1, mean)
			all[i][j], before = math.Max(within-before, 0), within
		}
		all[i][len(outcomeBounds)] = math.Max(1-before, 0)
	}
	return &all
}
