package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// Totals holds the merged figures of a whole phase.
type Totals struct {
	Tally
	Seconds float64 // length of the window
	Window
	LongestGap   float64 // longest time without a completed operation, in seconds, accurate to 1 ms
	LongestGapAt float64 // its start, in seconds of the window; of equal gaps the first

	// Watching is nil unless the load has watchers.
	Watching *WatchTotals

	// ErrorTexts holds the first text of each kind of error.
	ErrorTexts map[kv.Outcome]string
	// MeanInFlight is the time-weighted mean number of operations between due and done, for
	// Little's law.
	MeanInFlight float64
	// MeanResting is the time-weighted mean number of clients that rested after a refusal and
	// had no operation in progress.
	MeanResting float64
	// Links describes what happened to the connections, by endpoint.
	Links []Link
	// Connections lists the completed operations of each client of a closed loop; empty in an
	// open loop.
	// open one.
	Connections []Connection
	// Calls are the calls of an application, by kind; empty for any other load.
	Calls []Calls
	// Parts has the part of each of several workers; empty for a single worker.
	Parts []Part
	// MergedAfter is the time in nanoseconds from the end of the window until the reports of
	// several workers were merged. It includes the drain. It is 0 for a single worker.
	MergedAfter int64
	// RunDelay is how long the loops' threads waited for a CPU, in nanoseconds, and Slices how
	// many times they got one; 0 if the system does not report it.
	RunDelay int64
	Slices   int64
	// LoopCPU is the CPU time of the loops' threads, in nanoseconds.
	LoopCPU int64
}

// Succeeded returns the number of operations due that completed.
func (t *Totals) Succeeded() (n uint64) {
	for o := range kv.NotSent {
		n += t.Outcomes[o]
	}
	return n
}

// Failed returns the number of operations due that ended in an error.
func (t *Totals) Failed() uint64 { return t.Due - t.Succeeded() }

// Merged merges all cells into one, with the times of all successes and errors.
func (t *Totals) Merged() *Cell {
	whole := &Cell{}
	for _, c := range t.Cells {
		one := *c
		one.Series = Series{}
		MergeCells([]*Cell{whole}, []*Cell{&one})
	}
	return whole
}

// WatchTotals holds the figures of all watchers of a load, including its warm-up.
type WatchTotals struct {
	Watchers int
	// Created is the time that the first creation of each watcher took. CreatedSeconds is the
	// time from requesting the first until the last existed.
	Created        *Histogram
	CreatedSeconds float64
	// Last is the time from when a write of the window was due until the last watcher received
	// its event; nil unless all watchers watch all keys that are written.
	Last *Histogram
	// Acknowledged is the number of acknowledged writes to watched keys.
	Acknowledged uint64
	// Expected is the number of events of these writes: one for each watcher of the key.
	Expected  uint64
	Delivered uint64 // distinct events
	// Lost is the number of events that did not arrive: missing versions of a key, or
	// acknowledged writes without an event, whichever is larger for a watcher and key.
	Lost uint64
	// Coalesced is the number of versions that watchers did not receive because they get only
	// the newest one.
	Coalesced  uint64
	Duplicated uint64
	Reordered  uint64
	Untimed    uint64 // delivered, but the due time of their write is unknown
	Foreign    uint64 // of Untimed: not written by this load, or damaged
	Wrong      uint64 // events of keys that the watcher does not watch
	// Impossible is the number of events that arrived before their write was sent. If there is
	// any, the times are invalid.
	Impossible uint64
	// Resubscribed counts how often a watcher was created again after its connection or stream
	// was lost. Ended is the number of watchers that the store ended permanently, and
	// EndedText the reason of the first one.
	Resubscribed uint64
	Ended        uint64
	EndedText    string
}
