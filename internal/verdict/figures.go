package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Figures holds all inputs of the rules. Times are in nanoseconds. An unknown figure is 0, and
// the rule that needs it is silent.
type Figures struct {
	// The window.
	OpenLoop    bool
	Interrupted bool
	Seconds     float64 // its length
	Rate        float64 // open loop: requested operations per second

	// Operations due in the window.
	Due          uint64
	Succeeded    uint64            // ended without an error
	Failed       uint64            // ended in an error
	FailedBy     map[string]uint64 // the errors by kind; may be nil
	Timed        uint64            // times found in the histograms, of successes and errors
	Misses       uint64
	FoundNothing []string // kinds whose successes were all misses, with their count, as "7 get"
	WrongAnswers uint64   // including the warm-up
	Unreported   uint64   // operations of members and terms beyond the limit, including the warm-up
	// Done counts the successes done inside the window, whenever they were due.
	Done uint64
	// Halves are the halves of the window, in whole seconds.
	Halves [2]Half

	// Times from due to the end, of successes and errors together.
	TotalNS float64 // their sum
	// LongestNS is the longest of them, including operations in flight when the window opened.
	LongestNS float64
	// ServiceP50NS and Response cover successes only.
	ServiceP50NS float64
	Response     measure.Summary
	// Headline holds the times that the report prints first, including failed operations. If it
	// is empty, the rules assume that all figures are printed.
	Headline measure.Summary
	// Quantile returns any percentile of the headline's times in nanoseconds, and 0 for an
	// unknown one. It is nil if none is known.
	Quantile func(p float64) float64

	Load
	Generator

	// Workers generated the load. It is empty if there was one and it was not lost.
	Workers []Worker

	// Hosts are the machines that ran members or generated load, if the scenario names machines
	// with clocks of their own. R10 and R23 then judge each of them.
	Hosts []Host
	// OwnClock is the clock of the controller's machine.
	OwnClock OwnClock

	// Events are the watch events during the load.
	Events EventFigures

	Cluster
	Faults
	Durability
}

// Load holds the parameters of the load, and how its operations waited.
type Load struct {
	Clients int // closed loop
	// MeanInFlight is the time-weighted mean of operations in progress.
	MeanInFlight float64
	// MeanResting is the time-weighted mean of clients that rested after a refusal.
	MeanResting float64
	MaxInFlight int    // open loop: the limit
	Capped      uint64 // operations of the window that waited for the limit
	// NoRoom counts the operations of the window that waited for a connection. Waiting holds
	// the waits of all operations for the limit or a connection (open loop).
	NoRoom      uint64
	Connections int
	// ConnectionWaitNS is the mean wait of a closed loop's operations for their connection.
	// HeadlineIsResponse reports that the headline is the response time, in a closed loop
	// because of this wait.
	ConnectionWaitNS   float64
	HeadlineIsResponse bool
	Waiting            Times
	CarriedIn          uint64
	CarriedInAgeNS     int64 // of the oldest
	Writes             bool  // some operations write
	Deletes            bool  // some operations remove keys
	Preloaded          bool  // every key existed before the window
	ValueSize          int   // bytes
}

// Generator describes the generator and its machine. Times are sums over the threads of the
// event loops.
type Generator struct {
	Loops            int // event loops
	Added            Added
	LoopCPUNS        int64
	RunDelayNS       int64 // time that they waited for a CPU
	PausedNS         int64 // time by which they missed their own wake-ups
	LongestPauseNS   int64
	OwnLatenessP99NS float64 // open loop: sent - due, without Waiting
	ThrottledNS      int64   // time that the generator's control group was paused by its quota
	// Shares of the machine's CPU time, 0 to 1: used by any program, withheld by the
	// hypervisor, and used by programs other than the generator and the members.
	BusyShare, StolenShare, ForeignShare float64
	Processors                           int // of the machine; 0: unknown
	// MembersBusy is an upper bound on the members' share, and OperationCPUNS their CPU time per
	// operation.
	MembersBusy, OperationCPUNS float64
	// ForeignKnown reports that ForeignShare is known.
	ForeignKnown bool
	// MembersShare reports that members run on the generator's machine.
	MembersShare bool
}

