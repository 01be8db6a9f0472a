package capacity

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// falseAlarm is the probability that a search is called disturbed although the server did not
// change.
const falseAlarm = 0.01

// These constants define the prior for the drift of the capacity's logarithm: a normal distribution
// around 0, with a standard deviation of driftDeviation over driftPeriod seconds. A few informative
// trials outweigh the prior. If the trials are too few or too uninformative to exclude a drift, the
// prior limits the drift. maxDrift is the largest drift over driftPeriod seconds that is tried.
const (
	driftDeviation = 0.1
	driftPeriod    = 600
	maxDrift       = 5 * driftDeviation
)

// driftRange holds what the trials show about a drifting capacity. The field `capacities` is the
// range of the capacity's values during the search; it is empty (the lower end is above the upper
// end) if no trial missed a goal. The field `certain` is set if a capacity without a drift fits the
// trials worse than chance can explain.
type driftRange struct {
	capacities Interval
	certain    bool
}

// estimateDrift returns the drift that the trials show so far.
func (s *Search) estimateDrift() driftRange {
	m := driftRange{capacities: Interval{Lower: math.Inf(1), Upper: 0}}
	s.eachDrift(func(d *driftFit) {
		m.certain = m.certain || d.exceedsChance()
		m.capacities.include(d.hull())
	})
	m.capacities.Lower *= 1 - s.maxHiddenOverload()
	return m
}

// unchangedProbability is the probability that must be reached before the search ends with an
// interval: the probability that all values of a possibly drifting capacity are within this
// interval. In simulations, more searches on drifting stores ended as Found with a wrong interval with
// the value 0.55 (94 of 100 intervals were right instead of 95), and searches on an M/M/1 queue took
// 18 % longer with the value 0.6 than with 0.55.
const unchangedProbability = 0.6

// staysWithin reports whether it is sufficiently probable that all values of the capacity during
// the search are within an interval.
func (s *Search) staysWithin(i Interval) bool {
	likely := true
	s.eachDrift(func(d *driftFit) { likely = likely && d.probabilityWithin(i) >= unchangedProbability })
	return likely
}

// eachDrift fits a drift to each goal that was missed at some rate, and calls `do` for each fit.
func (s *Search) eachDrift(do func(d *driftFit)) {
	pass, fail := s.bracket()
	low, high := s.capacityRange(pass, fail)
	for g, goal := range s.Goals {
		points, crossed := s.points(g, low, high)
		if !crossed {
			continue
		}
		if d, ok := s.fitDrift(newFit(points, goal, low, high), low, high); ok {
			do(d)
		}
	}
}

// fitDrift finds the capacity and the drift that fit best. It returns false if there is no data.
func (s *Search) fitDrift(f *fit, low, high float64) (d *driftFit, ok bool) {
	d = &driftFit{fit: f, level: s.Level, low: low, high: high}
	d.first, d.last = s.span()
	return d, d.findBestCell()
}

// span returns when the first trial began and when the last trial so far ended, in seconds since
// the start of the search.
func (s *Search) span() (first, last float64) {
	first = s.start
	for i := range s.Trials {
		t := &s.Trials[i]
		first, last = math.Min(first, t.StartTime-t.Warmup), math.Max(last, t.StartTime+t.Length)
	}
	return first, last
}

// driftFit searches for a constant drift over time in the logarithm of the capacity.
type driftFit struct {
	*fit
	level       float64
	low, high   float64
	first, last float64

	middle    float64 // the mean time of the points, in seconds since the start of the search
	searchBox box
	coarse    []cell // the cells that cover the whole range
	best      cell
	excess    float64
}

// cell is a candidate for the capacity and its drift. The field `x` is the logarithm of the
// capacity at the mean time of the points (driftFit.middle), and `drift` is its change per second.
// The field `deviance` measures how badly the candidate fits the points and the prior for the
// drift.
type cell struct{ x, drift, deviance float64 }

