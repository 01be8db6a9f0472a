package measure

import (
	"math/bits"
	"slices"
)

// Steps is a histogram that stores only non-empty steps (buckets). It takes a few KiB, whereas a
// Histogram takes 240 KiB. Histograms that were read from a file have this form.
//
// Example: two times of 100 ns and one time of 1 ms are the steps {12, 2} and {8097, 1}.
//
// Invariant: NonEmpty is sorted by Index, and each Count is positive.
type Steps struct {
	NonEmpty []Step // in ascending order of Index
}

// Step is the step of a histogram with the number Index. Count is how many recorded times are in
// this step. These times are at least StepStart(Index) and less than StepStart(Index+1).
type Step struct {
	Index int
	Count int64
}

// NonEmptySteps returns the non-empty steps of a histogram.
func NonEmptySteps(h *Histogram) (s Steps) {
	eachStep(h, func(at int, n int64) { s.NonEmpty = append(s.NonEmpty, Step{at, n}) })
	return s
}

// maxQueriedTimes is the maximum number of recorded times in a histogram for which eachStep queries
// these times one by one. If a histogram contains more times, eachStep copies all counts, which
// takes 240 KB.
const maxQueriedTimes = 256

// eachStep calls `each` for every non-empty step of a histogram, in ascending order.
//
// The library gives access to the counts only by copying all of them. If a histogram is small (see
// maxQueriedTimes), eachStep avoids the copy: it queries each recorded time individually, as a
// percentile. For example, it reads the four values of a histogram as the percentiles 25, 50, 75
// and 100.
func eachStep(h *Histogram, each func(at int, n int64)) {
	total := h.TotalCount()
	if total > maxQueriedTimes {
		for at, n := range h.Export().Counts {
			if n > 0 {
				each(at, n)
			}
		}
		return
	}
	// the percentiles that correspond to the first time, the second time, and so on
	shares := make([]float64, total)
	for i := range shares {
		shares[i] = 100 * float64(i+1) / float64(total)
	}
	last, n := -1, int64(0)
	for _, value := range h.ValueAtPercentilesSlice(shares) {
		if at := stepNumber(value); at != last {
			if n > 0 {
				each(last, n)
			}
			last, n = at, 0
		}
		n++
	}
	if n > 0 {
		each(last, n)
	}
}

// Clone returns a copy that shares no memory with s.
func (s *Steps) Clone() Steps { return Steps{slices.Clone(s.NonEmpty)} }

// Total returns the number of times.
func (s *Steps) Total() (n int64) {
	for _, one := range s.NonEmpty {
		n += one.Count
	}
	return n
}

// AddTo adds the times to a histogram, and returns the histogram. If target is nil, it creates a
// new histogram.
func (s *Steps) AddTo(target *Histogram) *Histogram {
	if target == nil {
		target = NewHistogram()
	}
	for _, one := range s.NonEmpty {
		// cannot fail, because the value is a valid step
		_ = target.RecordValues(StepStart(one.Index), one.Count)
	}
	return target
}

// Add adds the times in a histogram, which may be nil.
func (s *Steps) Add(source *Histogram) {
	if Count(source) == 0 {
		return
	}
	more := NonEmptySteps(source).NonEmpty
	all := make([]Step, 0, len(s.NonEmpty)+len(more))
	for _, old := range s.NonEmpty {
		for ; len(more) > 0 && more[0].Index < old.Index; more = more[1:] {
			all = append(all, more[0])
		}
		if len(more) > 0 && more[0].Index == old.Index {
			old.Count += more[0].Count
			more = more[1:]
		}
		all = append(all, old)
	}
	s.NonEmpty = slices.Clip(append(all, more...))
}

// Histogram returns a new histogram that contains the times, or nil if s is empty.
func (s *Steps) Histogram() *Histogram {
	if s.Total() == 0 {
		return nil
	}
	return s.AddTo(nil)
}

// Sum is the sum of many Steps. Adding Steps to a Sum is much cheaper than adding them to a
// Histogram. A Sum may be reset and reused.
//
// Invariant: total is the sum of counts, and all counts above last are 0.
type Sum struct {
	counts []int64 // by step
	last   int     // all steps above this one have a count of 0
	total  int64
}

// maxSum limits the total. It is far above the counts of any run. If a damaged file exceeds the
// limit, the excess is ignored.
const maxSum = 1 << 62

// Add adds the given times.
func (s *Sum) Add(source *Steps) {
	if len(source.NonEmpty) == 0 {
		return
	}
	if s.counts == nil {
		s.counts = make([]int64, NumSteps)
	}
	for _, one := range source.NonEmpty {
		if one.Count > maxSum-s.total {
			break
		}
		s.counts[one.Index] += one.Count
		s.total += one.Count
	}
	s.last = max(s.last, source.NonEmpty[len(source.NonEmpty)-1].Index)
}

