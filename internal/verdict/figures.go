package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Figures holds all inputs of the rules. Times are in nanoseconds. An unknown figure is 0. A rule
// that needs an unknown figure reports nothing.
type Figures struct {
	// The window.
	OpenLoop    bool
	Interrupted bool
	Seconds     float64 // its length

	// Operations due in the window.
	Due            uint64
	Succeeded      uint64            // operations that ended without an error
	Failed         uint64            // operations that ended with an error
	FailedByKind   map[string]uint64 // errors by kind; may be nil
	Timed          uint64            // operations in the histograms, successes and errors
	Misses         uint64
	EmptyKinds     []string // kinds whose operations found no key at all, with the number of operations, for example "7 get"
	WrongResponses uint64   // includes the warm-up
	Unattributed   uint64   // operations of members and terms beyond measure.MaxReported; includes the warm-up
	// Done counts the operations that succeeded inside the window, even if they were due before it.
	Done uint64
	// Halves describes the two halves of the window. Each half is a whole number of seconds long.
	Halves [2]Half

	// Times from the moment when an operation was due until it was done, for successes and errors
	// together.
	TotalNS float64 // their sum
	// LongestNS is the longest of these times. It includes operations in flight when the window
	// opened.
	LongestNS float64
	// ServiceP50NS and Response cover successes only.
	ServiceP50NS float64
	Response     measure.Summary
	// Headline holds the times that the report prints first. They include failed operations. If
	// Headline is empty, the rules assume that reports print all figures.
	Headline measure.Summary
	// Quantile returns percentile p of the times that Headline summarizes, in nanoseconds, or 0 if
	// that percentile is unknown. Quantile is nil if no percentile is known.
	Quantile func(p float64) float64

	Load
	Generator

	// Workers lists the workers that generated the load. The list is empty if a single worker
	// generated the load and was not lost.
	Workers []Worker

	// Hosts lists the hosts that ran members or generated load. The list is empty unless the
	// scenario names machines with separate clocks. If it is not empty, R10 and R23 judge each
	// machine separately.
	Hosts []Host
	// ControllerClock reports the changes to the clock of the controller's machine. It may be nil.
	ControllerClock *ClockChanges

	// Events counts the watch events during the load, including its warm-up. Duplicated, Reordered
	// and Untimed count only the events in the window.
	Events measure.WatchCounts

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
	MeanResting    float64
	MaxInFlight    int    // open loop: the limit
	WaitedForLimit uint64 // operations in the window that waited for this limit
	// WaitedForConnection counts the operations in the window that waited for a connection. In an
	// open loop, Waiting summarizes how long operations waited for MaxInFlight or for a connection.
	WaitedForConnection uint64
	Connections         int
	// ConnectionWaitNS is the mean time that an operation of a closed loop waited for its
	// connection. HeadlineIsResponse is set if Headline holds response times. For a closed loop,
	// HeadlineIsResponse is set only if operations waited for a connection.
	ConnectionWaitNS    float64
	HeadlineIsResponse  bool
	Waiting             Times
	InFlightAtStart     uint64 // operations in flight when the window opened
	OldestInFlightAgeNS int64  // age of the oldest of these operations
	HasWrites           bool   // some operations write
	HasDeletes          bool   // some operations remove keys
	Preloaded           bool   // every key existed before the window
	ValueSize           int    // bytes
}

// Generator describes the load generator and its machine. Times are sums over the threads of all
// event loops.
type Generator struct {
	Loops                  int // event loops
	Added                  Added
	LoopCPUNS              int64
	RunDelayNS             int64 // run queue wait
	PausedNS               int64 // time by which the threads missed their own wake-ups
	LongestPauseNS         int64
	GeneratorLatenessP99NS float64 // open loop: sent - due, without the time in Waiting; 0: unknown
	ThrottledNS            int64   // time during which the quota paused the generator's control group
	// Fractions of the machine's CPU time: used by any program, withheld by the hypervisor, and
	// used by programs other than the generator and the members.
	BusyShare, StolenShare, ForeignShare float64
	Processors                           int // number of CPUs in the machine; 0 if unknown
	// MembersBusy is an upper bound for the fraction of the CPU time that the members used.
	// OperationCPUNS is the members' CPU time per operation.
	MembersBusy, OperationCPUNS float64
	// ForeignKnown is set if ForeignShare is known.
	ForeignKnown bool
	// MembersOnMachine is set if members run on the generator's machine.
	MembersOnMachine bool
}

