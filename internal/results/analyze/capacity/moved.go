package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// The share of searches on a server that does not change whose interval may be widened
// for a drift, and the share that may be called disturbed. A drift of some percent shows
// in few searches by more than chance: with less than a half, too many of these are given
// the interval of a store that does not change. A search that would end early is given
// any drift that describes its trials better than none: it can go on.
const (
	mayDrift   = 0.5
	anyDrift   = 1
	falseAlarm = 0.01
)

// drifts is how many drifts of the capacity are gone through to either side, and
// mostDrift how much it may drift in a search, as a logarithm.
const (
	drifts    = 24
	mostDrift = 0.5
)

// moved is all that the capacity may have been in the search, where a capacity that
// drifts describes the trials better than one that does not; without a width where it
// does not: by so much that it would in a share may of searches on a store that does not
// change. Where it does by more than chance, it says so in a sentence without its end.
func (s *Search) moved(may float64) (all Interval, why string) {
	pass, fail := s.bracket()
	low, high := s.around(pass, fail)
	all = Interval{Lower: math.Inf(1), Upper: 0}
	for g, goal := range s.Goals {
		points, crossed := s.points(g, low, high)
		if !crossed {
			continue
		}
		d := driftFit{fit: newFit(points, goal, low, high), level: s.Level, may: may, low: low, high: high}
		d.first, d.last = s.span()
		from, to, found, surely := d.hull()
		if !found {
			continue
		}
		all.Lower, all.Upper = math.Min(all.Lower, math.Exp(from)), math.Max(all.Upper, math.Exp(to))
		if surely {
			why = "the trials contradict each other under one capacity: it moved while they ran"
		}
	}
	return all, why
}

// span is from when to when the search was, in its seconds.
func (s *Search) span() (first, last float64) {
	for i := range s.Trials {
		t := &s.Trials[i]
		first, last = math.Min(first, t.Began-t.Warmup), math.Max(last, t.Began+t.Length)
	}
	return first, last
}

// driftFit looks for a drift of the capacity's logarithm that is even in time.
type driftFit struct {
	*fit
	level, may  float64
	low, high   float64
	first, last float64
}

// hull finds the capacities that there may have been from first to last; found is false
// where no drift describes the points better than none, and surely true where one does
// by more than chance.
func (d *driftFit) hull() (from, to float64, found, surely bool) {
	middle := 0.0
	weight := 0.0
	for i := range d.points {
		middle, weight = middle+d.points[i].at*d.points[i].n, weight+d.points[i].n
	}
	if weight == 0 || d.last <= d.first {
		return 0, 0, false, false
	}
	middle /= weight
	t := distuv.StudentsT{Sigma: 1, Nu: freedom(d.points)}
	may, sure, within := t.Quantile(1-d.may/2), t.Quantile(1-falseAlarm/2), wider*t.Quantile(1-(1-d.level)/4) // of two ends each
	low, high, most := d.low, d.high, mostDrift
	for range 3 {
		type cell struct{ x, drift, deviance float64 }
		var cells []cell
		var best line
		least, still := math.Inf(1), math.Inf(1)
		for k := -drifts; k <= drifts; k++ {
			drift := most * float64(k) / drifts / (d.last - d.first)
			for i := range steps + 1 {
				x := low + (high-low)*float64(i)/steps
				l := line{x: x, drift: drift, middle: middle}
				v := d.deviance(&l)
				cells = append(cells, cell{x, drift, v})
				if v < least {
					best, least = l, v
				}
				if k == 0 {
					still = math.Min(still, v)
				}
			}
		}
		excess := d.excess(&best, least, 3)
		surely = surely || still-least > sure*sure*excess
		if still-least <= may*may*excess {
			return 0, 0, false, false
		}
		from, to = math.Inf(1), math.Inf(-1)
		newLow, newHigh, newMost := math.Inf(1), math.Inf(-1), 0.0
		for _, c := range cells {
			if c.deviance-least > within*within*excess {
				continue
			}
			for _, at := range []float64{d.first, d.last} {
				x := c.x + c.drift*(at-middle)
				from, to = math.Min(from, x), math.Max(to, x)
			}
			newLow, newHigh = math.Min(newLow, c.x), math.Max(newHigh, c.x)
			newMost = math.Max(newMost, math.Abs(c.drift)*(d.last-d.first))
		}
		step := (high - low) / steps
		low, high = newLow-step, newHigh+step
		most = math.Min(newMost+most/drifts, mostDrift)
	}
	return from, to, true, surely
}
