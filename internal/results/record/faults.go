package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The kinds of events in events.jsonl that report the course of a fault.
const (
	FaultBegan  = "fault"
	FaultHealed = "fault_healed"
	FaultReady  = "fault_recovered"
	FaultUndone = "fault_not_injected"
	// FaultStep reports one step of a fault that affects several members in turn. Each step affects
	// one member.
	FaultStep = "fault_step"
)

// AllMembers is the value of Fault.Member if the fault was injected into all members at the same
// time.
const AllMembers = "all"

// Fault reports one injected fault of a scenario. Times are in seconds after the start of the
// window. The time of an event that did not occur is null.
type Fault struct {
	Number      int     `json:"number"` // position of the fault in the order of the scheduled times, counted from 1
	Description string  `json:"what"`   // such as "kill leader for 3s"
	ScheduledAt float64 `json:"scheduled_seconds"`
	Action      string  `json:"do"`
	// Member is the name of the affected member, or AllMembers. Role is the role that this member
	// had when the fault was injected. Both are empty if the fault was not injected.
	Member string `json:"member"`
	Role   string `json:"role"`
	// BeganAt is the time at which the signal was sent. If the fault ends the member's processes,
	// EndedAt is the time at which the last of them had exited. HealedAt is the time at which the
	// member was restarted or resumed. RecoveredAt is the time at which status requests first
	// showed that all members responded and agreed on a leader.
	BeganAt     *float64 `json:"began_seconds"`
	EndedAt     *float64 `json:"ended_seconds"`
	HealedAt    *float64 `json:"healed_seconds"`
	RecoveredAt *float64 `json:"recovered_seconds"`
	// LostFiles is the number of files that lost unsynced data in a power loss.
	LostFiles int `json:"lost_files,omitempty"`
	// Recovery is not in run.json. figures.ReadTrialFiles computes it from slots.jsonl.
	Recovery
	// Failure is a sentence with the reason if the fault was not injected or ended early, or if the
	// cluster did not become ready afterwards. Failure is empty if the fault took place as
	// requested.
	Failure string `json:"failure,omitempty"`
}

// Injected reports whether the fault was injected.
func (f *Fault) Injected() bool { return f.BeganAt != nil }

// Recovery describes the effect of a fault on the load, as clients observed it. Outages end at the
// next fault or at the end of the window. Failures and late events are attributed to the fault that
// caused them; see figures.findCause. Times are in seconds after the start of the window. All
// fields are zero before figures.ReadTrialFiles, if the fault was not injected in the window, or if
// slots.jsonl cannot be read.
type Recovery struct {
	// Outage is the longest gap without any completed operation after the start of the fault. The
	// search for this gap ends at the next fault, or at the end of the window. OutageStart is the
	// start of the gap. With one worker, Outage is exact to a millisecond. With several workers,
	// Outage can be too short, by up to the difference between the start times of their windows.
	// Outage and OutageStart are absent if the gap was not significantly longer than
	// LongestGapBefore.
	//
	// LongestGapBefore is the longest gap without any completed operation before this fault. The
	// search for it begins at the end of the previous fault's effects, or at the start of the
	// window. LongestGapBefore is absent if no operation completed in that time.
	Outage           *float64 `json:"outage_seconds,omitempty"`
	OutageStart      *float64 `json:"outage_from_seconds,omitempty"`
	LongestGapBefore *float64 `json:"longest_gap_before_seconds,omitempty"`
	// OutageUnfinished is set if the outage had not ended at the next fault or the end of the
	// window. The true length of the outage is then greater than Outage.
	OutageUnfinished bool `json:"outage_unfinished,omitempty"`
	// FirstFailureAt is the time of the first failure that the fault caused, to 10 ms. It is
	// absent if the fault caused no failure; see figures.findCause.
	FirstFailureAt *float64 `json:"first_failure_seconds,omitempty"`
	// Definite is the number of these failures after which it is certain that no write was
	// executed. It includes the failures of reads. Indefinite is the number of failed writes that
	// may have been executed.
	Definite   uint64 `json:"errors_definite,omitempty"`
	Indefinite uint64 `json:"errors_indefinite,omitempty"`
	// ThroughputRecoveredAt is the time at which throughput had recovered. After this time, every
	// interval of one second (in steps of 10 ms) has about as many successes as before the fault.
	// The number of successes may be lower than the mean before the fault by 5 %, or by 1.5 times
	// the largest deviation before the fault. In an open loop, the number must not exceed the mean
	// by more than this either, because the backlog must be gone. ThroughputRecoveredAt is null if
	// throughput did not recover, or if there is no interval of one second before the fault for a
	// comparison.
	ThroughputRecoveredAt *float64 `json:"throughput_recovered_seconds,omitempty"`
	// P99RecoveredAt is the time at which the p99 of the response times had recovered. The p99 is
	// known for each whole second of the window, and covers the operations that were due in that
	// second. In the seconds after P99RecoveredAt, no p99 exceeds a limit, which depends on the
	// p99s in the seconds before the fault. The limit is 105 % of the median of those p99s, or this
	// median plus 1.5 times the difference between the highest of them and the median, whichever is
	// higher.
	P99RecoveredAt *float64 `json:"p99_recovered_seconds,omitempty"`
	// ByPart holds the longest time without a success for each member. If the load has several
	// operations, it also holds this time for each operation.
	ByPart []PartOutage `json:"outages,omitempty"`
	// Clients summarizes the outages of the single clients of a closed loop. It is absent in an
	// open loop, and if there were too many waits to store.
	Clients *ClientOutages `json:"clients,omitempty"`
	// Watch reports on watch events. It is nil if no watcher received an event in the window.
	// Leases reports on expired leases. It is nil if no lease expired.
	Watch  *WatchRecovery `json:"watch,omitempty"`
	Leases *EndedLeases   `json:"leases,omitempty"`
}