// box is a rectangle of cells, given by its middle (x, drift) and its half widths (dx, ddrift).
type box struct{ x, drift, dx, ddrift float64 }

// findBestCell finds the cell that fits best. It returns false if there is no data.
func (d *driftFit) findBestCell() bool {
	weight := 0.0
	for i := range d.points {
		d.middle, weight = d.middle+d.points[i].time*d.points[i].n, weight+d.points[i].n
	}
	if weight == 0 || d.last <= d.first {
		return false
	}
	d.middle /= weight
	d.searchBox = box{x: (d.low + d.high) / 2, dx: (d.high - d.low) / 2, ddrift: maxDrift / driftPeriod}
	d.coarse = d.cells(d.searchBox, steps/3)
	d.best = d.closest(d.coarse, d.searchBox, steps/3)
	l := line{x: d.best.x, drift: d.best.drift, middle: d.middle}
	d.excess = d.devianceRatio(&l, d.deviance(&l), 3)
	return true
}

// cells returns the cells in a box, with n cells on each side of its middle.
func (d *driftFit) cells(b box, n int) (all []cell) {
	all = d.grid(b, n, n)
	for i := range all {
		all[i].deviance += d.devianceOf(all[i])
	}
	return all
}

// devianceOf returns the deviance of the points from the best line of a cell, without the prior for
// the drift.
func (d *driftFit) devianceOf(c cell) float64 {
	l := line{x: c.x, drift: c.drift, middle: d.middle}
	return d.deviance(&l)
}

// grid returns the cells in a box. Their deviance measures only how badly they fit the prior for
// the drift; it does not include the points.
func (d *driftFit) grid(b box, n, driftCells int) (all []cell) {
	if b.ddrift == 0 {
		driftCells = 0
	}
	for k := -driftCells; k <= driftCells; k++ {
		drift := b.drift + b.ddrift*float64(k)/float64(max(driftCells, 1))
		for i := -n; i <= n; i++ {
			x := b.x + b.dx*float64(i)/float64(n)
			if x < d.low || x > d.high || math.Abs(drift) > d.searchBox.ddrift {
				continue
			}
			prior := drift * driftPeriod / driftDeviation
			all = append(all, cell{x, drift, prior * prior})
		}
	}
	return all
}

// closest returns the cell with the lowest deviance. It starts with the box `b`, whose cells are
// given in `all`, and then searches smaller and smaller boxes around the best cell. A single grid
// is not sufficient: just below a cliff, the capacities that fit the points are so close together
// that a grid may miss them.
func (d *driftFit) closest(all []cell, b box, n int) (best cell) {
	const smaller, boxes = 6, 6
	best = all[0]
	for range boxes {
		for _, c := range all {
			if c.deviance < best.deviance {
				best = c
			}
		}
		b = box{best.x, best.drift, 2 * b.dx / float64(n), 2 * b.ddrift / float64(n)}
		n = smaller
		all = d.cells(b, n)
	}
	return best
}

func (d *driftFit) quantile(p float64) float64 {
	return stat.Student(freedom(d.points)).Quantile(p)
}

// exceedsChance reports whether the drift is larger than chance can explain.
func (d *driftFit) exceedsChance() bool {
	still := d.searchBox
	still.ddrift = 0
	none := d.closest(d.cells(still, steps/3), still, steps/3)
	sure := d.quantile(1 - falseAlarm/2)
	return none.deviance-d.best.deviance > sure*sure*d.excess
}

// hull returns the range of the capacity's values between d.first and d.last. It includes all cells
// whose deviance is close to the lowest deviance.
func (d *driftFit) hull() Interval {
	limit := d.maxDeviance()
	out := d.capacitiesOfCell(d.best)
	for _, c := range append(d.cells(d.boxAround(limit), steps/2), d.coarse...) {
		if c.deviance <= limit {
			out.include(d.capacitiesOfCell(c))
		}
	}
	return out
}

