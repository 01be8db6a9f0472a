package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The kinds of events that a fault causes in events.jsonl.
const (
	FaultBegan  = "fault"
	FaultHealed = "fault_healed"
	FaultReady  = "fault_recovered"
	FaultUndone = "fault_not_injected"
	// FaultStep marks a step on one member in a fault that affects several members in turn.
	FaultStep = "fault_step"
)

// AllMembers is the value of Member for a fault that was injected into all members at once.
const AllMembers = "all"

// Fault reports one injected fault of a scenario. Times are in seconds after the start of the
// window, and null if the event did not occur.
type Fault struct {
	Number int     `json:"number"` // from 1, in the order of the scheduled times
	What   string  `json:"what"`   // such as "kill leader for 3s"
	Asked  float64 `json:"scheduled_seconds"`
	Do     string  `json:"do"`
	// Member is the name of the affected member, or AllMembers. Role is the role of that member
	// when the fault was injected. Both are empty if the fault was not injected.
	Member string `json:"member"`
	Role   string `json:"role"`
	// Began is when the signal was sent. Ended is when the last of the member's processes had
	// exited, if the fault ends them. Healed is when the member was restarted or continued. Ready
	// is when status requests first showed that all members responded and agreed on a leader.
	Began  *float64 `json:"began_seconds"`
	Ended  *float64 `json:"ended_seconds"`
	Healed *float64 `json:"healed_seconds"`
	Ready  *float64 `json:"recovered_seconds"`
	// LostFiles counts the files that lost unsynced data in a power loss.
	LostFiles int `json:"lost_files,omitempty"`
	// Outage is the longest gap without any completed operation after the start of the fault. The
	// search for this gap ends at the next fault, or at the end of the window. OutageFrom is the
	// start of the gap. With one worker, Outage is exact to a millisecond. With several workers,
	// Outage can be too short by up to the difference between the start times of their windows.
	// Outage and OutageFrom are null if the gap was not significantly longer than LongestBefore.
	// LongestBefore is the longest such gap before this fault, since the end of the previous
	// fault's effects or since the start of the window. It is null if no operation completed in
	// that time.
	Outage        *float64 `json:"outage_seconds"`
	OutageFrom    *float64 `json:"outage_from_seconds"`
	LongestBefore *float64 `json:"longest_gap_before_seconds"`
	// OutageLasted is set if the outage had not ended at the next fault or the end of the window.
	// Its true length is then above Outage.
	OutageLasted bool `json:"outage_unfinished,omitempty"`
	Recovery
	// Failure is a sentence if the fault was not injected, ended early, or the cluster did not
	// become ready afterwards. It is empty if everything went as requested.
	Failure string `json:"failure,omitempty"`
}

// Done reports whether the fault was injected.
func (f *Fault) Done() bool { return f.Began != nil }

// Recovery describes how a fault affected the load until the next fault or the end of the window,
// as clients observed it. Times are in seconds after the start of the window.
type Recovery struct {
	// FirstFailure is when the first operation failed, to 10 ms; null without any.
	FirstFailure *float64 `json:"first_failure_seconds,omitempty"`
	// Definite counts errors of operations that were certainly not executed, and errors of reads.
	// Indefinite counts failed writes that may have been executed.
	Definite   uint64 `json:"errors_definite,omitempty"`
	Indefinite uint64 `json:"errors_indefinite,omitempty"`
	// ThroughputBack is when throughput had recovered. After this time, every one-second interval
	// (at steps of 10 ms) has as many successes as before the fault: within 5 % of the mean before
	// the fault, or within 1.5 times the largest deviation before the fault. In an open loop, an
	// interval must not have more successes either, because the backlog must be gone.
	// ThroughputBack is null if throughput did not recover, or if there is no second before the
	// fault to compare with.
	ThroughputBack *float64 `json:"throughput_recovered_seconds,omitempty"`
	// P99Back is when the p99 of response times had recovered, in whole seconds by due time. No
	// later second exceeded 105 % of the median second before the fault, or exceeded that median by
	// more than 1.5 times the largest excess before the fault.
	P99Back *float64 `json:"p99_recovered_seconds,omitempty"`
	// Parts has the longest time without a success for each member and, if the load has several
	// operations, for each operation.
	Parts []PartOutage `json:"outages,omitempty"`
	// Clients summarizes, over the clients of a closed loop, the longest time without a success of
	// each client. It is absent in an open loop, and if there were too many waits to store.
	Clients *ClientOutages `json:"clients,omitempty"`
	// Watch reports on watch events; nil if no watcher received anything in the window. Leases
	// reports on expired leases; nil if no lease expired.
	Watch  *WatchRecovery `json:"watch,omitempty"`
	Leases *EndedLeases   `json:"leases,omitempty"`
}

