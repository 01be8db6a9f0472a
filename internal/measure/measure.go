// Package measure is what a generator hands over: latencies in HDR histograms,
// a set for each second, merged and never averaged.
//
// Latencies and errors belong to the second in which the operation was due,
// throughput to the second in which it was done.
package measure

import (
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

// Tally is what one second and a whole phase count alike.
type Tally struct {
	Counts
	Due        uint64                 // operations due in it
	Outcomes   [kv.NumOutcomes]uint64 // of those; the sum is Due
	Keys       uint64                 // that successful gets, ranges and txn-gets read or counted
	Retries    uint64                 // of STM successes: how often a conflict made them begin again
	Done       uint64                 // successes done in it, whenever due
	Missed     [kv.NumKinds]uint64    // Outcomes[kv.Miss] by operation
	Unreported uint64                 // operations whose answer named a member and term beyond MaxReported

	Cells    []*Cell
	Lateness *Histogram // sent - due, open loop only
	// Watch is of the phase's writes, whenever their events came in a whole phase.
	Watch Watch
	// Disturbed is what the generator itself added to the operations' times.
	Disturbed Disturbance
}

// merge adds another's, which stays as it is.
func (t *Tally) merge(o *Tally) {
	t.AddCounts(&o.Counts)
	t.Due += o.Due
	for i := range t.Outcomes {
		t.Outcomes[i] += o.Outcomes[i]
	}
	t.Keys += o.Keys
	t.Retries += o.Retries
	t.Done += o.Done
	for i := range t.Missed {
		t.Missed[i] += o.Missed[i]
	}
	t.Unreported += o.Unreported
	t.Cells = MergeCells(t.Cells, o.Cells)
	t.Lateness = Add(t.Lateness, o.Lateness)
	t.Watch.merge(&o.Watch)
	t.Disturbed.merge(&o.Disturbed)
}

// recycle gives each of its histograms to take.
func (t *Tally) recycle(take func(*Histogram)) {
	for _, c := range t.Cells {
		for _, h := range append(c.Failed[:], c.Response, c.Service) {
			take(h)
		}
	}
	for _, h := range []*Histogram{t.Lateness, t.Watch.FromDue, t.Watch.FromSent} {
		take(h)
	}
	for _, h := range t.Disturbed.histograms() {
		take(*h)
	}
}

// Second is one second of a phase, of one shard or of all merged.
type Second struct {
	Phase Phase
	Index int // from 0 in its phase
	// Length is 1 s, in nanoseconds, or less at a phase's end.
	Length int64
	Tally
	DoneKinds   [kv.NumKinds]uint64 // Done by operation
	Connections int                 // open at its end
	Clients     int                 // of the closed loop; 0 in an open one
	Resting     int                 // of those: wait at its end after a refusal
	InFlight    int                 // at its end
	// Alive has a bit for each millisecond in which an operation was done.
	Alive [16]uint64
	// Fine is nil unless the load has faults.
	Fine *Fine
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
		Add(scratch, c.Response)
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
	Tally
	Seconds float64 // the window's length: from its opening to its close
	Window
	LongestGap   float64 // seconds without any operation done, to 1 ms
	LongestGapAt float64 // when that began, in seconds of the window; the first of equal ones

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
	// Connections is what each client of a closed loop completed; empty in an
	// open one.
	Connections []Connection
	// Calls are an application's, by their kinds; empty for any other load.
	Calls []Calls
	// Parts is what each of several workers did; empty where there was one.
	Parts []Part
	// MergedAfter is how long after the window's end, in nanoseconds, what several
	// workers reported was one result; what was in flight was awaited in it, too. 0
	// where there was one worker.
	MergedAfter int64
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

// Counts are what a second, a window and a trial's result count, under their
// names in the result. A new one has its field and its place in all here, and the
// engine counts it.
type Counts struct {
	BytesIn  uint64 `json:"bytes_in"`
	BytesOut uint64 `json:"bytes_out"`
	Extra    uint64 `json:"extra_requests"` // beyond the first that successes took
	Late     uint64 `json:"late_answers"`   // that came after their operation had timed out
}

// all are the counts, for adding and for passing on.
func (c *Counts) all() []*uint64 { return []*uint64{&c.BytesIn, &c.BytesOut, &c.Extra, &c.Late} }

// AddCounts adds another second's or shard's.
func (c *Counts) AddCounts(o *Counts) {
	to := c.all()
	for i, n := range o.all() {
		*to[i] += *n
	}
}

// Window is what one loop, or all together, keep of the measured window beside
// its seconds.
type Window struct {
	CarriedIn uint64 // in flight when the window opened
	// CarriedInAge is the age of the oldest of those then, in nanoseconds.
	CarriedInAge int64
	// MaxInFlight is the most operations in flight at once; Capped says how
	// many of those due the limit held back, and NoRoom how many of an open
	// loop waited for a connection (Disturbed.Waiting has the times of both).
	MaxInFlight int
	Capped      uint64
	NoRoom      uint64
	// Held is how many clients of a closed loop were held by an operation at a
	// member from which the load had moved away, and HeldLongest the longest
	// time from the move to that operation's end, in nanoseconds.
	Held        int
	HeldLongest int64
	Reconnects  uint64
	// Expired is how many sessions had ended at the server before a new connection
	// took them up again.
	Expired uint64
	// Paused is the sum of all times, in nanoseconds, that the loops were late
	// for their own wake-ups or held by one turn.
	Paused int64
	// LongestPause is the longest time, in nanoseconds, that a loop was late for
	// its own wake-up or held by one turn: stopped, throttled or not scheduled.
	LongestPause int64
}

// Merge adds another loop's or worker's. Their most operations in flight were at
// different times, so that the sum is a bound.
func (w *Window) Merge(o *Window) {
	w.CarriedIn += o.CarriedIn
	w.CarriedInAge = max(w.CarriedInAge, o.CarriedInAge)
	w.MaxInFlight += o.MaxInFlight
	w.Capped += o.Capped
	w.NoRoom += o.NoRoom
	w.Held += o.Held
	w.HeldLongest = max(w.HeldLongest, o.HeldLongest)
	w.Reconnects += o.Reconnects
	w.Expired += o.Expired
	w.Paused += o.Paused
	w.LongestPause = max(w.LongestPause, o.LongestPause)
}

// Disturbance is what the generator itself added to the operations' times, in
// one span of time. A nil histogram is an empty one.
//
// Sampled and Undisturbed are of the same operations, a sample of the
// successes in which each counts as often as it stands for others: once with
// the time that the loop's headline has (service time in a closed loop,
// response time in an open one), and once with that time less what the
// generator added to it. How far their percentiles are apart is how far the
// generator can have moved the headline's.
type Disturbance struct {
	// Lag is from an answer's arrival at this machine to the read call that
	// took it, of the sampled operations.
	Lag *Histogram
	// Own is, in an open loop, the part of sent - due that is the generator's
	// own, of every operation that was sent. Waiting is the rest, of those that
	// have one: no connection or member could take the operation, or the limit
	// of operations in flight was reached.
	Own, Waiting         *Histogram
	Sampled, Undisturbed *Histogram
	// Idle is, in a closed loop, the sum of sent - due of all operations that
	// were sent without waiting for a connection, in nanoseconds: the time in
	// which clients were free and the generator had not sent for them yet.
	Idle int64
	// RunWait is, in a closed loop, the part of what Sampled has beyond Undisturbed in
	// which the generator's thread was ready to run and waited for a processor, in
	// nanoseconds: the sum over the sample, with the operations' weights. In the rest
	// it worked, or was stopped.
	RunWait int64
}

// histograms lists the places of all histograms.
func (d *Disturbance) histograms() [5]**Histogram {
	return [5]**Histogram{&d.Lag, &d.Own, &d.Waiting, &d.Sampled, &d.Undisturbed}
}

// merge adds o, which stays as it is.
func (d *Disturbance) merge(o *Disturbance) {
	from := o.histograms()
	for i, to := range d.histograms() {
		*to = Add(*to, *from[i])
	}
	d.Idle += o.Idle
	d.RunWait += o.RunWait
}

// Link is what happened to the connections to one endpoint in the window.
type Link struct {
	Endpoint    string
	Connections int // when the window opened
	Fewest      int // at any time in it
	Lost        int // connections that were lost
	// LostAt is when there were fewer than at the opening for the first time,
	// and BackAt when there were as many again, for good: in seconds of the
	// window, -1 for never.
	LostAt, BackAt float64
}

// Connection is one connection of a closed loop in the window, by its clients.
type Connection struct {
	// Endpoint is where it went; empty if the load moved it in the window.
	Endpoint string
	// Completed has for each of its clients how many operations completed, of those
	// due in the window.
	Completed []uint64
}

// Watch is what watchers got in one span of time: events of the writes of the
// phase that they belong to, in the second in which they arrived.
type Watch struct {
	Delivered  uint64 // distinct events
	Duplicated uint64 // events that had come before
	Reordered  uint64 // of Delivered: came after a later write of their key
	Untimed    uint64 // of Delivered: it is not known when their write was due
	// FromDue and FromSent are the arrival less when the write was due, and
	// less when it was sent. An event can arrive before its write's own answer.
	FromDue, FromSent *Histogram
}

// merge adds another's counts and histograms.
func (w *Watch) merge(o *Watch) {
	w.Delivered += o.Delivered
	w.Duplicated += o.Duplicated
	w.Reordered += o.Reordered
	w.Untimed += o.Untimed
	w.FromDue = Add(w.FromDue, o.FromDue)
	w.FromSent = Add(w.FromSent, o.FromSent)
}

// WatchTotals is what the watchers of a whole load got, its warm-up included.
type WatchTotals struct {
	Watchers int
	// Created is how long it took to create each of them, the first time, and
	// CreatedSeconds from when the first was asked for until the last was there.
	Created        *Histogram
	CreatedSeconds float64
	// Last is the time from when a write of the window was due until the last of its
	// watchers had its event; nil unless all watch all keys that are written.
	Last *Histogram
	// Acknowledged is how many writes of watched keys the store acknowledged.
	Acknowledged uint64
	// Expected is how many events those make: one for each watcher of the key.
	Expected  uint64
	Delivered uint64 // distinct events
	// Lost is how many events did not come: versions of a key that were passed
	// over, or acknowledged writes without an event, whichever is more for a
	// watcher and key.
	Lost uint64
	// Coalesced is how many versions were passed over by watchers that are told of
	// the newest alone.
	Coalesced  uint64
	Duplicated uint64
	Reordered  uint64
	Untimed    uint64 // delivered, and it is not known when their write was due
	Foreign    uint64 // of Untimed: not written by this load, or damaged
	Wrong      uint64 // of keys that the watcher does not watch
	// Impossible is how many arrived before their write was sent. Any makes
	// the times void.
	Impossible uint64
	// Resubscribed is how often a watcher was created again after its
	// connection or stream was lost; Ended is how many the store ended for
	// good, and EndedText why the first one.
	Resubscribed uint64
	Ended        uint64
	EndedText    string
}
