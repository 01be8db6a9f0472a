package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The kinds of events of a fault.
const (
	FaultBegan  = "fault"
	FaultHealed = "fault_healed"
	FaultReady  = "fault_recovered"
	FaultUndone = "fault_not_injected"
	// FaultStep is a step on one member of a fault that affects several members in turn.
	FaultStep = "fault_step"
)

// AllMembers is the Member of a fault that was injected on all members at once.
const AllMembers = "all"

// Fault reports one injected fault of a scenario. Times are in seconds of the window; null
// if the event did not happen.
type Fault struct {
	Number int     `json:"number"` // from 1, in the order of the scheduled times
	What   string  `json:"what"`   // such as "kill leader for 3s"
	Asked  float64 `json:"scheduled_seconds"`
	Do     string  `json:"do"`
	// Member is the name of the affected member, or AllMembers; Role is that member's role
	// then. Both are empty if the fault was not injected.
	Member string `json:"member"`
	Role   string `json:"role"`
	// Began is when the signal was sent. Ended is when the last of the member's processes
	// had exited, if the fault ends them. Healed is when the member was started again or
	// continued. Ready is when status requests first showed that all members responded and
	// agreed on a leader.
	Began  *float64 `json:"began_seconds"`
	Ended  *float64 `json:"ended_seconds"`
	Healed *float64 `json:"healed_seconds"`
	Ready  *float64 `json:"recovered_seconds"`
	// LostFiles counts the files that lost unsynced data in a power loss.
	LostFiles int `json:"lost_files,omitempty"`
	// Outage is the longest time without any completed operation between the fault's
	// beginning and the next fault, or the end of the window. OutageFrom is its beginning.
	// With one worker it is exact to a millisecond; with several it can be too short by as
	// much as their windows opened apart. Both are null if the gap did not exceed
	// LongestBefore by more than chance explains. LongestBefore is the longest gap since
	// the previous fault was over, or since the window opened; null if no operation
	// completed in that time.
	Outage        *float64 `json:"outage_seconds"`
	OutageFrom    *float64 `json:"outage_from_seconds"`
	LongestBefore *float64 `json:"longest_gap_before_seconds"`
	// OutageLasted reports that the outage had not ended at the next fault or the end of
	// the window; it is longer than Outage.
	OutageLasted bool `json:"outage_unfinished,omitempty"`
	Recovery
	// Failure is a sentence: the fault was not injected, was cut short, or the cluster did
	// not become ready. Empty if all went as requested.
	Failure string `json:"failure,omitempty"`
}

// Done reports whether the fault was injected.
func (f *Fault) Done() bool { return f.Began != nil }

// Recovery describes a fault's effect on the load, as clients saw it, until the next fault
// or the end of the window. Times are in seconds of the window.
type Recovery struct {
	// FirstFailure is when the first operation failed, to 10 ms; null without any.
	FirstFailure *float64 `json:"first_failure_seconds,omitempty"`
	// Definite counts errors of operations that were not executed, including reads;
	// Indefinite counts failed writes that may have been executed.
	Definite   uint64 `json:"errors_definite,omitempty"`
	Indefinite uint64 `json:"errors_indefinite,omitempty"`
	// ThroughputBack is the beginning of the time in which every second, at steps of 10 ms,
	// had as many successes as before the fault: within 5 % of the earlier mean, or within
	// 1.5 times the largest earlier deviation. In an open loop, a second must not have more
	// successes either, because the backlog must be worked off. It is null if throughput
	// did not recover, or if there is no second before to compare with.
	ThroughputBack *float64 `json:"throughput_recovered_seconds,omitempty"`
	// P99Back is the same for the p99 of response times, in whole seconds of due times: no
	// later second exceeded 105 % of the median second before the fault, or 1.5 times the
	// largest earlier excess over that median.
	P99Back *float64 `json:"p99_recovered_seconds,omitempty"`
	// Parts are the longest times without a success for each member and, if there are
	// several, each operation.
	Parts []PartOutage `json:"outages,omitempty"`
	// Clients summarizes the longest time without a success of each client of a closed
	// loop; absent in an open loop, and if there were more waits than can be kept.
	Clients *ClientOutages `json:"clients,omitempty"`
	// Watch reports on watch events and Leases on expired leases; nil if no watcher
	// received anything in the window, and if no lease expired.
	Watch  *WatchRecovery `json:"watch,omitempty"`
	Leases *EndedLeases   `json:"leases,omitempty"`
}

// ClientOutages summarizes, for single clients, the longest time without a success that
// began after the effects of the previous fault were over and ended after this fault began.
// A client counts as 0 if its longest was not longer than any client's before the fault, or
// was below a tenth of a second.
type ClientOutages struct {
	Clients int     `json:"clients"`
	Median  float64 `json:"median_seconds"` // of an even number, the slower of the middle two
	Worst   float64 `json:"worst_seconds"`
	// Lasted counts clients that had no success before the next fault or the end of the
	// window; their outages are longer than recorded.
	Lasted int `json:"lasted,omitempty"`
}

// PartOutage is the longest time without a success of one member or one operation; see
// Fault.Outage.
type PartOutage struct {
	Member      string   `json:"member,omitempty"`
	Operation   string   `json:"operation,omitempty"`
	Consistency string   `json:"consistency,omitempty"`
	Outage      *float64 `json:"outage_seconds"`
	From        *float64 `json:"outage_from_seconds"`
	Lasted      bool     `json:"outage_unfinished,omitempty"`
}

