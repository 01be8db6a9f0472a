package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The kinds of the events of a fault.
const (
	FaultBegan  = "fault"
	FaultHealed = "fault_healed"
	FaultReady  = "fault_ready"
	FaultUndone = "fault_not_done"
	// FaultStep is of one member of a fault that is done to one after the other.
	FaultStep = "fault_step"
)

// AllMembers is the Member of a fault that was done to all at once.
const AllMembers = "all"

// Fault is what became of one fault that a scenario asks for. Times are seconds of
// the window; null for what did not come.
type Fault struct {
	Number int     `json:"number"` // from 1, in the order of the times asked for
	What   string  `json:"what"`   // such as "kill leader for 3s"
	Asked  float64 `json:"asked_seconds"`
	Do     string  `json:"do"`
	// Member is the name of the one that it was done to, or AllMembers, and Role the
	// one's role then; empty where it was not done.
	Member string `json:"member"`
	Role   string `json:"role"`
	// Began is when the signal was sent; Ended when the last of the member's
	// processes had ended, of those that are ended; Healed when the member was
	// started again or went on; and Ready when all members answered again and
	// agreed on a leader, as seen by asking.
	Began  *float64 `json:"began_seconds"`
	Ended  *float64 `json:"ended_seconds"`
	Healed *float64 `json:"healed_seconds"`
	Ready  *float64 `json:"ready_seconds"`
	// LostFiles is how many files lost what was not synced, when the power went.
	LostFiles int `json:"lost_files,omitempty"`
	// Outage is how long no operation of any kind was done: the longest time of that
	// from the fault's begin to the next fault's, or to the window's end. It is known to
	// a millisecond with one worker; with several it can be shorter by as much as their
	// windows opened apart. It began at OutageFrom. Both are null where it was not
	// longer, by more than chance makes of gaps, than LongestBefore: the longest gap
	// from the end of the fault before, or the window's opening, until this one. That
	// is null where nothing was done in that time to compare with.
	Outage        *float64 `json:"outage_seconds"`
	OutageFrom    *float64 `json:"outage_from_seconds"`
	LongestBefore *float64 `json:"longest_gap_before_seconds"`
	// OutageLasted says that it was not over at the next fault or the window's end: it
	// is longer than that.
	OutageLasted bool `json:"outage_lasted,omitempty"`
	Recovery
	// Failure says in a sentence what was not as asked: it was not done, was cut
	// short, or the cluster did not become ready. Empty for nothing.
	Failure string `json:"failure,omitempty"`
}

// Done reports whether the fault was done, whatever became of it then.
func (f *Fault) Done() bool { return f.Began != nil }

// Recovery is how the load came through a fault, from outside. Times are seconds of
// the window. Looked at is the time until the next fault or the window's end.
type Recovery struct {
	// FirstFailure is when the first operation was seen to fail, to 10 ms; null for
	// none.
	FirstFailure *float64 `json:"first_failure_seconds,omitempty"`
	// Definite are errors of operations that did not happen, reads among them, and
	// Indefinite of writes that may have.
	Definite   uint64 `json:"errors_definite,omitempty"`
	Indefinite uint64 `json:"errors_indefinite,omitempty"`
	// ThroughputBack is from when on each second, of those that begin 10 ms apart, had
	// as many successes as before: within 5 %, or as far from the mean, and half as far
	// again, as any had been before. In an open loop they have not more either: what
	// had to wait is worked off. It is null where that did not come, or nothing is
	// known of a second before.
	ThroughputBack *float64 `json:"throughput_back_seconds,omitempty"`
	// P99Back is the same of the p99 of response times, which is known by the second in
	// which operations were due: none was above 105 % of the median second's before,
	// nor half as far again above that as any had been.
	P99Back *float64 `json:"p99_back_seconds,omitempty"`
	// Parts are the longest times without a success of each member and, where there
	// are several, of each operation.
	Parts []PartOutage `json:"outages,omitempty"`
	// Clients are the longest times without a success of the clients of a closed loop;
	// absent in an open one, and where there were more than are kept.
	Clients *ClientOutages `json:"clients,omitempty"`
	// Watch is what watchers were told, and Leases which were found to have ended; nil
	// where no watcher was told anything in the window, and no lease ended.
	Watch  *WatchRecovery `json:"watch,omitempty"`
	Leases *EndedLeases   `json:"leases,omitempty"`
}

// ClientOutages are the longest times without a success of single clients that began
// after what a fault before had done was over, and end after this one began; of a
// client that had none longer than any had before, or none of a tenth of a second,
// that is 0.
type ClientOutages struct {
	Clients int     `json:"clients"`
	Median  float64 `json:"median_seconds"` // of an even number, the slower of the middle two
	Worst   float64 `json:"worst_seconds"`
	// Lasted is how many had no success any more until the next fault or the window's
	// end: theirs are longer than that.
	Lasted int `json:"lasted,omitempty"`
}

