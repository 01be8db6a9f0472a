package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
)

// clock is how the time of an event is printed.
const clock = "15:04:05.000"

// events writes what happened in the trials' windows, and nothing where
// nothing did.
func events(b *bytes.Buffer, trials []record.Trial) {
	head := "\nWhat happened (times in UTC; events.jsonl has it all)\n"
	for i := range trials {
		h := analyze.EventsOf(&trials[i])
		if h.None() {
			continue
		}
		b.WriteString(head)
		head = ""
		indent := "  "
		if len(trials) > 1 {
			indent += analyze.Label(h.Trial) + ": "
		}
		for _, line := range eventLines(&h) {
			fmt.Fprintf(b, "%s%s\n", indent, line)
			indent = "    "
		}
	}
}

// eventLines are one line about everything, and one each for the longest gap
// and the slowest second.
func eventLines(h *analyze.WindowEvents) (lines []string) {
	if len(h.Counted) > 0 {
		line := strings.Join(counts(h), "; ")
		if h.Uncounted {
			line += "; there were too many to list them all, and some are only counted"
		}
		lines = append(lines, line)
	}
	if h.HeldClients > 0 {
		lines = append(lines, fmt.Sprintf("%s waited for a member from which the load had moved away, for up to %s",
			readable.Plural(uint64(h.HeldClients), "client"), duration(h.HeldLongest)))
	}
	if s := h.Gap; s != nil {
		lines = append(lines, fmt.Sprintf("in the longest gap, %s from %s: %s", duration(s.Length), s.From.UTC().Format(clock), during(s)))
	}
	if s := h.Slowest; s != nil {
		how := "with p99 " + readable.Figure(s.P99)
		if !s.P99.Known {
			how = "with " + readable.Plural(s.Errors, "error")
		}
		lines = append(lines, fmt.Sprintf("in the slowest second, from %s %s: %s", s.From.UTC().Format(clock), how, during(s)))
	}
	return lines
}

func duration(d time.Duration) string { return readable.Duration(float64(d)) }

// eventNoun is a number of events of a kind.
func eventNoun(kind stores.SignalKind, n uint64) string {
	switch kind {
	case stores.Elected:
		return readable.Plural(n, "election")
	case stores.QuotaReached:
		return readable.Either(n, "write beyond the space quota", "writes beyond the space quota")
	case stores.FullStateReceived:
		return readable.Either(n, "member brought up with the whole state", "members brought up with the whole state")
	case stores.SlowFsync:
		return readable.Plural(n, "slow log sync")
	case stores.SlowApply:
		return readable.Either(n, "slow apply", "slow applies")
	case stores.SlowRead:
		return readable.Either(n, "read that waited for the leader", "reads that waited for the leader")
	case stores.Overloaded:
		return readable.Plural(n, "late heartbeat")
	case stores.GCPause:
		return readable.Plural(n, "garbage collection pause")
	case stores.SnapshotDone:
		return readable.Plural(n, "snapshot")
	case stores.SnapshotSkipped:
		return readable.Plural(n, "skipped snapshot")
	}
	return readable.Plural(n, string(kind)) // a compaction, a defragmentation
}

// counts is how often what happened, how long it took, and who took longest.
func counts(h *analyze.WindowEvents) []string {
	out := make([]string, 0, len(h.Counted))
	for i := range h.Counted {
		all := &h.Counted[i]
		text := eventNoun(all.Kind, all.Times)
		if all.Kind == stores.Elected {
			text += " (" + elections(all) + ")"
		} else if took := took(all, true); took != "" {
			text += " (" + took + ")"
		}
		out = append(out, text)
	}
	return out
}

// took is how long they took in all and the longest; empty if that is not
// known.
func took(all *analyze.Events, who bool) string {
	if all.Longest.Duration <= 0 {
		return ""
	}
	longest := duration(all.Longest.Duration)
	if who {
		longest += ", " + all.Longest.Member
	}
	if all.Times == 1 {
		return longest
	}
	return fmt.Sprintf("%s in all, the longest %s", duration(all.Total), longest)
}

// elections lists members and times.
func elections(all *analyze.Events) string {
	named, more := all.Named()
	out := make([]string, 0, len(named))
	for _, e := range named {
		out = append(out, e.Member+" at "+e.Time.UTC().Format(clock))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// during lists what happened in a stretch of time.
func during(s *analyze.Stretch) string {
	out := make([]string, 0, len(s.Events)+1)
	for i := range s.Events {
		out = append(out, eventText(&s.Events[i]))
	}
	if s.More > 0 {
		out = append(out, fmt.Sprintf("and %d more", s.More))
	}
	return strings.Join(out, "; ")
}

// eventText is what happened, with its time.
func eventText(all *analyze.Events) string {
	e := all.Longest
	text, _, _ := strings.Cut(e.Text, ": ") // the reason is in the file
	if e.Line != "" {
		text = e.Member + " " + all.Kind.Says()
		if all.Times > 1 {
			text += fmt.Sprintf(" %s times", readable.Count(all.Times))
		}
		if took := took(all, false); took != "" {
			text += " (" + took + ")"
		}
	}
	when := e.Time.UTC().Format(clock)
	if e.Count > 0 {
		when = "at some time from " + e.First.UTC().Format(clock) + " to " + when
	}
	return when + " " + text
}
