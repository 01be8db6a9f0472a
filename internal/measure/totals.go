package measure

import "github.com/quorumbench/quorumbench/internal/kv"

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

// Whole merges the totals' cells into one: every success's response and
// service time.
func (t *Totals) Whole() *Cell {
	whole := &Cell{}
	for _, c := range t.Cells {
		one := *c
		one.Series = Series{}
		MergeCells([]*Cell{whole}, []*Cell{&one})
	}
	return whole
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
