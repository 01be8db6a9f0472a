// Package measure is what a generator hands over: latencies in HDR histograms,
// a set for each second, merged and never averaged.
//
// Latencies and errors belong to the second in which the operation was due,
// throughput to the second in which it was done.
package measure

import (
	"math/bits"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
)

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
// new histogram with the steps of from where into is nil, or empty and of other
// steps. So the sum of histograms that an older version recorded, whose steps
// were coarser, has the figures that it had then. from may be nil.
func Add(into, from *Histogram) *Histogram {
	if from == nil {
		return into
	}
	if into == nil || into.TotalCount() == 0 && into.LowestTrackableValue() != from.LowestTrackableValue() {
		into = hdr.New(from.LowestTrackableValue(), from.HighestTrackableValue(), int(from.SignificantFigures()))
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

// StepOf is the lowest of the values that NewHistogram's histograms count where
// they count ns.
func StepOf(ns int64) int64 {
	ns = inRange(ns)
	// A step is Lowest up to the first of subBuckets of them, and from there on
	// doubles wherever the values do.
	const unit, subBuckets = 3, 11 // as powers of two
	shift := max(bits.Len64(uint64(ns))-subBuckets, unit)
	return ns >> shift << shift
}

// Phase is a part of a trial.
type Phase uint8

// The phases.
const (
	Warmup   Phase = iota // run and recorded, and not counted
	Measured              // the window
)

// String returns the phase's name in files.
func (p Phase) String() string {
	if p == Warmup {
		return "warmup"
	}
	return "measured"
}

// Series says what a histogram is of. Which role the member had is resolved
// afterwards, by (Member, Term).
type Series struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Member      uint64 // the member that answered; 0: nobody did, or it does not say
	Term        uint64 // the term in the answer; 0 likewise
}

// Errors is how many error outcomes there are.
const Errors = int(kv.NumOutcomes - kv.NotSent)

// ErrorIndex is an error outcome's place in an array of Errors.
func ErrorIndex(o kv.Outcome) int { return int(o - kv.NotSent) }

// Cell holds a series' operations that were due in one span of time. A nil
// histogram is an empty one.
type Cell struct {
	Series
	Response *Histogram         // done - due of successes, whatever the answer
	Service  *Histogram         // done - sent of successes
	Failed   [Errors]*Histogram // known - due of errors, by kind
}

// Second is one second of a phase, of one shard or of all merged.
type Second struct {
	Phase Phase
	Index int // from 0 in its phase
	// Length is 1 s, in nanoseconds, or less at a phase's end.
	Length int64

	Counts

	Due         uint64                 // operations due in it
	Outcomes    [kv.NumOutcomes]uint64 // of those due in it; the sum is Due
	Keys        uint64                 // that successful gets, ranges and txn-gets read or counted
	Retries     uint64                 // of STM successes: how often a conflict made them begin again
	Done        uint64                 // successes done in it, whenever due
	DoneKinds   [kv.NumKinds]uint64    // Done by operation
	Missed      [kv.NumKinds]uint64    // Outcomes[kv.Miss] by operation
	Untold      uint64                 // operations whose answer named a member and term beyond MaxTold
	Connections int                    // open at its end
	Clients     int                    // of the closed loop; 0 in an open one
	InFlight    int                    // at its end

	Cells    []*Cell
	Lateness *Histogram // sent - due, open loop only
	// Alive has a bit for each millisecond in which an operation was done.
	Alive [16]uint64
	Watch Watch
	// Disturbed is what the generator itself added to the operations' times.
	Disturbed Disturbance
	Resting   int // clients that wait at its end after a refusal, of Clients
}

// Response is the response times of the successes due in the second: those of
// its only series, or all merged into scratch, which is emptied before. It is
// only to be read; nil when there are none.
func (s *Second) Response(scratch *Histogram) *Histogram {
	if len(s.Cells) == 1 {
		return s.Cells[0].Response
	}
	scratch.Reset()
	for _, c := range s.Cells {
		mergeHistogram(scratch, c.Response)
	}
	return scratch
}

// Failed is how many operations due in the second ended in an error.
func (s *Second) Failed() (n uint64) {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		n += s.Outcomes[o]
	}
	return n
}

// Totals is a whole phase, merged.
type Totals struct {
	Counts
	Seconds  float64 // the window's length: from its opening to its close
	Due      uint64
	Outcomes [kv.NumOutcomes]uint64 // of those due in the window; the sum is Due
	Keys     uint64                 // that successful gets, ranges and txn-gets read or counted
	Retries  uint64                 // of STM successes: how often a conflict made them begin again
	Missed   [kv.NumKinds]uint64    // Outcomes[kv.Miss] by operation
	Untold   uint64                 // operations whose answer named a member and term beyond MaxTold
	Done     uint64                 // successes done inside the window, whenever due
	Window
	LongestGap   float64 // seconds without any operation done, to 1 ms
	LongestGapAt float64 // when that began, in seconds of the window; the first of equal ones

	Cells    []*Cell
	Lateness *Histogram // open loop only; nil otherwise
	Watch    Watch      // of the window's writes, whenever their events came
	// Disturbed is what the generator itself added to the operations' times.
	Disturbed Disturbance
	// Watching is nil unless the load has watchers.
	Watching *WatchTotals

	// ErrorTexts holds the first text seen of each error kind.
	ErrorTexts map[kv.Outcome]string
	// MeanInFlight is the time-weighted mean of operations between due and
	// done, for Little's law.
	MeanInFlight float64
	// MeanResting is the time-weighted mean of clients that waited after a
	// refusal before they asked again; they have no operation in progress.
	MeanResting float64
	// Links is what happened to the connections, by endpoint.
	Links []Link
	// RunDelay is how long the loops' threads waited for a processor, in
	// nanoseconds, over Slices turns on one; 0 where the system does not say.
	RunDelay int64
	Slices   int64
	// LoopCPU is the loops' threads' CPU time, in nanoseconds.
	LoopCPU int64
}

// Succeeded is the number of operations due that completed, whatever the answer.
func (t *Totals) Succeeded() (n uint64) {
	for o := range kv.NotSent {
		n += t.Outcomes[o]
	}
	return n
}

// Failed is the number of operations due that ended in an error.
func (t *Totals) Failed() uint64 { return t.Due - t.Succeeded() }