// Cluster holds facts about the members and about their responses.
type Cluster struct {
	// Disagreement describes how the members' hashes differ. Incomparable states why a requested
	// comparison of the hashes was not possible. Both may be empty.
	Disagreement string
	Incomparable string
	// BrokenGuarantees lists the number of violations of each kind. Unverified states why responses
	// could not be verified. Both may be empty.
	BrokenGuarantees string
	Unverified       string
	// HistoryShare is the history's fraction of all bytes that were written to the members' disk in
	// the window. HistoryShare is 0 if the history is on another disk or the fraction is unknown.
	HistoryShare float64
	LostMembers  []string // names of members that ended or stopped responding
	TermChanges  int      // elections in the window
}

// Faults describes the injected faults.
type Faults struct {
	// Injected counts the injected faults. ErrorsInFaults states how many of the errors that
	// Figures.Failed counts occurred during a fault. FaultFailures describes the faults that were
	// not injected as requested, in one sentence each. LostMembers and TermChanges exclude the
	// effects of faults.
	Injected       int
	ErrorsInFaults uint64
	FaultFailures  []string
}

// Durability describes whether the members' writes survive a power loss.
type Durability struct {
	DurabilityKnown bool
	FileSystem      string // file system of the members' data folders
	Volatile        bool   // the file system loses its data in a power loss, like tmpfs
	Unsynced        bool   // the store is configured not to sync
	VolatileAllowed bool   // the scenario allows non-durable writes
}

// Half describes one half of a window: its length, its throughput, and the standard error of the
// throughput, which is estimated from the differences between the one-second intervals.
type Half struct {
	Seconds                  int
	PerSecond, StandardError float64
}

// errorKindsText returns words that list the errors by kind, most frequent first, for example ": 20
// timeout, 12 connection_lost". It returns an empty string if the kinds are not known.
func (f *Figures) errorKindsText() string {
	names := slices.SortedFunc(maps.Keys(f.FailedByKind), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.FailedByKind[b], f.FailedByKind[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", f.FailedByKind[name], name))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// errorShare returns the fraction of the due operations that failed while no fault was active.
func (f *Figures) errorShare() float64 { return float64(f.Failed-f.ErrorsInFaults) / float64(f.Due) }

// durable reports whether writes survive a power loss.
func (f *Figures) durable() bool { return !f.Volatile && !f.Unsynced }

// limitEffect limits an effect to the figures that the trial has. It removes the effect on
// percentiles that are printed as a dash or as failed, and on a throughput of 0.
func (f *Figures) limitEffect(e Effect) Effect {
	nothing := f.Succeeded == 0 && f.Seconds > 0
	if nothing {
		e.Throughput = 0
	}
	if f.Headline.Count == 0 && !nothing {
		return e
	}
	known := timesFromSummary(&f.Headline)
	for i := range e.Times {
		if known[i] <= 0 {
			e.Times[i] = 0
		}
	}
	return e
}

// generatorEffect returns how far the generator may have moved the printed figures. The sample
// contains all late operations, unless too many operations were late. generatorEffect ignores this
// exception: if the slowest operation is not in the sample, generatorEffect assumes that the
// generator did not delay that operation.
func (f *Figures) generatorEffect() Effect {
	e, top := f.Added.Effect(f.OpenLoop), timeIndex("max")
	if f.Headline.Max.NS > 1.01*f.Added.Sampled.Max.NS {
		e.Times[top] = min(e.Times[top], e.Times[top-1])
	}
	return e
}
