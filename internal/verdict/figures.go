package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Figures is everything that the rules look at. Times are in nanoseconds; a
// figure that is not known is 0, and the rule that needs it is silent.
type Figures struct {
	// The window.
	OpenLoop    bool
	Interrupted bool
	Seconds     float64 // its length
	Rate        float64 // open loop: operations due a second, as asked for

	// Operations due in the window.
	Due          uint64
	Succeeded    uint64            // ended with an answer that is no error
	Failed       uint64            // ended in an error
	FailedBy     map[string]uint64 // the same by the error's kind; may be nil
	Timed        uint64            // times found in the histograms, of successes and errors
	Misses       uint64
	FoundNothing []string // of each kind whose successes all were misses: how many, and the kind, as "7 get"
	WrongAnswers uint64   // the warm-up's included
	Unreported   uint64   // of members and terms beyond those that are kept apart; the warm-up's included
	// Done is the successes done inside the window, whenever they were due.
	Done uint64
	// Halves are the window's two, of its whole seconds.
	Halves [2]Half

	// Times from due to the end, of successes and errors together.
	TotalNS float64 // their sum
	// LongestNS is the longest of them and of those that were in flight when
	// the window opened.
	LongestNS float64
	// Of the successes alone.
	ServiceP50NS float64
	Response     measure.Summary
	// Headline is the times that the report prints first, failed operations
	// included. Without any, all of its figures are taken to be printed.
	Headline measure.Summary
	// Quantile returns any percentile of the headline's times, in nanoseconds and 0 for one
	// that is not known; nil where none is.
	Quantile func(p float64) float64

	Load
	Generator

	// Workers are those that generated the load; empty where there was one, and
	// it was not lost.
	Workers []Worker

	// Hosts are the machines that members were on, or that load came from, where the
	// scenario names some with clocks of their own. Then R10 and R23 ask each of them.
	Hosts []Host
	// OwnClock is the clock of the machine that conducts the run.
	OwnClock OwnClock

	// Watching beside the load.
	Events EventFigures

	Cluster
	Faults
	Durability
}

// Load holds what the load was, and how its operations waited.
type Load struct {
	Clients int // closed loop
	// MeanInFlight is the time-weighted mean of operations in progress.
	MeanInFlight float64
	// MeanResting is that of clients that rested after a refusal.
	MeanResting float64
	MaxInFlight int    // open loop: the limit
	Capped      uint64 // operations of the window that it held back
	// NoRoom is the operations of the window that waited for a connection, and
	// Waiting the figures of what all operations waited for either (open loop).
	NoRoom      uint64
	Connections int
	// ConnectionWaitNS is for how long an operation of a closed loop waited on average
	// for room on its connection; HeadlineIsResponse says that the headline is the
	// response time, in a closed loop for that reason.
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

// Generator holds what the generator and its machine did. Times are of the loops' threads,
// summed.
type Generator struct {
	Loops            int // event loops
	Added            Added
	LoopCPUNS        int64
	RunDelayNS       int64 // how long they waited for a processor
	PausedNS         int64 // how long they were late for their own wake-ups
	LongestPauseNS   int64
	OwnLatenessP99NS float64 // open loop: sent - due, without Waiting
	ThrottledNS      int64   // how long the generator's control group was held back
	// Shares of all the machine's processor time, 0 to 1: used by anything,
	// taken away by the host, used by other programs than the generator and the
	// members.
	BusyShare, StolenShare, ForeignShare float64
	Processors                           int // of the machine; 0: unknown
	// MembersBusy is the share that members used at most, and OperationCPUNS the processor
	// time that they used for an operation.
	MembersBusy, OperationCPUNS float64
	// ForeignKnown says that ForeignShare is known.
	ForeignKnown bool
	// MembersShare says that members run on the generator's machine.
	MembersShare bool
}

// Cluster holds what is known of the members and of their responses.
type Cluster struct {
	// Disagreement says that the members' hashes differ, and how; Incomparable
	// why those that were asked for could not be compared. Empty for neither.
	Disagreement string
	Incomparable string
	// BrokenPromises says which kinds of answers broke a promise, and how many;
	// Unchecked why answers that were to be checked were not. Empty for neither.
	BrokenPromises string
	Unchecked      string
	// HistoryShare is the history's share of what was written in the window to a disk
	// that the members' data are on; 0: it lies elsewhere, or nobody knows.
	HistoryShare float64
	LostMembers  []string // by name: those that ended or stopped answering
	TermChanges  int      // elections seen from the start of the window to its end
}

// Faults holds what the scenario's faults did.
type Faults struct {
	// Injected counts those that were done; MeantErrors is of Failed, in the time of
	// one of them, and FaultFailures are sentences about those that were not as asked.
	// LostMembers and TermChanges are without what faults did.
	Injected      int
	MeantErrors   uint64
	FaultFailures []string
}

// Durability holds whether the members' writes survive a power loss.
type Durability struct {
	DurabilityKnown bool
	FileSystem      string // of the members' data folders
	Volatile        bool   // that file system forgets at power loss, as tmpfs does
	Unsynced        bool   // the store is configured not to sync
	VolatileMeant   bool   // the scenario says that this is meant
}

// Half is one half of a window: operations done a second in so many seconds, and
// the standard error of that as the seconds differ.
type Half struct {
	Seconds          int
	PerSecond, Error float64
}

// EventFigures are about the events that watchers got: of the whole load, its
// warm-up included, where it is not said that they are the window's.
type EventFigures struct {
	Expected     uint64 // one for each acknowledged write and watcher of its key
	Lost         uint64 // of those that did not come
	Duplicated   uint64 // of the window's
	Reordered    uint64 // of the window's
	Untimed      uint64 // of the window's: it is not known when their write was due or sent
	Wrong        uint64 // of keys that nobody watches there
	Impossible   uint64 // arrived before their write was sent
	Ended        uint64 // watchers that the store ended for good
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

// errors is the share of operations due that failed, and were not meant to.
func (f *Figures) errors() float64 { return float64(f.Failed-f.MeantErrors) / float64(f.Due) }

// durable reports whether writes were synced to something that keeps them.
func (f *Figures) durable() bool { return !f.Volatile && !f.Unsynced }

// within returns the effect on the figures that the trial has: a percentile that prints
// as a dash, or lands on a failed operation, is not off, and neither is a throughput of 0.
func (f *Figures) within(e Effect) Effect {
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

// added is how far the generator can have moved the headline. What is late is sampled as
// a whole: a slowest operation that is not in the sample was not late, unless so many
// were that not even their sample is whole.
func (f *Figures) added() Effect {
	e, top := f.Added.Effect(f.OpenLoop), place("max")
	if f.Headline.Max.NS > 1.01*f.Added.Sampled.Max.NS {
		e.Times[top] = min(e.Times[top], e.Times[top-1])
	}
	return e
}