// PartOutage is the longest time in which one member answered nothing with success, or
// one operation had none, like Fault.Outage.
type PartOutage struct {
	Member      string   `json:"member,omitempty"`
	Operation   string   `json:"operation,omitempty"`
	Consistency string   `json:"consistency,omitempty"`
	Outage      *float64 `json:"outage_seconds"`
	From        *float64 `json:"outage_from_seconds"`
	Lasted      bool     `json:"outage_lasted,omitempty"`
}

// WatchRecovery is what watchers were told from a fault's begin to the next one's, or
// the window's end.
type WatchRecovery struct {
	// Outage is the longest time without any event, like Fault.Outage.
	Outage *float64 `json:"outage_seconds"`
	From   *float64 `json:"outage_from_seconds"`
	Lasted bool     `json:"outage_lasted,omitempty"`
	// Latest is the longest time from when a write was sent until its event came, of the
	// events that came, and LatestBefore that of those since what the fault before had
	// done was over; to a millisecond. Null where none came of which it is known.
	Latest       *float64 `json:"latest_event_seconds"`
	LatestBefore *float64 `json:"latest_event_before_seconds"`
	// Late are events that came a tenth of a second or more after their write was sent,
	// and later than any before: by so many more doublings of a tenth of a second.
	Late uint64 `json:"late_events"`
	// Lost are events that were passed over: a later one of their key came, and they did
	// not, until the next fault or the window's end. Null where no watcher's events show
	// it: those of ZooKeeper and Consul have no version of their key, or tell the newest
	// alone.
	Lost *uint64 `json:"lost_events"`
	// Ended are watchers that the store ended for good, and Again how often one was
	// created again.
	Ended uint64 `json:"ended_watchers"`
	Again uint64 `json:"resubscribed"`
}

// EndedLeases are the leases that the store said are gone, each once, when that was
// first seen. Early are those that were said so before the time was over for which they
// had been kept alive.
type EndedLeases struct {
	Ended uint64 `json:"ended"`
	Early uint64 `json:"ended_early"`
}

// Broke are sentences on what the faults broke, and for how long: one for each kind
// of fault.
func Broke(all []Fault) (out []string) {
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

// broke is a sentence on faults of a kind. Where several were done, it has the
// median of them, and what is no outage counts as none.
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
		words += fmt.Sprintf(": no outage: no time without any success was longer than before, where the longest was %s", text.Lasted(longest))
	} else {
		words += fmt.Sprintf(": no operation succeeded for %s; the longest gap before was %s", medianAndMost(outages), text.Lasted(longest))
	}
	switch {
	case lasted > 0 && len(all) == 1:
		words += "; it was not over when the window closed or the next fault began, and is longer than that"
	case lasted > 0:
		words += fmt.Sprintf("; %d of them were not over when the window closed or the next fault began, and are longer than that", lasted)
	}
	switch {
	case len(ready) == 0:
		words += "; the cluster was not seen whole again"
	case len(ready) < len(all):
		words += fmt.Sprintf("; the cluster was whole again after %s, and was not seen so after %d of them", medianAndMost(ready), len(all)-len(ready))
	default:
		words += fmt.Sprintf("; the cluster was whole again after %s", medianAndMost(ready))
	}
	return words
}

// medianAndMost is one length of time, or the median and the longest of several that are sorted.
func medianAndMost(all []float64) string {
	if len(all) == 1 {
		return text.Lasted(all[0])
	}
	return fmt.Sprintf("%s at the median and %s at most", text.Lasted(all[len(all)/2]), text.Lasted(all[len(all)-1]))
}

// spanSlack is how much before a fault began and after the cluster was seen whole
// again something may be known that the fault did: an operation that it failed was
// due before, and clocks of logs differ.
const spanSlack = time.Second

// Caused reports whether what was seen at a time, in seconds of the window, is
// within a fault: from when it began until the cluster was seen whole again, and
// without end where it never was.
func Caused(all []Fault, at float64) bool { return CausedWithin(all, at, at) }

// CausedWithin reports whether a part of the time from one moment to another is
// within a fault likewise.
func CausedWithin(all []Fault, from, to float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool {
		return f.Done() && to >= *f.Began-spanSlack.Seconds() && (f.Ready == nil || from <= *f.Ready+spanSlack.Seconds())
	})
}

// Mended reports whether a fault that ends with a whole cluster caused what was
// seen at a time: a member that was lost then came back.
func Mended(all []Fault, at float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool { return f.Ready != nil && Caused([]Fault{f}, at) })
}

// doneFaults counts those that were done, and failedFaults are the sentences of
// those that were not as asked.
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
