package capacity

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// The band is how far below and above the limit, in log odds, a share says how far
// away the capacity is. Beyond it a share says on which side it is, and no more: a
// server that is overloaded, or hardly used, is on no line with one near its capacity.
const (
	bandBelow = 4
	bandAbove = 2.5
)

// point is a trial as an estimate sees it, for one goal.
type point struct {
	x       float64 // the rate's logarithm
	at      float64 // seconds of the search, of the window's middle
	n       float64 // operations due, of which as many as
	share   float64 // were bad; within the band
	seconds float64
	// variance is the sum of bad operations' own, as the seconds show it; 0 where
	// none or all were bad, or the share is beyond the band.
	variance float64
	most     float64 // the same if operations were bad independently of each other
}

func logit(p float64) float64  { return math.Log(p / (1 - p)) }
func odds(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }

// pointOf makes a trial a point.
func pointOf(t *Trial, g Goal, goal int) point {
	due, bad := t.counts(goal)
	p := point{x: math.Log(t.Rate), at: t.Began + t.Length/2, n: due, seconds: t.Length}
	least, most := odds(logit(g.Limit)-bandBelow), odds(logit(g.Limit)+bandAbove)
	share := bad / math.Max(due, 1)
	if t.Overloaded() {
		share = most
	}
	p.share = math.Min(math.Max(share, least), most)
	if share > least && share < most {
		p.variance, p.most = spread(t.Seconds, goal, share), due*share*(1-share)
	}
	return p
}

// spread is the variance of the number of bad operations: the sum of the seconds'
// variances and covariances with the seconds behind them (Newey and West 1987), since
// a second in a busy period is followed by another.
func spread(seconds []Second, goal int, share float64) (v float64) {
	n := len(seconds)
	lags := int(math.Sqrt(float64(n)))
	off := make([]float64, n)
	for i := range seconds {
		off[i] = seconds[i].Bad[goal] - share*seconds[i].Due
	}
	for lag := range lags + 1 {
		weight := 2 * (1 - float64(lag)/float64(lags+1))
		if lag == 0 {
			weight = 1
		}
		for i := lag; i < n; i++ {
			v += weight * off[i] * off[i-lag]
		}
	}
	if n > 1 {
		v *= float64(n) / float64(n-1)
	}
	return math.Max(v, 0)
}

// together is how many operations are bad for one cause: by so much the variance of
// their number is larger than if each were by itself. What the trials show is taken
// together with what is known without any, which counts as one of prior seconds.
func together(points []point, g Goal) float64 {
	var rate, weight float64
	for _, p := range points {
		rate, weight = rate+p.n, weight+p.seconds
	}
	if weight == 0 {
		return 1
	}
	rate /= weight
	of := rate * priorSeconds * g.Limit * (1 - g.Limit)
	sum := of * (1 + 2*rate*g.Span)
	for _, p := range points {
		sum, of = sum+p.variance, of+p.most
	}
	return math.Max(sum/of, 1)
}

const priorSeconds = 3

// freedom is how many degrees of freedom that has.
func freedom(points []point) float64 {
	n := 0.0
	for _, p := range points {
		if p.variance > 0 {
			n += p.seconds
		}
	}
	return math.Min(math.Max(n/3, 8), 40)
}

// Interval is of rates, in operations a second. Upper may be +Inf.
type Interval struct{ Lower, Estimate, Upper float64 }

// Closed reports whether both ends are known.
func (i Interval) Closed() bool { return i.Lower >= 0 && i.Upper > i.Lower && !math.IsInf(i.Upper, 1) }

// Width is that of the interval as a share of its middle.
func (i Interval) Width() float64 {
	if math.IsInf(i.Upper, 1) {
		return math.Inf(1)
	}
	return 2 * (i.Upper - i.Lower) / (i.Upper + i.Lower)
}

// The slopes that a line may have: by how much the log odds of a bad operation rise
// when the rate rises e-fold.
const (
	leastSlope = 1
	mostSlope  = 4000
	slopes     = 18
)

// deviances is how far points are from the line that crosses the limit at x, for
// the slope that fits best: twice the logarithm of how much less likely they are than
// under shares of their own, of so many operations bad together.
func deviance(points []point, eta, phi, x, drift, from float64) (least float64) {
	least = math.Inf(1)
	for k := range slopes {
		slope := leastSlope * math.Pow(mostSlope/leastSlope, float64(k)/(slopes-1))
		sum := 0.0
		for i := range points {
			p := &points[i]
			at := p.x - x - drift*(p.at-from)
			sum += p.n * apart(p.share, eta+math.Min(math.Max(slope*at, -bandBelow), bandAbove))
			if sum/phi*2 >= least {
				break
			}
		}
		least = math.Min(least, 2*sum/phi)
	}
	return least
}

// apart is Kullback and Leibler's divergence of a share from one given by its log odds.
func apart(share, eta float64) float64 {
	good := -math.Log1p(math.Exp(eta)) // log(1-p)
	return share*math.Log(share) + (1-share)*math.Log1p(-share) - share*(eta+good) - (1-share)*good
}

// wider is by how much Student's quantile is too small, as simulated servers show:
// trials are placed by what the ones before came to, and end where they agree.
const wider = 1.6

// steps is how finely the logarithm of a rate is gone through.
const steps = 48

// profile finds the rates at which a goal's limit may be crossed, between two
// logarithms of rates: those whose best line is not much further from the points than
// the best of all.
func profile(points []point, g Goal, low, high, level float64) (from, best, to float64) {
	phi := together(points, g)
	t := wider * distuv.StudentsT{Sigma: 1, Nu: freedom(points)}.Quantile(1-(1-level)/2)
	eta := logit(g.Limit)
	from, to = low, high
	for range 3 {
		at, ds := make([]float64, steps+1), make([]float64, steps+1)
		for i := range at {
			at[i] = from + (to-from)*float64(i)/steps
			ds[i] = deviance(points, eta, phi, at[i], 0, 0)
		}
		least := slices.Min(ds)
		first, last := steps, 0
		var sum, weight float64
		for i, d := range ds {
			if d-least <= t*t {
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

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	if n == 0 {
		return math.NaN()
	}
	return (all[(n-1)/2] + all[n/2]) / 2
}