// ClientOutages summarizes, for single clients, the longest time without a success that began after
// the effects of the previous fault were over and ended after this fault began. A client's time
// counts as 0 if it was below a tenth of a second, or not longer than the longest time of any
// client before the fault.
type ClientOutages struct {
	Clients int     `json:"clients"`
	Median  float64 `json:"median_seconds"` // with an even number of clients, the slower of the middle two
	Worst   float64 `json:"worst_seconds"`
	// Lasted counts clients that had no success before the next fault or the end of the window.
	// Their true outages are longer than recorded.
	Lasted int `json:"lasted,omitempty"`
}

// PartOutage is the longest time without a success at one member or for one operation; see
// Fault.Outage.
type PartOutage struct {
	Member      string   `json:"member,omitempty"`
	Operation   string   `json:"operation,omitempty"`
	Consistency string   `json:"consistency,omitempty"`
	Outage      *float64 `json:"outage_seconds"`
	From        *float64 `json:"outage_from_seconds"`
	Lasted      bool     `json:"outage_unfinished,omitempty"`
}

// WatchRecovery reports what watchers received from the start of the fault to the next fault, or to
// the end of the window.
type WatchRecovery struct {
	// Outage is the longest time without any watch event; see Fault.Outage.
	Outage *float64 `json:"outage_seconds"`
	From   *float64 `json:"outage_from_seconds"`
	Lasted bool     `json:"outage_unfinished,omitempty"`
	// Latest is the longest time from when a write was sent until its event arrived, over all
	// events that arrived. LatestBefore is the same time for the period between the end of the
	// previous fault's effects and this fault. Both are exact to a millisecond, and null if no such
	// time is known.
	Latest       *float64 `json:"latest_event_seconds"`
	LatestBefore *float64 `json:"latest_event_before_seconds"`
	// Late counts events that arrived at least a tenth of a second after their write was sent, and
	// later than any event before the fault. Delays are compared by class: from 0.1 s, 0.2 s, 0.4 s
	// and so on.
	Late uint64 `json:"late_events"`
	// Lost counts skipped events: a later event of the same key arrived, but the skipped event did
	// not arrive until the next fault or the end of the window. It is null if the store's events do
	// not reveal skipped ones. For example, events from ZooKeeper and Consul have no version of the
	// key, or only report the newest version.
	Lost *uint64 `json:"lost_events"`
	// Ended counts watchers that the store ended permanently. Again counts how often a watcher was
	// created again.
	Ended uint64 `json:"ended_watchers"`
	Again uint64 `json:"resubscribed"`
}

// EndedLeases counts leases that the store reported as expired or revoked. Each lease counts once,
// when this was first observed. Early counts leases that the store reported as ended before the
// time for which they had been renewed was over.
type EndedLeases struct {
	Ended uint64 `json:"ended"`
	Early uint64 `json:"ended_early"`
}

// OutageSentences returns one sentence for each kind of fault. The sentence describes the outages
// that faults of this kind caused.
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

// broke returns a sentence about the faults of one kind. For several faults, it reports the median
// outage, where a fault without an outage counts as 0.
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
		words += fmt.Sprintf(": no operation completed for %s; the longest gap before the fault was %s", medianAndMost(outages), text.Lasted(longest))
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

// medianAndMost formats a single duration, or the median and the longest of several sorted
// durations.
func medianAndMost(all []float64) string {
	if len(all) == 1 {
		return text.Lasted(all[0])
	}
	return fmt.Sprintf("%s (median; at most %s)", text.Lasted(all[len(all)/2]), text.Lasted(all[len(all)-1]))
}

// spanSlack extends the time of a fault at both ends. An operation that the fault failed was due
// before the fault began, and the clocks in logs differ.
const spanSlack = time.Second

// InFault reports whether a time, in seconds after the start of the window, is within a fault. A
// fault lasts from its start until all members respond and agree on a leader again. If that was
// never observed, the fault has no end.
func InFault(all []Fault, at float64) bool { return OverlapsFault(all, at, at) }

// OverlapsFault reports whether any part of the time between from and to is within a fault;
// see InFault.
func OverlapsFault(all []Fault, from, to float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool {
		return f.Done() && to >= *f.Began-spanSlack.Seconds() && (f.Ready == nil || from <= *f.Ready+spanSlack.Seconds())
	})
}

// InRecoveredFault reports whether a time is within a fault from which the cluster recovered
// completely, so that a member that was lost at that time came back.
func InRecoveredFault(all []Fault, at float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool { return f.Ready != nil && InFault([]Fault{f}, at) })
}

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
