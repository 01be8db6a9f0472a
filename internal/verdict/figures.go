package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	Untold       uint64   // of members and terms beyond those that are kept apart; the warm-up's included
	// Done is the successes done inside the window, whenever they were due.
	Done uint64

	// Times from due to the end, of successes and errors together.
	TotalNS float64 // their sum
	// LongestNS is the longest of them and of those that were in flight when
	// the window opened.
	LongestNS float64
	// Of the successes alone.
	ServiceP50NS  float64
	ResponseP50NS float64
	ResponseP99NS float64 // 0 where the sample does not support it

	// The load.
	Clients int // closed loop
	// MeanInFlight is the time-weighted mean of operations in progress.
	MeanInFlight float64
	// MeanResting is that of clients that rested after a refusal.
	MeanResting float64
	MaxInFlight int    // open loop: the limit
	Capped      uint64 // operations of the window that it held back
	// NoRoom is the operations of the window that waited for a connection, and
	// the waiting times are what operations waited for either (open loop).
	NoRoom                     uint64
	WaitingP50NS, WaitingP99NS float64
	CarriedIn                  uint64
	CarriedInAgeNS             int64 // of the oldest
	Writes                     bool  // some operations write
	Deletes                    bool  // some operations remove keys
	Preloaded                  bool  // every key existed before the window
	ValueSize                  int   // bytes

	// The generator and its machine. Times are of the loops' threads, summed.
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
	// MembersShare says that members run on the generator's machine.
	MembersShare bool

	// Watching beside the load.
	Events EventFigures

	// The cluster.
	// Disagreement says that the members' hashes differ, and how; Incomparable
	// why those that were asked for could not be compared. Empty for neither.
	Disagreement string
	Incomparable string
	LostMembers  []string // by name: those that ended or stopped answering
	TermChanges  int      // elections seen from the start of the window to its end

	// Durability.
	DurabilityKnown bool
	FileSystem      string // of the members' data folders
	Volatile        bool   // that file system forgets at power loss, as tmpfs does
	Unsynced        bool   // the store is configured not to sync
	VolatileMeant   bool   // the scenario says that this is meant
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

// errors is the share of operations due that failed.
func (f *Figures) errors() float64 { return float64(f.Failed) / float64(f.Due) }

// durable reports whether writes were synced to something that keeps them.
func (f *Figures) durable() bool { return !f.Volatile && !f.Unsynced }
