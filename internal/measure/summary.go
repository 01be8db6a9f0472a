package measure

import "math"

// MinBeyond is the minimum number of samples that must be above a percentile. Otherwise the
// percentile is unknown.
const MinBeyond = 10

// Percentiles lists the percentiles in a summary.
var Percentiles = []float64{10, 25, 50, 75, 90, 95, 99, 99.9}

// Figure is one figure of a summary. Failed is set if the operation at the figure's rank failed, or
// if the figure includes failed operations. If the sample is too small for the figure, neither
// Failed nor Known is set.
type Figure struct {
	NS     float64
	Known  bool
	Failed bool
}

// knownFigure returns a known figure.
func knownFigure(ns float64) Figure { return Figure{NS: ns, Known: true} }

// Summary describes a distribution of times in nanoseconds.
type Summary struct {
	Count       uint64 // number of successes and failures
	Min         Figure
	Mean        Figure
	Stddev      Figure
	Percentiles [8]Figure // in the order of the package variable Percentiles
	Max         Figure
}

// Percentile returns the percentile p, which must be in the package variable Percentiles.
func (s Summary) Percentile(p float64) Figure {
	for i, q := range Percentiles {
		if q == p {
			return s.Percentiles[i]
		}
	}
	return Figure{}
}

// Summarize returns the summary of a distribution. Each failed operation counts as slower than any
// success. h may be nil.
func Summarize(h *Histogram, failed uint64) Summary {
	succeeded := Count(h)
	s := Summary{Count: succeeded + failed}
	if s.Count == 0 {
		return s
	}
	if succeeded > 0 {
		s.Min = knownFigure(float64(h.Min()))
	} else {
		s.Min = Figure{Failed: true}
	}
	if failed > 0 {
		s.Mean, s.Stddev, s.Max = Figure{Failed: true}, Figure{Failed: true}, Figure{Failed: true}
	} else {
		s.Mean, s.Stddev, s.Max = knownFigure(h.Mean()), knownFigure(h.StdDev()), Slowest(h, 0)
	}
	copy(s.Percentiles[:], PercentilesOf(h, failed, Percentiles...))
	return s
}

// Percentile returns the smallest value in h such that at least p percent of the samples are not
// larger than this value (nearest rank). Each failed operation counts as slower than any success. p
// may have at most three decimals. h may be nil.
//
// Example: with 95 successes and 5 failures, p90 is the time of the 90th success, and p99 is Failed
// because the sample with rank 99 is a failure.
func Percentile(h *Histogram, failed uint64, p float64) Figure {
	return PercentilesOf(h, failed, p)[0]
}

// PercentilesOf returns several percentiles in the given order. If the percentiles are in ascending
// order, it reads the histogram only once.
func PercentilesOf(h *Histogram, failed uint64, percentiles ...float64) []Figure {
	succeeded := Count(h)
	return percentilesOf(succeeded, failed, percentiles, func(ranks []uint64) []int64 {
		wanted := make([]float64, len(ranks))
		// the library rounds to the nearest rank, so it returns the value with exactly this rank
		for i, rank := range ranks {
			wanted[i] = 100 * float64(rank) / float64(succeeded)
		}
		return h.ValueAtPercentilesSlice(wanted)
	})
}

// DropUnsupported is used if the samples are not independent, because each group of `groupSize`
// samples has a common cause. It removes the percentiles for which the number of groups is too
// small. For example, a write with 10 watchers causes 10 events. So MinBeyond writes, and therefore
// 100 events, must be above a percentile of the events. `count` is the number of samples.
func DropUnsupported(figures []Figure, count, groupSize uint64, percentiles ...float64) []Figure {
	for i, p := range percentiles {
		if figures[i].Known && !supports(p, count, groupSize) {
			figures[i] = Figure{}
		}
	}
	return figures
}

// DropUnsupported removes the same percentiles from the summary as the function DropUnsupported.
func (s Summary) DropUnsupported(groupSize uint64) Summary {
	DropUnsupported(s.Percentiles[:], s.Count, groupSize, Percentiles...)
	return s
}

// Supports reports whether `count` samples are enough to show the percentile p: at least MinBeyond
// samples must be above p.
func Supports(p float64, count uint64) bool { return supports(p, count, 1) }

// supports reports whether at least MinBeyond groups of `groupSize` samples are above the
// percentile p.
func supports(p float64, count, groupSize uint64) bool {
	return count-rankOf(p, count) >= MinBeyond*groupSize
}

// rankOf returns the rank of the percentile p among `count` samples. Ranks start at 1. The
// computation uses thousandths of a percent, so that the result is exact.
func rankOf(p float64, count uint64) uint64 {
	return (uint64(math.Round(p*1000))*count + 99_999) / 100_000
}

// percentilesOf returns percentiles over all successes and failures. The function `valuesAtRanks`
// returns the values of the successes with the given ranks, which start at 1.
func percentilesOf(succeeded, failed uint64, percentiles []float64, valuesAtRanks func(ranks []uint64) []int64) []Figure {
	count := succeeded + failed
	figures := make([]Figure, len(percentiles))
	ranks, indexes := make([]uint64, 0, len(percentiles)), make([]int, 0, len(percentiles))
	for i, p := range percentiles {
		rank := rankOf(p, count)
		switch {
		// If more than MinBeyond operations failed, the highest percentile for which the sample is
		// large enough has the rank of a failed operation. So Failed is set for this percentile and
		// for all percentiles above it.
		case rank > succeeded && (failed > MinBeyond || Supports(p, count)):
			figures[i] = Figure{Failed: true}
		case Supports(p, count):
			ranks, indexes = append(ranks, rank), append(indexes, i)
		}
	}
	if len(ranks) > 0 {
		for k, v := range valuesAtRanks(ranks) {
			figures[indexes[k]] = knownFigure(float64(v))
		}
	}
	return figures
}

// Slowest returns the largest value in h. If an operation failed, Failed is set in the figure.
// Otherwise, if h is nil or empty, the figure is unknown.
func Slowest(h *Histogram, failed uint64) Figure {
	switch {
	case failed > 0:
		return Figure{Failed: true}
	case Count(h) == 0:
		return Figure{}
	}
	return knownFigure(float64(h.ValueAtPercentile(100)))
}

// FirstFailedPercentile returns the percentile above which all operations failed. It returns false
// if no operation failed.
func FirstFailedPercentile(succeeded, failed uint64) (p float64, ok bool) {
	if failed == 0 {
		return 0, false
	}
	return 100 * float64(succeeded) / float64(succeeded+failed), true
}
