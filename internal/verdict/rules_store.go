package verdict

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Rules about what the store promises beyond its operations: watch events, and
// members that have the same data.

// R20EventsImpossible reports watch events that no write of the load explains.
func R20EventsImpossible(f *Figures) finding {
	switch e := &f.Events; {
	case e.Impossible > 0:
		return invalid("%d watch events arrived before their write was sent; this is a defect of quorumbench, or the events are not this load's", e.Impossible)
	case e.Wrong > 0:
		return invalid("%d watch events were of keys that their watcher does not watch", e.Wrong)
	}
	return fine()
}

// R21EventsFaulty reports watch events that are missing, repeated or out of order: a store
// promises every event once and in order.
func R21EventsFaulty(f *Figures) finding {
	e := &f.Events
	var faults []string
	add := func(n uint64, format string, args ...any) {
		if n > 0 {
			faults = append(faults, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	add(e.Lost, "%d of %d did not come, the warm-up's included", e.Expected)
	add(e.Duplicated, "%d came twice")
	add(e.Reordered, "%d came after a later one of their key")
	untimed := e.Untimed - min(e.Untimed, e.Impossible)
	add(untimed, "of %d it is not known when their write was sent")
	if len(faults) == 0 && e.Ended == 0 {
		return fine()
	}
	text := ""
	if len(faults) > 0 {
		text = "watch events: " + strings.Join(faults, ", ")
	}
	if e.Ended > 0 {
		ended := fmt.Sprintf("the store ended %d watchers: %s", e.Ended, e.EndedText)
		if text != "" {
			ended = "; " + ended
		}
		text += ended
	}
	return suspect("%s", text).of("watch")
}

// R22MembersDisagree reports members with different data after the load.
func R22MembersDisagree(f *Figures) finding {
	switch {
	case f.Disagreement != "":
		return invalid("the members' data differ: %s", f.Disagreement)
	case f.Incomparable != "":
		return suspect("the members' data could not be compared: %s", f.Incomparable)
	}
	return fine()
}

// R33ViolatedPromises reports responses that violate the store's promises: their speed is worth
// nothing.
func R33ViolatedPromises(f *Figures) finding {
	switch {
	case f.BrokenPromises != "":
		return invalid("the store answered wrongly: %s", f.BrokenPromises)
	case f.Unchecked != "":
		return suspect("not all of the store's answers were checked: %s", f.Unchecked)
	}
	return fine()
}

// R31FaultFailed reports faults that were not injected as asked, or a cluster that was not whole
// before or after one.
func R31FaultFailed(f *Figures) finding {
	if len(f.FaultFailures) == 0 {
		return fine()
	}
	return suspect("%s", strings.Join(f.FaultFailures, "; "))
}

// R24InventedMembers reports that servers named more members or terms than a cluster has:
// figures by role are then unknown.
func R24InventedMembers(f *Figures) finding {
	if f.Unreported == 0 {
		return fine()
	}
	return suspect("the answers named more members or terms than a cluster has: %d operations are of none of the %d that are kept apart", f.Unreported, measure.MaxReported).of("by-role")
}