// Merge adds the times of another sum.
func (s *Sum) Merge(source *Sum) {
	if source.total == 0 || source.total > maxSum-s.total {
		return
	}
	if s.counts == nil {
		s.counts = make([]int64, NumSteps)
	}
	for at, n := range source.counts[:source.last+1] {
		s.counts[at] += n
	}
	s.total += source.total
	s.last = max(s.last, source.last)
}

// Reset removes all times.
func (s *Sum) Reset() {
	if s.total > 0 {
		clear(s.counts[:s.last+1])
	}
	s.last, s.total = 0, 0
}

// Total returns the number of times.
func (s *Sum) Total() int64 { return s.total }

// CountAtLeast returns how many recorded times are at least `ns` nanoseconds, or are in the same
// step as `ns`.
func (s *Sum) CountAtLeast(ns int64) (n int64) {
	if s.total > 0 {
		for at := s.last; at >= 0 && StepStart(at+1) > ns; at-- {
			n += s.counts[at]
		}
	}
	return n
}

// Histogram returns a new histogram that contains the times.
func (s *Sum) Histogram() *Histogram {
	steps := Steps{}
	for at, n := range s.counts {
		if n > 0 {
			steps.NonEmpty = append(steps.NonEmpty, Step{at, n})
		}
	}
	return steps.AddTo(nil)
}

// PercentilesOf returns the percentiles that the function PercentilesOf returns for the sum's
// Histogram.
func (s *Sum) PercentilesOf(failed uint64, percentiles ...float64) []Figure {
	return percentilesOf(uint64(s.total), failed, percentiles, s.valuesAtRanks)
}

// Fastest returns the smallest time. The figure is unknown if the sum is empty.
func (s *Sum) Fastest() Figure {
	if s.total == 0 {
		return Figure{}
	}
	at := slices.IndexFunc(s.counts, func(n int64) bool { return n > 0 })
	return knownFigure(float64(StepStart(at)))
}

// Slowest returns the value that the function Slowest returns for the sum's Histogram.
func (s *Sum) Slowest(failed uint64) Figure {
	switch {
	case failed > 0:
		return Figure{Failed: true}
	case s.total == 0:
		return Figure{}
	}
	at := s.last
	for s.counts[at] == 0 {
		at--
	}
	return knownFigure(float64(StepStart(at+1) - 1))
}

// valuesAtRanks returns, for each of the given ranks, the highest value in the step that contains
// the time with this rank. Ranks start at 1.
func (s *Sum) valuesAtRanks(ranks []uint64) []int64 {
	values := make([]int64, len(ranks))
	at, cumulative := -1, uint64(0) // cumulative: sum of the counts of all steps up to `at`
	for i, rank := range ranks {
		if i > 0 && rank < ranks[i-1] {
			at, cumulative = -1, 0
		}
		for ; cumulative < rank && at < s.last; cumulative += uint64(s.counts[at]) {
			at++
		}
		if cumulative >= rank {
			values[i] = StepStart(at+1) - 1
		}
	}
	return values
}

// The first 1<<subBuckets steps have the width Lowest. After these steps, the width doubles
// whenever the values double.
const (
	unitShift   = 3 // the width of the first steps is 1<<unitShift
	subBuckets  = 11
	halfBuckets = 1 << (subBuckets - 1)
)

// NumSteps is the number of steps in a histogram.
const NumSteps = 30_720

// StepStart returns the lowest value in step i of a histogram. The first step is 0.
func StepStart(i int) int64 {
	if i < halfBuckets {
		return int64(i) << unitShift
	}
	return int64(i%halfBuckets+halfBuckets) << (i/halfBuckets - 1 + unitShift)
}

// StepFloor returns the lowest value in the step to which `ns` belongs.
func StepFloor(ns int64) int64 {
	ns = inRange(ns)
	shift := max(bits.Len64(uint64(ns))-subBuckets, unitShift)
	return ns >> shift << shift
}

// stepNumber returns the number of the step to which a valid value belongs.
func stepNumber(ns int64) int {
	shift := bits.Len64(uint64(ns)|(1<<(subBuckets+unitShift)-1)) - subBuckets // at least unit
	return (shift-unitShift)*halfBuckets + int(ns>>(shift&63))
}

// Mean returns the mean time, with the precision of the steps. It returns NaN if the sum is empty.
func (s *Sum) Mean() float64 {
	sum := 0.0
	for at := range min(s.last+1, len(s.counts)) {
		if n := s.counts[at]; n > 0 {
			// use the middle of the step, as the library does
			sum += float64(n) * float64((StepStart(at)+StepStart(at+1))/2)
		}
	}
	return sum / float64(s.total)
}
