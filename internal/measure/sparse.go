package measure

import (
	"math/bits"
	"slices"
)

// Steps is a histogram without the steps that nothing fell into: a few KiB where
// a Histogram has 240. It is what histograms are while they come from a file.
type Steps struct {
	All []Step // in rising order
}

// Step counts the times of the At-th step of NewHistogram's histograms: those from
// StepAt(At) to below StepAt(At+1).
type Step struct {
	At int
	N  int64
}

// StepsOf returns the steps of a histogram of NewHistogram into which something fell.
func StepsOf(h *Histogram) (s Steps) {
	eachStep(h, func(at int, n int64) { s.All = append(s.All, Step{at, n}) })
	return s
}

// few is up to how many times of a histogram are looked for one by one: to look through
// all of its steps takes a copy of 240 KB.
const few = 256

// eachStep tells the steps of a histogram into which something fell, from the lowest on.
func eachStep(h *Histogram, each func(at int, n int64)) {
	total := h.TotalCount()
	if total > few {
		for at, n := range h.Export().Counts {
			if n > 0 {
				each(at, n)
			}
		}
		return
	}
	shares := make([]float64, total) // in percent: of the first time, of two, and so on
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

// Clone is a copy in memory of its own.
func (s *Steps) Clone() Steps { return Steps{slices.Clone(s.All)} }

// Total is how many times there are.
func (s *Steps) Total() (n int64) {
	for _, one := range s.All {
		n += one.N
	}
	return n
}

// AddTo adds the times to a histogram and returns the sum, as Add does.
func (s *Steps) AddTo(into *Histogram) *Histogram {
	if into == nil {
		into = NewHistogram()
	}
	for _, one := range s.All {
		_ = into.RecordValues(StepAt(one.At), one.N) // cannot fail
	}
	return into
}

// Add adds the times of a histogram of NewHistogram; from may be nil.
func (s *Steps) Add(from *Histogram) {
	if from == nil || from.TotalCount() == 0 {
		return
	}
	more := StepsOf(from).All
	all := make([]Step, 0, len(s.All)+len(more))
	for _, old := range s.All {
		for ; len(more) > 0 && more[0].At < old.At; more = more[1:] {
			all = append(all, more[0])
		}
		if len(more) > 0 && more[0].At == old.At {
			old.N += more[0].N
			more = more[1:]
		}
		all = append(all, old)
	}
	s.All = slices.Clip(append(all, more...))
}

// Histogram is a new one with the times; nil without any.
func (s *Steps) Histogram() *Histogram {
	if s.Total() == 0 {
		return nil
	}
	return s.AddTo(nil)
}

// Sum adds up histograms that come as steps, at a fraction of what a Histogram
// takes for it. It is used again and again.
type Sum struct {
	counts []int64 // by step
	last   int     // the highest step that may have any
	total  int64
}

// mostSummed is far above what any run counts: what a damaged file has beyond it
// is dropped.
const mostSummed = 1 << 62

// Add adds the times of a histogram.
func (s *Sum) Add(from *Steps) {
	if len(from.All) == 0 {
		return
	}
	if s.counts == nil {
		s.counts = make([]int64, NumSteps)
	}
	for _, one := range from.All {
		if one.N > mostSummed-s.total {
			break
		}
		s.counts[one.At] += one.N
		s.total += one.N
	}
	s.last = max(s.last, from.All[len(from.All)-1].At)
}

// Merge adds the times of another sum.
func (s *Sum) Merge(from *Sum) {
	if from.total == 0 || from.total > mostSummed-s.total {
		return
	}
	if s.counts == nil {
		s.counts = make([]int64, NumSteps)
	}
	for at, n := range from.counts[:from.last+1] {
		s.counts[at] += n
	}
	s.total += from.total
	s.last = max(s.last, from.last)
}

// Reset makes it empty.
func (s *Sum) Reset() {
	if s.total > 0 {
		clear(s.counts[:s.last+1])
	}
	s.last, s.total = 0, 0
}

// Total is how many times there are.
func (s *Sum) Total() int64 { return s.total }

// From is how many times are at least so long, in nanoseconds, as far as the steps
// tell: the step that the bound lies in counts.
func (s *Sum) From(ns int64) (n int64) {
	if s.total > 0 {
		for at := s.last; at >= 0 && StepAt(at+1) > ns; at-- {
			n += s.counts[at]
		}
	}
	return n
}

// Histogram is the sum as one, .
func (s *Sum) Histogram() *Histogram {
	own := Steps{}
	for at, n := range s.counts {
		if n > 0 {
			own.All = append(own.All, Step{at, n})
		}
	}
	return own.AddTo(nil)
}

// PercentilesOf is that of the sum's Histogram.
func (s *Sum) PercentilesOf(failed uint64, percentiles ...float64) []Figure {
	return percentilesOf(uint64(s.total), failed, percentiles, s.atRanks)
}

// Fastest is the least time; not known without any.
func (s *Sum) Fastest() Figure {
	if s.total == 0 {
		return Figure{}
	}
	at := slices.IndexFunc(s.counts, func(n int64) bool { return n > 0 })
	return known(float64(StepAt(at)))
}

// Slowest is that of the sum's Histogram.
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
	return known(float64(StepAt(at+1) - 1))
}

// atRanks are the highest values of the steps in which the operations of the given
// ranks lie, which count from 1.
func (s *Sum) atRanks(ranks []uint64) []int64 {
	values := make([]int64, len(ranks))
	at, upTo := -1, uint64(0) // upTo is how many lie in the steps up to at
	for i, rank := range ranks {
		if i > 0 && rank < ranks[i-1] {
			at, upTo = -1, 0
		}
		for ; upTo < rank && at < s.last; upTo += uint64(s.counts[at]) {
			at++
		}
		if upTo >= rank {
			values[i] = StepAt(at+1) - 1
		}
	}
	return values
}

// A step is Lowest up to the first 1<<subBuckets of them, and from there on
// doubles wherever the values do.
const (
	unit       = 3 // as powers of two
	subBuckets = 11
	half       = 1 << (subBuckets - 1)
)

// NumSteps is how many steps the histograms of NewHistogram have.
const NumSteps = 30_720

// StepAt is the lowest value of the i-th step, from 0 on, of NewHistogram's
// histograms.
func StepAt(i int) int64 {
	if i < half {
		return int64(i) << unit
	}
	return int64(i%half+half) << (i/half - 1 + unit)
}

// StepOf is the lowest of the values that NewHistogram's histograms count where
// they count ns.
func StepOf(ns int64) int64 {
	ns = inRange(ns)
	shift := max(bits.Len64(uint64(ns))-subBuckets, unit)
	return ns >> shift << shift
}

// stepNumber is which step a value is in, that NewHistogram's histograms count.
func stepNumber(ns int64) int {
	shift := bits.Len64(uint64(ns)|(1<<(subBuckets+unit)-1)) - subBuckets // unit at least
	return (shift-unit)*half + int(ns>>(shift&63))
}

// Mean is the mean time, to the width of a step; NaN without any.
func (s *Sum) Mean() float64 {
	sum := 0.0
	for at := range min(s.last+1, len(s.counts)) {
		if n := s.counts[at]; n > 0 {
			sum += float64(n) * float64((StepAt(at)+StepAt(at+1))/2) // as the library has it
		}
	}
	return sum / float64(s.total)
}