// probabilityWithin returns the probability that all values of the capacity between d.first and
// d.last are in an interval. The likelihood is flattened by the ratio of Student's t quantile to
// the normal quantile.
func (d *driftFit) probabilityWithin(i Interval) float64 {
	const both = 0.95
	flatter := quantileFactor * d.quantile(1-(1-both)/2) / stat.NormalQuantile(1-(1-both)/2)
	var all, in float64
	for _, c := range d.cells(d.boxAround(d.maxDeviance()), steps/3) {
		w := math.Exp((d.best.deviance - c.deviance) / d.excess / flatter / flatter / 2)
		all += w
		if during := d.capacitiesOfCell(c); during.Lower >= i.Lower && during.Upper <= i.Upper {
			in += w
		}
	}
	return in / all
}

// maxDeviance returns the largest deviance that a cell may have at the confidence level.
func (d *driftFit) maxDeviance() float64 {
	// the error probability is divided among four bounds: two for the capacity at the start, and
	// two for the capacity at the end
	within := quantileFactor * d.quantile(1-(1-d.level)/4)
	return d.best.deviance + within*within*d.excess
}

// boxAround returns a box around the best cell in which all cells at the edge have a deviance above
// the limit. It tries successively larger boxes.
func (d *driftFit) boxAround(limit float64) box {
	const larger, first = 1.6, 1e-3
	b := box{d.best.x, d.best.drift, first * d.searchBox.dx, first * d.searchBox.ddrift}
	for b.dx < 2*d.searchBox.dx || b.ddrift < 2*d.searchBox.ddrift {
		if !slices.ContainsFunc(d.grid(b, steps/6, steps/6), func(c cell) bool {
			atEdge := math.Abs(c.x-b.x) > 0.99*b.dx || math.Abs(c.drift-b.drift) > 0.99*b.ddrift
			return atEdge && c.deviance+d.devianceOf(c) <= limit
		}) {
			break
		}
		b.dx, b.ddrift = larger*b.dx, larger*b.ddrift
	}
	return b
}

// capacitiesOfCell returns the range of a cell's capacities between d.first and d.last.
func (d *driftFit) capacitiesOfCell(c cell) Interval {
	a, b := math.Exp(c.x+c.drift*(d.first-d.middle)), math.Exp(c.x+c.drift*(d.last-d.middle))
	return Interval{Lower: math.Min(a, b), Upper: math.Max(a, b)}
}

// limitToEvidence limits an interval to what the trials support:
//   - The best estimate is not above a rate that missed the objective, unless the objective held at
//     a higher rate. If the objective held at no rate, the estimate is 0.
//   - The upper end is at most the rate of a heavily overloaded trial, plus the drift that is
//     possible since that trial, unless the objective held at a higher rate.
//   - If the lower end is at the edge of the searched range, it moves down to a rate at which the
//     objective held.
func (s *Search) limitToEvidence(i Interval) Interval {
	held, missed := s.highestHeldRate(math.Inf(1)), math.Inf(1)
	_, last := s.span()
	for k := range s.Trials {
		t := &s.Trials[k]
		if !s.counts(t) || t.Rate <= held {
			continue
		}
		if s.misses(t.Rate) {
			missed = math.Min(missed, t.Rate)
		}
		if math.IsInf(s.evidence(s.trialsAt(t.Rate)), 1) {
			drift := 2 * driftDeviation / driftPeriod * (last - t.StartTime)
			i.Upper = math.Min(i.Upper, t.Rate*math.Exp(drift))
		}
	}
	if pass, fail := s.bracket(); pass > 0 && !math.IsInf(fail, 1) {
		if low, _ := s.capacityRange(pass, fail); i.Lower <= 1.02*math.Exp(low) {
			i.Lower = math.Min(i.Lower, math.Max(s.highestHeldRate(fail), s.MinRate))
		}
	}
	i.Lower = math.Min(i.Lower, i.Upper)
	switch {
	case held == 0:
		i.Estimate = 0
	case i.Estimate > missed:
		i.Estimate = math.Max(math.Sqrt(held*missed), i.Lower)
	}
	return i
}
