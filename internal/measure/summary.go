package measure

import "math"

// MinBeyond is how many samples must lie beyond a percentile for it to be shown.
const MinBeyond = 10

// Percentiles that a summary has.
var Percentiles = []float64{10, 25, 50, 75, 90, 95, 99, 99.9}

// Figure is one figure of a summary. A percentile that lands on a failed
// operation has Failed; one that the sample does not support has neither
// Failed nor Known.
type Figure struct {
	NS     float64
	Known  bool
	Failed bool
}

func known(ns float64) Figure { return Figure{NS: ns, Known: true} }

// Summary describes a distribution of times in nanoseconds.
type Summary struct {
	Count       uint64 // successes and failures
	Min         Figure
	Mean        Figure
	Stddev      Figure
	Percentiles [8]Figure // as Percentiles names them
	Max         Figure
}

// At returns the percentile p of Percentiles.
func (s Summary) At(p float64) Figure {
	for i, q := range Percentiles {
		if q == p {
			return s.Percentiles[i]
		}
	}
	return Figure{}
}

// Summarize describes h together with failed operations, each of which counts
// as slower than any success. h may be nil.
func Summarize(h *Histogram, failed uint64) Summary {
	var succeeded uint64
	if h != nil {
		succeeded = uint64(h.TotalCount())
	}
	s := Summary{Count: succeeded + failed}
	if s.Count == 0 {
		return s
	}
	if succeeded > 0 {
		s.Min = known(float64(h.Min()))
	} else {
		s.Min = Figure{Failed: true}
	}
	if failed > 0 {
		s.Mean, s.Stddev, s.Max = Figure{Failed: true}, Figure{Failed: true}, Figure{Failed: true}
	} else {
		s.Mean, s.Stddev, s.Max = known(h.Mean()), known(h.StdDev()), Slowest(h, 0)
	}
	copy(s.Percentiles[:], PercentilesOf(h, failed, Percentiles...))
	return s
}

// Percentile is the smallest value of h with at least p percent of the samples
// at or below it (the nearest-rank definition), where so many failed operations
// count as slower than any success. p has three decimals at most. h may be nil.
func Percentile(h *Histogram, failed uint64, p float64) Figure {
	return PercentilesOf(h, failed, p)[0]
}

// PercentilesOf is Percentile of several at once, in the order given: one walk
// through the histogram when they rise.
func PercentilesOf(h *Histogram, failed uint64, percentiles ...float64) []Figure {
	var succeeded uint64
	if h != nil {
		succeeded = uint64(h.TotalCount())
	}
	return percentilesOf(succeeded, failed, percentiles, func(ranks []uint64) []int64 {
		wanted := make([]float64, len(ranks))
		for i, rank := range ranks { // the library rounds to the nearest rank, so that this one is exact
			wanted[i] = 100 * float64(rank) / float64(succeeded)
		}
		return h.ValueAtPercentilesSlice(wanted)
	})
}

// Grouped returns figures at percentiles of count samples, of which each share a cause as
// the events of one write at several watchers do, without those that fewer than MinBeyond
// causes lie beyond.
func Grouped(figures []Figure, count, each uint64, percentiles ...float64) []Figure {
	for i, p := range percentiles {
		if figures[i].Known && !supports(p, count, each) {
			figures[i] = Figure{}
		}
	}
	return figures
}

// Grouped returns the summary with the percentiles that Grouped leaves.
func (s Summary) Grouped(each uint64) Summary {
	Grouped(s.Percentiles[:], s.Count, each, Percentiles...)
	return s
}

// Supports reports whether a percentile of count samples may be shown: MinBeyond of them
// must lie beyond it.
func Supports(p float64, count uint64) bool { return supports(p, count, 1) }

func supports(p float64, count, each uint64) bool { return count-rankOf(p, count) >= MinBeyond*each }

// rankOf returns the rank of a percentile, from 1, in thousandths of a percent so that it
// is exact.
func rankOf(p float64, count uint64) uint64 {
	return (uint64(math.Round(p*1000))*count + 99_999) / 100_000
}

// percentilesOf are percentiles of so many operations; at has the values of those
// that succeeded at ranks, which count from 1.
func percentilesOf(succeeded, failed uint64, percentiles []float64, at func(ranks []uint64) []int64) []Figure {
	count := succeeded + failed
	figures := make([]Figure, len(percentiles))
	ranks, places := make([]uint64, 0, len(percentiles)), make([]int, 0, len(percentiles))
	for i, p := range percentiles {
		rank := rankOf(p, count)
		switch {
		// The highest percentile that the sample supports lies on a failure when
		// more than MinBeyond failed, and so do all above it.
		case rank > succeeded && (failed > MinBeyond || Supports(p, count)):
			figures[i] = Figure{Failed: true}
		case Supports(p, count):
			ranks, places = append(ranks, rank), append(places, i)
		}
	}
	if len(ranks) > 0 {
		for k, v := range at(ranks) {
			figures[places[k]] = known(float64(v))
		}
	}
	return figures
}

// Slowest is the largest value of h; not known when it is empty, and failed
// when operations did. h may be nil.
func Slowest(h *Histogram, failed uint64) Figure {
	switch {
	case failed > 0:
		return Figure{Failed: true}
	case h == nil || h.TotalCount() == 0:
		return Figure{}
	}
	return known(float64(h.ValueAtPercentile(100)))
}

// FailedFrom is the percentile from which operations due had failed; ok is
// false when none had.
func FailedFrom(succeeded, failed uint64) (p float64, ok bool) {
	if failed == 0 {
		return 0, false
	}
	return 100 * float64(succeeded) / float64(succeeded+failed), true
}