// ClientOutages summarizes the outages of single clients. The outage of a client is the client's
// longest time without a success. The time must begin after the effects of the previous fault were
// over, and must end after this fault began. The outage counts as 0 if it was shorter than a tenth
// of a second, or not longer than the longest such time of any client before the fault.
type ClientOutages struct {
	Clients int     `json:"clients"`
	Median  float64 `json:"median_seconds"` // if Clients is even, the slower of the middle two
	Worst   float64 `json:"worst_seconds"`
	// UnfinishedOutages is the number of clients that had no success before the next fault or the
	// end of the window. The true outages of these clients are longer than recorded.
	UnfinishedOutages int `json:"lasted,omitempty"`
}

// PartOutage is the longest time without a success at one member or for one operation; see
// Fault.Outage.
type PartOutage struct {
	Member      string   `json:"member,omitempty"`
	Operation   string   `json:"operation,omitempty"`
	Consistency string   `json:"consistency,omitempty"`
	Outage      *float64 `json:"outage_seconds"`
	OutageStart *float64 `json:"outage_from_seconds"`
	Unfinished  bool     `json:"outage_unfinished,omitempty"`
}

// WatchRecovery reports on the events that watchers received from the start of the fault to the
// next fault, or to the end of the window. A late event is attributed to the fault that caused it;
// see figures.findCause.
type WatchRecovery struct {
	// Outage is the longest time without any watch event; see Fault.Outage.
	Outage      *float64 `json:"outage_seconds"`
	OutageStart *float64 `json:"outage_from_seconds"`
	Unfinished  bool     `json:"outage_unfinished,omitempty"`
	// MaxDelay is the longest time from when a write was sent until its event arrived, over all
	// events that arrived after the start of the fault and are attributed to it. MaxDelayBefore is
	// the longest such time between the end of the previous fault's effects and this fault. Both
	// are exact to a millisecond, and null if no such time is known.
	MaxDelay       *float64 `json:"latest_event_seconds"`
	MaxDelayBefore *float64 `json:"latest_event_before_seconds"`
	// Late is the number of events that arrived at least a tenth of a second after their write was
	// sent, and with a longer delay than every event before the fault. Delays are compared by
	// class. The classes start at 0.1 s, 0.2 s, 0.4 s and so on.
	Late uint64 `json:"late_events"`
	// Lost is the number of events that were skipped: a later event of the same key arrived, but
	// the skipped event did not arrive before the next fault or the end of the window. It is null
	// if the store's events do not reveal that others were skipped. For example, events from
	// ZooKeeper and Consul contain no version of the key, or report only the newest version.
	Lost *uint64 `json:"lost_events"`
	// EndedWatchers is the number of watchers that the store ended permanently. Resubscribed is the
	// number of times that a watcher was re-created.
	EndedWatchers uint64 `json:"ended_watchers"`
	Resubscribed  uint64 `json:"resubscribed"`
}

// EndedLeases counts leases that the store reported as expired or revoked. Each lease counts once,
// at the time at which its end was first observed. EndedEarly is the number of leases that the
// store reported as ended although the time for which they had been renewed was not over.
type EndedLeases struct {
	Ended      uint64 `json:"ended"`
	EndedEarly uint64 `json:"ended_early"`
}