// WatchRecovery reports what watchers received from the fault's beginning to the next
// fault, or to the end of the window.
type WatchRecovery struct {
	// Outage is the longest time without any event; see Fault.Outage.
	Outage *float64 `json:"outage_seconds"`
	From   *float64 `json:"outage_from_seconds"`
	Lasted bool     `json:"outage_unfinished,omitempty"`
	// Latest is the longest time from sending a write until its event arrived, over the
	// events that arrived. LatestBefore is the same for the time since the effects of the
	// previous fault were over. Both are exact to a millisecond, and null if no such time
	// is known.
	Latest       *float64 `json:"latest_event_seconds"`
	LatestBefore *float64 `json:"latest_event_before_seconds"`
	// Late counts events that arrived at least a tenth of a second after their write was
	// sent and later than any event before the fault; lateness is compared in doublings of
	// a tenth of a second.
	Late uint64 `json:"late_events"`
	// Lost counts skipped events: a later event of the key arrived, and they did not until
	// the next fault or the end of the window. Null if events do not reveal it: those of
	// ZooKeeper and Consul have no version of their key, or report only the newest.
	Lost *uint64 `json:"lost_events"`
	// Ended counts watchers that the store ended permanently; Again counts how often one
	// was created again.
	Ended uint64 `json:"ended_watchers"`
	Again uint64 `json:"resubscribed"`
}

// EndedLeases counts leases that the store reported as gone, each once, when that was first
// observed. Early counts those reported before the time for which they had been renewed was
// over.
type EndedLeases struct {
	Ended uint64 `json:"ended"`
	Early uint64 `json:"ended_early"`
}

// OutageSentences returns one sentence for each kind of fault about its outages and their lengths.
func OutageSentences(all []Fault) (out []string) {
	byWhat := map[string][]*Fault{}
	var kinds []string
	for i := range all {
		f := &all[i]
		if f.LongestBefore == nil {
			continue
		}
		if byWhat[f.What] == nil {
			kinds = append(kinds, f.What)
		}
		byWhat[f.What] = append(byWhat[f.What], f)
	}
	for _, what := range kinds {
		out = append(out, broke(what, byWhat[what]))
	}
	return out
}

// broke returns a sentence about faults of one kind. For several it reports the median, and
// a fault without an outage counts as 0.
func broke(what string, all []*Fault) string {
	var outages, ready []float64
	longest, lasted := 0.0, 0
	for _, f := range all {
		if f.OutageLasted {
			lasted++
		}
		longest = max(longest, *f.LongestBefore)
		outages = append(outages, orZero(f.Outage))
		if f.Ready != nil {
			ready = append(ready, *f.Ready-*f.Began)
		}
	}
	slices.Sort(outages)
	slices.Sort(ready)
	words := what
	if len(all) > 1 {
		words += fmt.Sprintf(", %d times", len(all))
	}
	if outages[len(outages)-1] == 0 {
		words += fmt.Sprintf(": no outage (no gap was longer than the longest one before, %s)", text.Lasted(longest))
	} else {
		words += fmt.Sprintf(": no operation succeeded for %s; the longest gap before was %s", medianAndMost(outages), text.Lasted(longest))
	}
	switch {
	case lasted > 0 && len(all) == 1:
		words += "; the outage had not ended when the window closed or the next fault began, so the time is a minimum"
	case lasted > 0:
		words += fmt.Sprintf("; %s had not ended when the window closed or the next fault began, so the time is a minimum", text.Plural(uint64(lasted), "outage"))
	}
	switch {
	case len(ready) == 0:
		words += "; no recovery of the cluster was observed"
	case len(ready) < len(all):
		words += fmt.Sprintf("; the cluster recovered after %s, but not after %s", medianAndMost(ready), text.Plural(uint64(len(all)-len(ready)), "other fault"))
	default:
		words += fmt.Sprintf("; the cluster recovered after %s", medianAndMost(ready))
	}
	return words
}

// medianAndMost formats a single length of time, or the median and the longest of several
// that are sorted.
func medianAndMost(all []float64) string {
	if len(all) == 1 {
		return text.Lasted(all[0])
	}
	return fmt.Sprintf("%s (median; at most %s)", text.Lasted(all[len(all)/2]), text.Lasted(all[len(all)-1]))
}

// spanSlack is how long before a fault's beginning and after the cluster's recovery
// something can still be an effect of the fault: an operation that it failed was due
// earlier, and log clocks differ.
const spanSlack = time.Second

// InFault reports whether a time, in seconds of the window, is within a fault: from its
// beginning until the cluster was seen whole again, or without an end if it never was.
func InFault(all []Fault, at float64) bool { return OverlapsFault(all, at, at) }

// OverlapsFault reports whether any part of the time between from and to is within a fault;
// see InFault.
func OverlapsFault(all []Fault, from, to float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool {
		return f.Done() && to >= *f.Began-spanSlack.Seconds() && (f.Ready == nil || from <= *f.Ready+spanSlack.Seconds())
	})
}

// InRecoveredFault reports whether a time is within a fault after which the cluster was whole again, so that
// a member that was lost at that time came back.
func InRecoveredFault(all []Fault, at float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool { return f.Ready != nil && InFault([]Fault{f}, at) })
}

// doneFaults counts the faults that were injected.
func doneFaults(all []Fault) (n int) {
	for i := range all {
		if all[i].Done() {
			n++
		}
	}
	return n
}

func failedFaults(all []Fault) (out []string) {
	for i := range all {
		if f := &all[i]; f.Failure != "" {
			out = append(out, fmt.Sprintf("fault %d (%s at %s): %s", f.Number, f.What, text.Seconds(f.Asked), f.Failure))
		}
	}
	return out
}
