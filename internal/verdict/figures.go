package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Figures holds all inputs of the rules. Times are in nanoseconds. An unknown figure is 0; a rule
// that needs it then reports nothing.
type Figures struct {
	// The window.
	OpenLoop    bool
	Interrupted bool
	Seconds     float64 // its length
	Rate        float64 // open loop: requested operations per second

	// Operations due in the window.
	Due          uint64
	Succeeded    uint64            // operations that ended without an error
	Failed       uint64            // operations that ended with an error
	FailedBy     map[string]uint64 // errors by kind; may be nil
	Timed        uint64            // operations in the histograms, successes and errors
	Misses       uint64
	FoundNothing []string // kinds of operations that found no key at all, with their number, for example "7 get"
	WrongAnswers uint64   // includes the warm-up
	Unreported   uint64   // operations by members and terms beyond the limit; includes the warm-up
	// Done counts the operations that succeeded inside the window, even if they were due before it.
	Done uint64
	// Halves are the two halves of the window, in whole seconds.
	Halves [2]Half

	// Times from due to done, for successes and errors together.
	TotalNS float64 // their sum
	// LongestNS is the longest of these times. It includes operations in flight when the window
	// opened.
	LongestNS float64
	// ServiceP50NS and Response cover successes only.
	ServiceP50NS float64
	Response     measure.Summary
	// Headline holds the times that the report prints first, which include failed operations. If it
	// is empty, the rules assume that all figures are printed.
	Headline measure.Summary
	// Quantile returns any percentile of the times in Headline, in nanoseconds, or 0 if it is
	// unknown. Quantile is nil if no percentile is known.
	Quantile func(p float64) float64

	Load
	Generator

	// Workers generated the load. The list is empty if there was only one worker and it was not
	// lost.
	Workers []Worker

	// Hosts are the machines that ran members or generated load, if the scenario names machines
	// with separate clocks. R10 and R23 then judge each host.
	Hosts []Host
	// OwnClock is the clock of the controller's machine.
	OwnClock OwnClock

	// Events counts the watch events during the load.
	Events EventFigures

	Cluster
	Faults
	Durability
}

// Load holds the parameters of the load, and how long its operations waited.
type Load struct {
	Clients int // closed loop
	// MeanInFlight is the time-weighted mean number of operations in progress.
	MeanInFlight float64
	// MeanResting is the time-weighted mean number of clients that rested after a refusal.
	MeanResting float64
	MaxInFlight int    // open loop: the limit
	Capped      uint64 // operations in the window that waited for this limit
	// NoRoom counts the operations in the window that waited for a connection. In an open loop,
	// Waiting holds how long all operations waited for the limit or for a connection.
	NoRoom      uint64
	Connections int
	// ConnectionWaitNS is how long, on average, an operation in a closed loop waited for its
	// connection. HeadlineIsResponse is set if Headline holds response times. In a closed loop,
	// this wait is the reason.
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

// Generator describes the load generator and its machine. Times are sums over the threads of all
// event loops.
type Generator struct {
	Loops            int // event loops
	Added            Added
	LoopCPUNS        int64
	RunDelayNS       int64 // time that they waited for a CPU
	PausedNS         int64 // time by which they missed their own wake-ups
	LongestPauseNS   int64
	OwnLatenessP99NS float64 // open loop: sent - due, without Waiting
	ThrottledNS      int64   // time during which the quota paused the generator's control group
	// Fractions of the machine's CPU time: used by any program, withheld by the hypervisor, and
	// used by programs other than the generator and the members.
	BusyShare, StolenShare, ForeignShare float64
	Processors                           int // number in the machine; 0 if unknown
	// MembersBusy is an upper bound for the members' fraction. OperationCPUNS is the members' CPU
	// time per operation.
	MembersBusy, OperationCPUNS float64
	// ForeignKnown is set if ForeignShare is known.
	ForeignKnown bool
	// MembersShare is set if members run on the generator's machine.
	MembersShare bool
}

// Cluster holds facts about the members and about their responses.
type Cluster struct {
	// Disagreement describes how the members' hashes differ. Incomparable is the reason why the
	// hashes could not be compared although that was requested. Both may be empty.
	Disagreement string
	Incomparable string
	// BrokenPromises lists the number of violations by kind. Unverified is the reason why responses
	// could not be verified. Both may be empty.
	BrokenPromises string
	Unverified     string
	// HistoryShare is the history's fraction of the bytes written to the members' disk in the
	// window. It is 0 if the history is on another disk or the fraction is unknown.
	HistoryShare float64
	LostMembers  []string // names of members that ended or stopped responding
	TermChanges  int      // elections in the window
}

// Faults describes the injected faults.
type Faults struct {
	// Injected counts the injected faults. ErrorsInFaults counts the errors in Failed that occurred
	// during a fault. FaultFailures are sentences about faults that were not injected as requested.
	// LostMembers and TermChanges do not include the effects of faults.
	Injected       int
	ErrorsInFaults uint64
	FaultFailures  []string
}

// Durability describes whether the members' writes survive a power loss.
type Durability struct {
	DurabilityKnown bool
	FileSystem      string // of the members' data folders
	Volatile        bool   // the file system loses its data at a power loss, like tmpfs
	Unsynced        bool   // the store is configured not to sync
	VolatileAllowed bool   // the scenario allows non-durable writes
}

// Half is one half of a window: its length, the operations per second, and the standard error of
// that rate, estimated from the differences between seconds.
type Half struct {
	Seconds          int
	PerSecond, Error float64
}

// EventFigures counts the events that watchers received. A count includes the warm-up unless its
// comment says that it is limited to the window.
type EventFigures struct {
	Expected     uint64 // one per acknowledged write and watcher of the key
	Lost         uint64 // expected events that did not arrive
	Duplicated   uint64 // in the window
	Reordered    uint64 // in the window
	Untimed      uint64 // in the window, for writes whose due or send time is not known
	Wrong        uint64 // events for keys that the watcher does not watch
	Impossible   uint64 // events that arrived before the write was sent
	Ended        uint64 // watchers that the store ended permanently
	EndedText    string
	Resubscribed uint64 // number of times that a watcher had to be created again
}

// kinds lists the errors by kind, most frequent first, for example ": 20 timeout, 12
// connection_lost". It returns an empty string if the kinds are not known.
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

// errors returns the fraction of due operations that failed outside faults.
func (f *Figures) errors() float64 { return float64(f.Failed-f.ErrorsInFaults) / float64(f.Due) }

// durable reports whether writes survive a power loss.
func (f *Figures) durable() bool { return !f.Volatile && !f.Unsynced }

// limitEffect limits an effect to figures that the trial has. It removes percentiles that are
// printed as a dash or that fall on a failed operation, and a throughput of 0.
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

// added returns how far the generator may have moved the printed figures. All late operations are
// sampled, unless too many were late. A slowest operation outside the sample was therefore not
// late.
func (f *Figures) added() Effect {
	e, top := f.Added.Effect(f.OpenLoop), timeIndex("max")
	if f.Headline.Max.NS > 1.01*f.Added.Sampled.Max.NS {
		e.Times[top] = min(e.Times[top], e.Times[top-1])
	}
	return e
}
