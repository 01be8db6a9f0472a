package verdict

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The rules in this file judge guarantees that concern more than a single operation, such as watch
// events and equal data on all members.

// R20ImpossibleEvents reports watch events that no write of the load can have caused.
func R20ImpossibleEvents(f *Figures) finding {
	switch e := &f.Events; {
	case e.Impossible > 0:
		return invalid("%s arrived before the write was sent; another program wrote the keys, or quorumbench has a defect", text.Plural(e.Impossible, "watch event"))
	case e.Wrong > 0:
		return invalid("watchers received %s for keys that they do not watch", text.Plural(e.Wrong, "watch event"))
	}
	return noFinding()
}

// R21FaultyEvents reports watch events that are missing, repeated or out of order. Stores guarantee
// that each event arrives once and in order.
func R21FaultyEvents(f *Figures) finding {
	e := &f.Events
	var faults []string
	add := func(n uint64, format string, args ...any) {
		if n > 0 {
			faults = append(faults, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	add(e.Lost, "%d of %d lost (including the warm-up)", e.Expected)
	add(e.Duplicated, "%d received twice")
	add(e.Reordered, "%d received after a later event of the same key")
	untimed := e.Untimed - min(e.Untimed, e.Impossible)
	add(untimed, "%d for writes whose send time is unknown")
	if len(faults) == 0 && e.Ended == 0 {
		return noFinding()
	}
	words := strings.Join(faults, ", ")
	if e.Ended > 0 {
		ended := fmt.Sprintf("the store ended %s: %s", text.Plural(e.Ended, "watcher"), e.EndedText)
		if words != "" {
			ended = "; " + ended
		}
		words += ended
	}
	return suspect("%s", words).restrictTo("watch")
}

// R22MembersDisagree reports members with different data after the load.
func R22MembersDisagree(f *Figures) finding {
	switch {
	case f.Disagreement != "":
		return invalid("the data of members differ: %s", f.Disagreement)
	case f.Incomparable != "":
		return suspect("the data of members could not be compared: %s", f.Incomparable)
	}
	return noFinding()
}

// R33Consistency reports responses that violate the store's guarantees. The speed of such responses
// is meaningless.
func R33Consistency(f *Figures) finding {
	switch {
	case f.BrokenGuarantees != "":
		return invalid("the store violated a consistency guarantee: %s", f.BrokenGuarantees)
	case f.Unverified != "":
		return suspect("not all responses were verified: %s", f.Unverified)
	}
	return noFinding()
}

// R31FaultFailed reports faults that were not injected as requested, and clusters that were not
// healthy before or after a fault.
func R31FaultFailed(f *Figures) finding {
	if len(f.FaultFailures) == 0 {
		return noFinding()
	}
	return suspect("%s", strings.Join(f.FaultFailures, "; "))
}

// R24UnknownMembers reports that responses named more members or terms than can be counted
// separately. If this happens, the figures by role are incomplete.
func R24UnknownMembers(f *Figures) finding {
	if f.Unattributed == 0 {
		return noFinding()
	}
	return suspect("responses named too many members or terms: at most %d pairs of member and term are counted separately, and %d operations belong to other pairs", measure.MaxReported, f.Unattributed).restrictTo("by-role")
}
