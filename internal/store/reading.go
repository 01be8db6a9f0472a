package store

import (
	"math"
	"sort"
)

// Sample is what a member reported at one time, in seconds and bytes.
type Sample map[Metric]Reading

// Since is what happened between an earlier sample and this one; gauges are
// those of this one.
func (s Sample) Since(before Sample) Sample {
	d := make(Sample, len(s))
	for metric, r := range s {
		if metric.Gauge() {
			d[metric] = r
		} else {
			d[metric] = r.Since(before[metric])
		}
	}
	return d
}

// Reading is one metric at one time, or what happened between two.
type Reading struct {
	Value      float64 // of a counter or a gauge
	Sum, Count float64 // of a timer
	// Buckets of a timer, by their upper bounds, each holding those below it;
	// empty where the store has none.
	Buckets []Bucket
}

// Bucket counts the times up to Upper, in seconds; the last one's is infinite.
type Bucket struct{ Upper, Count float64 }

// Mean is a timer's mean; ok is false where nothing was timed.
func (r Reading) Mean() (mean float64, ok bool) {
	if r.Count <= 0 {
		return 0, false
	}
	return r.Sum / r.Count, true
}

// Since is what happened to a counter or a timer since an earlier reading. A
// member that restarted meanwhile began again at 0: what it reports now is
// all that is known to have happened.
func (r Reading) Since(before Reading) Reading {
	if r.Value < before.Value || r.Count < before.Count {
		return r
	}
	d := Reading{Value: r.Value - before.Value, Sum: r.Sum - before.Sum, Count: r.Count - before.Count}
	if len(before.Buckets) == 0 {
		d.Buckets = r.Buckets
		return d
	}
	for _, b := range r.Buckets {
		d.Buckets = append(d.Buckets, Bucket{b.Upper, b.Count - below(before.Buckets, b.Upper)})
	}
	return d
}

// below is how many times were at or below a bound that buckets name, or the
// nearest one under it.
func below(buckets []Bucket, upper float64) float64 {
	i := sort.Search(len(buckets), func(i int) bool { return buckets[i].Upper > upper })
	if i == 0 {
		return 0
	}
	return buckets[i-1].Count
}

// Quantile is the time with the share q of all at or below it, interpolated
// within its bucket as PromQL's histogram_quantile does. Beyond the last finite
// bound it is that bound. ok is false without buckets or times.
func (r Reading) Quantile(q float64) (seconds float64, ok bool) {
	if len(r.Buckets) < 2 || r.Count <= 0 {
		return 0, false
	}
	rank := q * r.Count
	i := sort.Search(len(r.Buckets)-1, func(i int) bool { return r.Buckets[i].Count >= rank })
	if i == len(r.Buckets)-1 && math.IsInf(r.Buckets[i].Upper, 1) {
		return r.Buckets[i-1].Upper, true
	}
	lower, under := 0.0, 0.0
	if i > 0 {
		lower, under = r.Buckets[i-1].Upper, r.Buckets[i-1].Count
	}
	b := r.Buckets[i]
	if b.Count <= under {
		return b.Upper, true
	}
	return lower + (b.Upper-lower)*(rank-under)/(b.Count-under), true
}

// Longest returns the bounds of the bucket with the longest time: it took more than lower
// and at most upper seconds. ok is false without buckets or times.
func (r Reading) Longest() (lower, upper float64, ok bool) {
	if len(r.Buckets) == 0 || r.Count <= 0 {
		return 0, 0, false
	}
	i := sort.Search(len(r.Buckets)-1, func(i int) bool { return r.Buckets[i].Count >= r.Count })
	if i > 0 {
		lower = r.Buckets[i-1].Upper
	}
	return lower, r.Buckets[i].Upper, true
}

// Plus adds another series of the same metric.
func (r Reading) Plus(o Reading) Reading {
	sum := Reading{Value: r.Value + o.Value, Sum: r.Sum + o.Sum, Count: r.Count + o.Count}
	switch {
	case len(r.Buckets) == 0:
		sum.Buckets = o.Buckets
	case len(o.Buckets) == 0:
		sum.Buckets = r.Buckets
	default:
		for _, b := range r.Buckets {
			sum.Buckets = append(sum.Buckets, Bucket{b.Upper, b.Count + below(o.Buckets, b.Upper)})
		}
	}
	return sum
}

// Scaled puts a reading into other units.
func (r Reading) Scaled(unit float64) Reading {
	s := Reading{Value: r.Value * unit, Sum: r.Sum * unit, Count: r.Count}
	for _, b := range r.Buckets {
		s.Buckets = append(s.Buckets, Bucket{b.Upper * unit, b.Count})
	}
	return s
}
