package changepoint

import (
	"math"
)

// Point is one value of a series, on a scale on which changes add up, such as a logarithm.
type Point struct {
	Value float64
	// Error is the value's own standard error; 0 if it is not known.
	Error float64
	// Doubt is the amount by which a disturbance may have moved the value; 0 without one.
	Doubt float64
}

// Kind is the shape of a change.
type Kind uint8

// The kinds.
const (
	Step  Kind = iota // the level changes from one point to the next
	Drift             // the level changes gradually
)

// Change is a change of the level. Later points of the series change none of its fields, except that
// they extend a drift that goes on.
type Change struct {
	Kind Kind
	// At is the index of the first point of the new level, or of the drift.
	At int
	// Low and High bound At with 95 % confidence; they are At for a drift.
	Low, High int
	// Until is the index of the last point of a drift as far as it is known; At for a step.
	Until int
	// Up reports whether the level rose.
	Up bool
	// Found is the index of the point that confirmed the change.
	Found int
	// P is the probability that as many points without a change contain a change like this one.
	P float64
}

const (
	// minBefore and minAfter are the numbers of points that a level needs.
	minBefore, minAfter = 5, 3
	// window is the largest number of points that are searched for a change.
	window = 400
	// clip is the number of standard deviations with which a point counts at most.
	clip = 3
	// screen is the least distance of two levels, in standard errors, that is examined.
	screen = 4
	// significant is the p-value below which a change is confirmed. The tests measure the false
	// alarms that it leads to: about one in 100,000 points of independent noise.
	significant = 1e-5
	// undecided is the difference of two costs (minus twice the logarithm of a likelihood) below
	// which more points have to decide between a step and a slope, and patience the number of points
	// after which the difference alone decides.
	undecided, patience = 5, 40
	// extra is the cost of the second place that a slope has.
	extra = 4
)

// Fewest is the number of points that a series needs to have a change.
const Fewest = minBefore + minAfter

// Find returns the changes of a series of finite values, in order, and the number of points at its
// end that are far off the current level, all on one side, and too few to be a change.
func Find(points []Point) (changes []Change, unconfirmed int) {
	f := finder{points: points}
	for n := Fewest; n <= len(points); n++ {
		f.look(n)
	}
	return f.changes, f.unconfirmed()
}

// unconfirmed returns the number of points at the end that are off the current level.
func (f *finder) unconfirmed() int {
	n := len(f.points)
	for off := minBefore; off > 0; off-- {
		from := max(f.start, n-window)
		if n-off-from < f.least() {
			continue
		}
		f.measure(from, n-off)
		above, below := true, true
		for i := n - off; i < n; i++ {
			distance := (f.points[i].Value - f.center) / f.scale * math.Sqrt(f.weight(i))
			above, below = above && distance > clip, below && distance < -clip
		}
		if above || below {
			return off
		}
	}
	return 0
}

// finder holds the state of a search.
type finder struct {
	points  []Point
	changes []Change
	start   int // the first point of the current level
	// drifting reports whether the last change is a drift.
	drifting bool
	// center, scale and own describe the current level as of point sized: its median, its standard
	// deviation, and the first quartile of the points' own variances.
	center, scale, own float64
	sized              int
	// sums holds the running totals of the points, of which summed is the first, with this center and
	// scale.
	sums   []sums
	summed int
}

// sums are running totals of weighted values.
type sums struct{ weight, value float64 }

// look decides whether the first n points confirm a change that the first n-1 did not.
func (f *finder) look(n int) {
	from := max(f.start, n-window)
	if n-from < f.least()+minAfter {
		return
	}
	if f.sized < from+f.least() || n >= f.sized+1+(n-from)/32 {
		f.measure(from, n)
		f.sums, f.summed = append(f.sums[:0], sums{}), from
	}
	at, distance := f.farthest(from, n)
	if distance < screen {
		return
	}
	if c, ok := f.examine(from, at, n); ok {
		f.confirm(c, n)
	}
}

// least returns the number of points that the current level needs before a change: a level that
// confirmed a change needs no more.
func (f *finder) least() int {
	if len(f.changes) > 0 {
		return minAfter
	}
	return minBefore
}

// confirm adds a change and begins a new level.
func (f *finder) confirm(c Change, n int) {
	f.start, f.sized, f.drifting = c.High, 0, false
	if c.Kind == Drift {
		f.start, f.drifting = min(c.Until, n-minBefore), true
		if k := len(f.changes) - 1; k >= 0 {
			last := &f.changes[k]
			if last.Kind == Drift && last.Up == c.Up && c.At <= last.Until+patience {
				last.Until = c.Until
				return
			}
		}
	}
	f.changes = append(f.changes, c)
}

// farthest returns the place that separates the points [from, n) best into two levels, and the
// distance of the levels in standard errors.
func (f *finder) farthest(from, n int) (at int, distance float64) {
	f.add(n)
	all := f.sums[from-f.summed:]
	first, end := all[0], all[n-from]
	weight, value := end.weight-first.weight, end.value-first.value
	most := 0.0
	for k := f.least(); k <= n-from-minAfter; k++ {
		left := sums{all[k].weight - first.weight, all[k].value - first.value}
		right := weight - left.weight
		// The difference of the means times both weights:
		apart := value*left.weight - left.value*weight
		if square := apart * apart / (left.weight * right); square > most {
			most, at = square, from+k
		}
	}
	return at, math.Sqrt(most / weight)
}

// add extends the running totals to the first n points.
func (f *finder) add(n int) {
	total := f.sums[len(f.sums)-1]
	for i := f.summed + len(f.sums) - 1; i < n; i++ {
		w := f.weight(i)
		most := clip / math.Sqrt(w)
		total.weight += w
		total.value += w * min(max((f.points[i].Value-f.center)/f.scale, -most), most)
		f.sums = append(f.sums, total)
	}
}

// weight returns how much a point counts, at most 1. A point as precise as the better ones of its
// series, whose scatter is in the scale, counts fully.
func (f *finder) weight(i int) float64 {
	p := &f.points[i]
	excess := max(p.Error*p.Error+p.Doubt*p.Doubt-f.own, 0)
	return f.scale * f.scale / (f.scale*f.scale + excess)
}
