package measure

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// Lowest and Highest are the smallest and the largest time of every histogram, in nanoseconds.
// Digits is the number of significant digits.
//
// Lowest is also the width of the steps below 16 µs. For a time of 1 µs, a step of 8 ns is 0.8 % of
// the time. For times of at least 8 µs, the width of a step is at most 0.1 % of the time. A
// histogram has 30,720 counts of 8 bytes, which take 240 KiB. If Lowest were 1, a histogram would
// take 264 KiB.
const (
	Lowest  = 8
	Highest = 3_600_000_000_000 // one hour
	Digits  = 3
)

// Histogram is an HDR histogram of times in nanoseconds between Lowest and Highest.
type Histogram = hdr.Histogram

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return hdr.New(Lowest, Highest, Digits) }

// Add adds the times in src to dst, and returns dst. If dst is nil, Add creates a new histogram.
// src may be nil, and is not changed.
func Add(dst, src *Histogram) *Histogram {
	if src == nil {
		return dst
	}
	if dst == nil {
		dst = NewHistogram()
	}
	dst.Merge(src)
	return dst
}

// Count returns the number of times in h, which may be nil.
func Count(h *Histogram) uint64 {
	if h == nil {
		return 0
	}
	return uint64(h.TotalCount())
}

// Record adds one measured time, in nanoseconds, to the histogram. A time outside the range is
// counted at the nearer end of the range, so that no time is lost.
func Record(h *Histogram, ns int64) {
	_ = h.RecordValue(inRange(ns)) // cannot fail, because inRange limits the value
}

// RecordAll has the effect of `times` calls of Record with the same time, at the cost of a single
// call.
func RecordAll(h *Histogram, ns int64, times uint64) {
	_ = h.RecordValues(inRange(ns), int64(times)) // cannot fail, because inRange limits the value
}

// inRange limits a time to the range of a histogram.
func inRange(ns int64) int64 { return min(max(ns, 0), Highest) }
