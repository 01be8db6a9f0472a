package measure

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// Lowest and Highest are the range of every histogram, in nanoseconds, and Digits is its number
// of significant digits.
//
// Lowest is also the width of the steps below 16 µs: 8 ns are 0.8 % of 1 µs. From 8 µs
// upwards a step is at most 0.1 % of its value. A histogram has 30,720 counts of 8 bytes, 240
// KiB. With a Lowest of 1 it would take 264 KiB.
const (
	Lowest  = 8
	Highest = 3_600_000_000_000 // 1 h
	Digits  = 3
)

// Histogram is an HDR histogram of times in nanoseconds between Lowest and Highest.
type Histogram = hdr.Histogram

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return hdr.New(Lowest, Highest, Digits) }

// Add adds from to into without changing from. It returns into, or a new histogram if into is
// nil. from may be nil.
func Add(into, from *Histogram) *Histogram {
	if from == nil {
		return into
	}
	if into == nil {
		into = NewHistogram()
	}
	into.Merge(from)
	return into
}

// Record adds one value. A value outside the range counts at the end of the range, so that no
// value is lost.
func Record(h *Histogram, ns int64) {
	_ = h.RecordValue(inRange(ns)) // cannot fail
}

// RecordAll adds a value several times, at the cost of once.
func RecordAll(h *Histogram, ns int64, times uint64) {
	_ = h.RecordValues(inRange(ns), int64(times)) // cannot fail
}

// inRange limits a value to the range of a histogram.
func inRange(ns int64) int64 { return min(max(ns, 0), Highest) }
