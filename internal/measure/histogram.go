package measure

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// The range of every histogram, in nanoseconds, and its significant digits.
//
// Lowest is the step of the shortest times: 8 ns are 0.8 % of 1 µs. From 8 µs
// up a step is 0.1 % at most. A histogram has 30,720 counts
// of 8 bytes, 240 KiB; a Lowest of 1 would take 264 KiB.
const (
	Lowest  = 8
	Highest = 3_600_000_000_000 // 1 h
	Digits  = 3
)

// Histogram is an HDR histogram of nanoseconds from Lowest to Highest.
type Histogram = hdr.Histogram

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return hdr.New(Lowest, Highest, Digits) }

// Add adds from, which stays as it is, to into and returns the sum: into, or a
// new histogram where that is nil. from may be nil.
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

// Record adds one value; what lies outside the range counts at its end, so
// that counts in equal counts out.
func Record(h *Histogram, ns int64) {
	_ = h.RecordValue(inRange(ns)) // cannot fail
}

// RecordAll adds a value so many times, at the cost of once.
func RecordAll(h *Histogram, ns int64, times uint64) {
	_ = h.RecordValues(inRange(ns), int64(times)) // cannot fail
}

func inRange(ns int64) int64 { return min(max(ns, 0), Highest) }
