package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// bisection is the method with which this package's search is compared. After the same first steps
// as Search, it halves the interval in each step. A step ends as soon as the trials at its rate
// show whether their share of bad operations is above or below the limit. If the trials at a rate
// have not shown this after ten minutes, the search tries a nearby rate instead. The permitted
// error probability of the whole search is divided among the steps.
type bisection struct {
	*Search
	low, high float64
	at        []Trial
	steps     float64
	shift     float64
}

func (s *server) bisect() (took float64, i Interval) {
	first := New(s.options())
	for {
		p, ok := first.Next(s.now)
		if _, fail := first.bracket(); !ok && math.IsInf(fail, 1) {
			return s.now, first.Estimate()
		}
		if pass, fail := first.bracket(); !ok || pass > 0 && !math.IsInf(fail, 1) && p.Purpose != Settle {
			b := bisection{Search: first, low: pass, high: fail}
			b.steps = math.Ceil(math.Log2(math.Log(fail/pass) / DefaultWidth))
			b.run(s)
			return s.now, Interval{Lower: b.low, Estimate: math.Sqrt(b.low * b.high), Upper: b.high}
		}
		began := s.now
		t := s.run(p)
		first.Add(t, s.now-began)
	}
}

// mostAtOne is the maximum total length, in seconds, of the windows at a single rate.
const mostAtOne = 600

func (b *bisection) run(s *server) {
	for math.Log(b.high/b.low) > DefaultWidth && s.now < 10_000 {
		rate := math.Exp(math.Log(b.low) + (0.5+b.shift)*math.Log(b.high/b.low))
		length, heavy := 0.0, false
		b.at = nil
		side := 0
		for side == 0 && length < mostAtOne {
			window := math.Min(narrowing+length, longestWindow)
			t := s.run(b.plan(rate, Narrow, window))
			heavy = t.Overloaded(nil)
			b.at, length = append(b.at, t), length+window
			side = b.side()
		}
		switch {
		case side < 0:
			b.low, b.shift = rate, 0
		case side > 0:
			b.high, b.shift = rate, 0
		case b.shift == 0:
			b.shift = 0.25
		case b.shift > 0:
			b.shift = -0.25
		default:
			return // both nearby rates are undecided
		}
		if heavy {
			s.run(b.plan(b.low/4, Settle, settling))
		}
	}
}

// side returns -1 if the objective certainly holds at the rate, 1 if it certainly does not, and 0
// if the trials do not show which is the case.
func (b *bisection) side() int {
	g := b.Goals[0]
	var points []point
	var n, bad float64
	for i := range b.at {
		points = append(points, pointOf(&b.at[i], []Goal{g}, 0))
		if b.at[i].Overloaded(nil) {
			return 1
		}
		due, of := b.at[i].counts(0)
		n, bad = n+due, bad+of
	}
	share := math.Min(math.Max(bad/n, 1e-9), 1-1e-9)
	t := quantileFactor * distuv.StudentsT{Sigma: 1, Nu: freedom(points)}.Quantile(1-(1-DefaultLevel)/b.steps/2)
	if 2*n*divergence(share, logit(g.Limit))/operationsPerCause(points, g, math.Inf(1)) < t*t {
		return 0
	}
	if share > g.Limit {
		return 1
	}
	return -1
}
