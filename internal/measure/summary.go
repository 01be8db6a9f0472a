package measure

import "math"

// MinBeyond is how many samples must lie beyond a percentile for it to be told.
const MinBeyond = 10

// Percentiles that a summary tells.
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
		s.Mean, s.Stddev, s.Max = known(h.Mean()), known(h.StdDev()), known(float64(h.Max()))
	}
	for i, p := range Percentiles {
		s.Percentiles[i] = percentile(h, succeeded, s.Count, p)
	}
	return s
}

// percentile is the smallest value with at least p percent of the samples at
// or below it (the nearest-rank definition).
func percentile(h *Histogram, succeeded, count uint64, p float64) Figure {
	// In tenths of a percent, so that the rank is exact.
	rank := (uint64(math.Round(p*10))*count + 999) / 1000
	switch {
	case count-rank < MinBeyond:
		return Figure{}
	case rank > succeeded:
		return Figure{Failed: true}
	}
	return known(float64(h.ValueAtQuantile(100 * (float64(rank) - 0.5) / float64(succeeded))))
}

// FailedFrom is the percentile from which operations due had failed; ok is
// false when none had.
func FailedFrom(succeeded, failed uint64) (p float64, ok bool) {
	if failed == 0 {
		return 0, false
	}
	return 100 * float64(succeeded) / float64(succeeded+failed), true
}
