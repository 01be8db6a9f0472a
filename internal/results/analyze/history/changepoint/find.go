package changepoint

import (
	"math"
)

// Point is one value of a series. Values must be on an additive scale, for example logarithms.
type Point struct {
	Value float64
	// Error is the standard error of the value, or 0 if it is unknown.
	Error float64
	// PossibleEffect is the amount by which a disturbance may have changed the value, or 0 if
	// nothing disturbed it.
	PossibleEffect float64
}

// Kind is the shape of a change.
type Kind uint8

// The kinds.
const (
	Step  Kind = iota // the level changes from one point to the next
	Drift             // the level changes gradually
)

// Change is a change of the level. If points are appended to the series, the fields stay the same,
// except that a drift that continues is extended.
type Change struct {
	Kind Kind
	// Index is the index of the first point of the new level. For a drift, it is the index of the
	// first point of the drift.
	Index int
	// Low and High are the ends of the 95 % confidence interval of Index. For a drift, both equal
	// Index.
	Low, High int
	// LastDriftIndex is the index of the last known point of a drift. For a step, it equals Index.
	LastDriftIndex int
	// Rises reports whether the level rose.
	Rises bool
	// ConfirmedBy is the index of the point that confirmed the change.
	ConfirmedBy int
	// PValue is the probability that noise alone looks like this change in the same number of
	// points.
	PValue float64
}

const (
	// minBefore and minAfter are the minimum numbers of points of the levels before and after a
	// change.
	minBefore, minAfter = 5, 3
	// window is the maximum number of points in which the search looks for a change.
	window = 400
	// clip limits the distance of a point from its level, in standard deviations.
	clip = 3
	// screen is the minimum distance between two levels, in standard errors, for which the method
	// `examine` is called.
	screen = 4
	// significant is the p-value below which a change is confirmed. The tests measure the resulting
	// rate of false alarms: about one in 100,000 points of independent noise.
	significant = 1e-5
	// undecided is a difference between the cost of a step and the cost of a slope. (A cost is
	// minus twice a log-likelihood.) If the actual difference is smaller, the search waits for more
	// points before it decides between the two. After `patience` points, it chooses the lower cost,
	// however small the difference is.
	undecided, patience = 5, 40
	// extra is the additional cost of a slope, because a slope has two positions (start and end)
	// and a step has only one.
	extra = 4
)

// MinPoints is the minimum number of points of a series with a change.
const MinPoints = minBefore + minAfter

// Find returns the changes of a series of finite values, in order. The result `unconfirmed` is the
// number of points at the end of the series that are all far above or all far below the current
// level, but are too few to be a change.
func Find(points []Point) (changes []Change, unconfirmed int) {
	f := finder{points: points}
	for n := MinPoints; n <= len(points); n++ {
		f.examineNewest(n)
	}
	return f.changes, f.unconfirmed()
}

// unconfirmed returns the number of points at the end of the series that are far from the current
// level, all on the same side of it.
func (f *finder) unconfirmed() int {
	n := len(f.points)
	for off := minBefore; off > 0; off-- {
		from := max(f.start, n-window)
		if n-off-from < f.minPoints() {
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
	start   int // index of the first point of the current level
	// inDrift is set if the last change is a drift.
	inDrift bool
	// center, scale and lowQuartileVariance describe the current level: its median, its standard
	// deviation, and the first quartile of the points' own variances. They were computed from the
	// points before the index `measuredPoints`.
	center, scale, lowQuartileVariance float64
	measuredPoints                     int
	// sums holds the running totals of the points, starting at the index `summed`. Their values are
	// relative to center, in units of scale.
	sums   []sums
	summed int
}

// sums holds the running totals of the weights and of the weighted values.
type sums struct{ weight, value float64 }

// examineNewest decides whether the first n points confirm a change that the first n-1 points did
// not confirm.
func (f *finder) examineNewest(n int) {
	from := max(f.start, n-window)
	if n-from < f.minPoints()+minAfter {
		return
	}
	if f.measuredPoints < from+f.minPoints() || n >= f.measuredPoints+1+(n-from)/32 {
		f.measure(from, n)
		f.sums, f.summed = append(f.sums[:0], sums{}), from
	}
	at, distance := f.bestSplit(from, n)
	if distance < screen {
		return
	}
	if c, ok := f.examine(from, at, n); ok {
		f.confirm(c, n)
	}
}

// minPoints returns the minimum number of points of the current level before the next change. If
// the level began with a change, minAfter points suffice, because they were sufficient to confirm
// that change.
func (f *finder) minPoints() int {
	if len(f.changes) > 0 {
		return minAfter
	}
	return minBefore
}

// confirm adds a change, or extends the previous drift, and begins a new level.
func (f *finder) confirm(c Change, n int) {
	f.start, f.measuredPoints, f.inDrift = c.High, 0, false
	if c.Kind == Drift {
		f.start, f.inDrift = min(c.LastDriftIndex, n-minBefore), true
		if k := len(f.changes) - 1; k >= 0 {
			last := &f.changes[k]
			if last.Kind == Drift && last.Rises == c.Rises && c.Index <= last.LastDriftIndex+patience {
				last.LastDriftIndex = c.LastDriftIndex
				return
			}
		}
	}
	f.changes = append(f.changes, c)
}

// bestSplit returns the index that best separates the points [from, n) into two levels, and the
// distance between these levels in standard errors.
func (f *finder) bestSplit(from, n int) (at int, distance float64) {
	f.add(n)
	all := f.sums[from-f.summed:]
	first, end := all[0], all[n-from]
	weight, value := end.weight-first.weight, end.value-first.value
	most := 0.0
	for k := f.minPoints(); k <= n-from-minAfter; k++ {
		left := sums{all[k].weight - first.weight, all[k].value - first.value}
		right := weight - left.weight
		// apart is the difference of the two means, multiplied by both weights
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

// weight returns the weight of a point, which is at most 1. A point has the full weight if it is as
// precise as the more precise points of its level, because the scale already includes their
// scatter.
func (f *finder) weight(i int) float64 {
	p := &f.points[i]
	excess := max(p.Error*p.Error+p.PossibleEffect*p.PossibleEffect-f.lowQuartileVariance, 0)
	return f.scale * f.scale / (f.scale*f.scale + excess)
}
