package measure

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Totals holds the merged measurements of a whole phase.
type Totals struct {
	Tally
	Seconds float64 // length of the window
	Window
	// LongestGap is the longest time without a completed operation, in seconds, with a resolution
	// of 1 ms.
	LongestGap float64
	// LongestGapAt is the start of the longest gap, in seconds since the start of the window. If
	// several gaps are equally long, LongestGapAt is the start of the first one.
	LongestGapAt float64

	// Watching is nil unless the load has watchers.
	Watching *WatchTotals

	// ErrorTexts contains the first error text for each kind of error.
	ErrorTexts map[kv.Outcome]string
	// MeanInFlight is the mean number, over time, of operations that were due but not done. It is
	// used for Little's law.
	MeanInFlight float64
	// MeanResting is the mean number, over time, of clients that paused after a refusal and had no
	// operation in progress.
	MeanResting float64
	// Links describes what happened to the connections to each endpoint.
	Links []Link
	// Connections lists the number of completed operations for each client of a closed loop. It is
	// empty in an open loop.
	Connections []Connection
	// Calls describes the calls of an application, by kind. It is empty if the load is not an
	// application.
	Calls []Calls
	// Parts describes the part of each worker. It is empty if the load has only one worker.
	Parts []Part
	// MergedAfter is the time from the end of the window until the reports of several workers were
	// merged, in nanoseconds. This time includes the drain. It is 0 if the load has only one
	// worker.
	MergedAfter int64
	// RunDelay is how long the loop threads waited for a CPU, in nanoseconds. Slices is how many
	// times these threads received a CPU. Both are 0 if the system does not report them.
	RunDelay int64
	Slices   int64
	// LoopCPU is the CPU time of the loop threads in nanoseconds.
	LoopCPU int64
}

// Succeeded returns how many of the due operations completed.
func (t *Totals) Succeeded() (n uint64) {
	for o := range kv.NotSent {
		n += t.Outcomes[o]
	}
	return n
}

// Failed returns how many of the due operations failed.
func (t *Totals) Failed() uint64 { return t.Due - t.Succeeded() }

// Workers returns the parts of the workers that generated the load. It returns nil if a single
// worker generated the load and was not lost.
func (t *Totals) Workers() []Part {
	if len(t.Parts) < 2 && !t.HasLostWorker() {
		return nil
	}
	return t.Parts
}

// HasLostWorker reports whether a worker was lost before the load ended.
func (t *Totals) HasLostWorker() bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Lost != "" })
}

// MergedCell merges all cells into one cell, which contains the times of all successes and errors.
func (t *Totals) MergedCell() *Cell {
	whole := &Cell{}
	for _, c := range t.Cells {
		whole.Merge(c)
	}
	return whole
}

// WatchTotals holds the totals over all watchers of a load, including the warm-up.
type WatchTotals struct {
	Watchers int
	// Created contains, for each watcher, the duration of the watcher's first creation.
	// CreatedSeconds is the time from the request for the first watcher until all watchers existed.
	Created        *Histogram
	CreatedSeconds float64
	// Last contains, for each write in the window, the time from the write's due time to the moment
	// at which the last watcher received the event of this write. Last is nil unless all watchers
	// watch all keys that are written.
	Last *Histogram

	WatchCounts
}

// WatchCounts counts the events that watchers received.
type WatchCounts struct {
	Acknowledged uint64 `json:"acknowledged_writes"` // acknowledged writes to watched keys
	Expected     uint64 `json:"expected_events"`     // number of events that watchers should receive: for each acknowledged write, one for each watcher of the key
	Delivered    uint64 `json:"delivered_events"`    // distinct events
	// Lost is the number of events that did not arrive. For each watcher and key, the larger of two
	// numbers counts: the number of missing versions of the key, and the number of acknowledged
	// writes without an event.
	Lost uint64 `json:"lost_events"`
	// Coalesced is the number of versions that watchers in mode "once" or "query" did not receive,
	// because the store sends only the newest version.
	Coalesced  uint64 `json:"coalesced_events"`
	Duplicated uint64 `json:"duplicated_events"`
	Reordered  uint64 `json:"reordered_events"` // number of events that arrived after a later event of their key
	Untimed    uint64 `json:"untimed_events"`   // number of delivered events whose write has an unknown due time or send time
	Foreign    uint64 `json:"foreign_events"`   // number of events in Untimed that were damaged or not caused by this load
	Wrong      uint64 `json:"wrong_events"`     // number of events of keys that the watcher does not watch
	// Impossible is the number of events that arrived before their write was sent. If it is above
	// 0, the times are invalid.
	Impossible   uint64 `json:"impossible_events"`
	Resubscribed uint64 `json:"resubscribed"`   // number of times that a watcher was re-created after the loss of its connection or stream
	Ended        uint64 `json:"ended_watchers"` // number of watchers that the store ended permanently
	// EndedText is the reason why the store ended the first of these watchers.
	EndedText string `json:"ended_text,omitempty"`
}
