package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/readable"
)

// The kinds of the events of a fault.
const (
	FaultBegan  = "fault"
	FaultHealed = "fault_healed"
	FaultReady  = "fault_ready"
	FaultUndone = "fault_not_done"
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
	// Failure says in a sentence what was not as asked: it was not done, was cut
	// short, or the cluster did not become ready. Empty for nothing.
	Failure string `json:"failure,omitempty"`
}

// Done reports whether the fault was done, whatever became of it then.
func (f *Fault) Done() bool { return f.Began != nil }

// spanSlack is how much before a fault began and after the cluster was seen whole
// again something may be known that the fault did: an operation that it failed was
// due before, and clocks of logs differ.
const spanSlack = time.Second

// Caused reports whether what was seen at a time, in seconds of the window, is
// within a fault: from when it began until the cluster was seen whole again, and
// without end where it never was.
func Caused(all []Fault, at float64) bool {
	return slices.ContainsFunc(all, func(f Fault) bool {
		return f.Done() && at >= *f.Began-spanSlack.Seconds() && (f.Ready == nil || at <= *f.Ready+spanSlack.Seconds())
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
			out = append(out, fmt.Sprintf("fault %d (%s at %s): %s", f.Number, f.What, readable.Seconds(f.Asked), f.Failure))
		}
	}
	return out
}