// Cluster holds facts about the members and their responses.
type Cluster struct {
	// Disagreement describes how the members' hashes differ. Incomparable is the reason why
	// requested hashes could not be compared. Both may be empty.
	Disagreement string
	Incomparable string
	// BrokenPromises counts the violations by kind. Unverified is the reason why responses could
	// not be verified. Both may be empty.
	BrokenPromises string
	Unverified     string
	// HistoryShare is the history's share of the bytes written in the window to the members'
	// disk; 0 if the history is on another disk or the share is unknown.
	HistoryShare float64
	LostMembers  []string // names of members that ended or stopped responding
	TermChanges  int      // elections in the window
}

// Faults describes the injected faults.
type Faults struct {
	// Injected counts the injected faults. ErrorsInFaults are those of Failed during a fault.
	// FaultFailures are sentences about faults that were not injected as requested.
	// LostMembers and TermChanges do not include the effects of faults.
	Injected       int
	ErrorsInFaults uint64
	FaultFailures  []string
}

// Durability holds whether the members' writes survive a power loss.
type Durability struct {
	DurabilityKnown bool
	FileSystem      string // of the members' data folders
	Volatile        bool   // that file system loses its data at power loss, as tmpfs does
	Unsynced        bool   // the store is configured not to sync
	VolatileAllowed bool   // the scenario allows it
}

// Half is one half of a window: its length, the operations done per second, and the standard
// error of that from the differences between seconds.
type Half struct {
	Seconds          int
	PerSecond, Error float64
}

// EventFigures counts the events that watchers received. Counts include the warm-up unless their
// comment limits them to the window.
type EventFigures struct {
	Expected     uint64 // one per acknowledged write and watcher of its key
	Lost         uint64 // expected events that did not arrive
	Duplicated   uint64 // in the window
	Reordered    uint64 // in the window
	Untimed      uint64 // in the window, without a known due or send time of their write
	Wrong        uint64 // about keys that their watcher does not watch
	Impossible   uint64 // arrived before their write was sent
	Ended        uint64 // watchers that the store ended permanently
	EndedText    string
	Resubscribed uint64 // how often a watcher had to be created again
}

// kinds lists the errors by kind, the most frequent first, such as
// ": 20 timeout, 12 connection_lost"; empty when they are not known.
func (f *Figures) kinds() string {
	names := slices.SortedFunc(maps.Keys(f.FailedBy), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.FailedBy[b], f.FailedBy[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", f.FailedBy[name], name))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// errors returns the share of due operations that failed outside faults.
func (f *Figures) errors() float64 { return float64(f.Failed-f.ErrorsInFaults) / float64(f.Due) }

// durable reports whether writes survive a power loss.
func (f *Figures) durable() bool { return !f.Volatile && !f.Unsynced }

// limitEffect limits an effect to figures that the trial has: not to a percentile that prints as a
// dash or falls on a failed operation, and not to a throughput of 0.
func (f *Figures) limitEffect(e Effect) Effect {
	nothing := f.Succeeded == 0 && f.Seconds > 0
	if nothing {
		e.Throughput = 0
	}
	if f.Headline.Count == 0 && !nothing {
		return e
	}
	has := ofSummary(&f.Headline)
	for i := range e.Times {
		if has[i] <= 0 {
			e.Times[i] = 0
		}
	}
	return e
}

// added returns by how much the generator can have moved the headline. All late operations are
// sampled, so a slowest operation outside the sample was not late, unless too many were late.
func (f *Figures) added() Effect {
	e, top := f.Added.Effect(f.OpenLoop), timeIndex("max")
	if f.Headline.Max.NS > 1.01*f.Added.Sampled.Max.NS {
		e.Times[top] = min(e.Times[top], e.Times[top-1])
	}
	return e
}