// OutageSentences returns one sentence for each kind of fault. The sentence describes the outages
// that the faults of this kind caused.
func OutageSentences(all []Fault) (out []string) {
	byWhat := map[string][]*Fault{}
	var kinds []string
	for i := range all {
		f := &all[i]
		if f.LongestGapBefore == nil {
			continue
		}
		if byWhat[f.Description] == nil {
			kinds = append(kinds, f.Description)
		}
		byWhat[f.Description] = append(byWhat[f.Description], f)
	}
	for _, what := range kinds {
		out = append(out, outageSentence(what, byWhat[what]))
	}
	return out
}

// outageSentence returns a sentence about the faults of one kind. For several faults, the sentence
// contains the median outage. A fault without an outage counts as 0.
func outageSentence(what string, all []*Fault) string {
	var outages, ready []float64
	longest, lasted := 0.0, 0
	for _, f := range all {
		if f.OutageUnfinished {
			lasted++
		}
		longest = max(longest, *f.LongestGapBefore)
		outages = append(outages, measure.OrZero(f.Outage))
		if f.RecoveredAt != nil {
			ready = append(ready, *f.RecoveredAt-*f.BeganAt)
		}
	}
	slices.Sort(outages)
	slices.Sort(ready)
	words := what
	if len(all) > 1 {
		words += fmt.Sprintf(", %d times", len(all))
	} else {
		words += " at " + text.MeasuredSeconds(*all[0].BeganAt)
	}
	if outages[len(outages)-1] == 0 {
		words += fmt.Sprintf(": no outage (no gap was significantly longer than the longest gap before the fault, %s)", text.MeasuredSeconds(longest))
	} else {
		words += fmt.Sprintf(": no operation completed for %s; the longest gap before the fault was %s", medianAndMax(outages), text.MeasuredSeconds(longest))
	}
	switch {
	case lasted > 0 && len(all) == 1:
		words += "; the outage had not ended when the window closed or the next fault began, so it may have lasted longer"
	case lasted > 0:
		words += fmt.Sprintf("; %s had not ended when the window closed or the next fault began, so the true times may be longer", text.Plural(uint64(lasted), "outage"))
	}
	switch {
	case len(ready) == 0:
		words += "; quorumbench did not see all members respond again"
	case len(ready) < len(all):
		words += fmt.Sprintf("; all members responded and agreed on a leader again %s after the fault began (not observed for %s)", medianAndMax(ready), text.Plural(uint64(len(all)-len(ready)), "other fault"))
	default:
		words += fmt.Sprintf("; all members responded and agreed on a leader again %s after the fault began", medianAndMax(ready))
	}
	return words
}

// medianAndMax formats one duration. For several durations, which must be sorted, it formats the
// median and the longest.
func medianAndMax(all []float64) string {
	if len(all) == 1 {
		return text.MeasuredSeconds(all[0])
	}
	return fmt.Sprintf("%s (median; at most %s)", text.MeasuredSeconds(all[len(all)/2]), text.MeasuredSeconds(all[len(all)-1]))
}

// spanSlack is the length of two periods that count as part of a fault: one before it and one after
// it. An operation that failed because of the fault was due before the fault began, and the clocks
// of different logs do not agree exactly.
const spanSlack = time.Second

// InFault reports whether a time, in seconds after the start of the window, is within a fault. A
// fault lasts from its start until all members again respond and agree on a leader. If this was
// never observed, the fault does not end.
func InFault(all []Fault, at float64) bool { return OverlapsFault(all, at, at) }

// OverlapsFault reports whether any part of the time between `from` and `to` is within a fault; see
// InFault.
func OverlapsFault(all []Fault, from, to float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool {
		return f.Injected() && to >= *f.BeganAt-spanSlack.Seconds() && (f.RecoveredAt == nil || from <= *f.RecoveredAt+spanSlack.Seconds())
	})
}

// InRecoveredFault reports whether a time is within a fault from which the cluster recovered
// completely. A member that was lost at that time has come back.
func InRecoveredFault(all []Fault, at float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool { return f.RecoveredAt != nil && InFault([]Fault{f}, at) })
}

func countInjected(all []Fault) (n int) {
	for i := range all {
		if all[i].Injected() {
			n++
		}
	}
	return n
}

func failedFaults(all []Fault) (out []string) {
	for i := range all {
		if f := &all[i]; f.Failure != "" {
			out = append(out, fmt.Sprintf("fault %d (%s at %s): %s", f.Number, f.Description, text.Seconds(f.ScheduledAt), f.Failure))
		}
	}
	return out
}
