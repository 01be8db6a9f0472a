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
	switch w := f.Measured.Watching; {
	case w == nil:
	case w.Impossible > 0:
		return invalid("%s arrived before the write was sent; another program wrote the keys, or quorumbench has a defect", text.Plural(w.Impossible, "watch event"))
	case w.Wrong > 0:
		return invalid("watchers received %s for keys that they do not watch", text.Plural(w.Wrong, "watch event"))
	}
	return noFinding()
}

// R21FaultyEvents reports watch events that are missing, repeated or out of order. Stores guarantee
// that each event arrives once and in order. Repeated, reordered and untimed events are those in
// the window. Lost events are those of the whole load, because they are not known for the window
// alone.
func R21FaultyEvents(f *Figures) finding {
	whole, window := f.Measured.Watching, &f.Measured.Watch
	if whole == nil {
		return noFinding()
	}
	var faults []string
	add := func(n uint64, format string, args ...any) {
		if n > 0 {
			faults = append(faults, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	add(whole.Lost, "%d of %d lost (including the warm-up)", whole.Expected)
	add(window.Duplicated, "%d received twice")
	add(window.Reordered, "%d received after a later event of the same key")
	if !f.WatchesGivenKey {
		add(window.Untimed-min(window.Untimed, whole.Impossible), "%d for writes whose send time is unknown")
	}
	if len(faults) == 0 && whole.Ended == 0 {
		return noFinding()
	}
	words := strings.Join(faults, ", ")
	if whole.Ended > 0 {
		ended := fmt.Sprintf("the store ended %s: %s", text.Plural(whole.Ended, "watcher"), whole.EndedText)
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
	unattributed := uint64(0)
	for _, t := range f.phases() {
		unattributed += t.Unattributed
	}
	if unattributed == 0 {
		return noFinding()
	}
	return suspect("responses named too many members or terms: at most %d pairs of member and term are counted separately, and %d operations belong to other pairs", measure.MaxReported, unattributed).restrictTo("by-role")
}
