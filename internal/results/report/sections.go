package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// clock is the format for the time of an event.
const clock = "15:04:05.000"

// linesOfRows returns the lines about all rows. With several rows, the first line about a row
// begins with the name of its trial.
func linesOfRows(rows []*analyze.Row, lines func(*analyze.Row) []string) (all []string) {
	for _, r := range rows {
		indent := "  "
		if len(rows) > 1 {
			indent += r.First().Name + ": "
		}
		for _, line := range lines(r) {
			all = append(all, indent+line)
			indent = "    "
		}
	}
	return all
}

// linesOfTrials returns the lines about all trials. With several trials, each line begins with the
// name of its trial.
func linesOfTrials(trials []record.Trial, lines func(*record.Trial) []string) (all []string) {
	for i := range trials {
		indent := "  "
		if len(trials) > 1 {
			indent += analyze.Label(&trials[i]) + ": "
		}
		for _, line := range lines(&trials[i]) {
			all = append(all, indent+line)
		}
	}
	return all
}

// events adds the section about events in the windows of the trials. Repeats are combined.
func events(out layout, rows []*analyze.Row) {
	out.section("Events (times in UTC; events.jsonl contains all events)", linesOfRows(rows, func(r *analyze.Row) []string {
		h := analyze.EventsOfRow(r)
		return EventLines(&h)
	}))
}

// EventLines describes the events in a trial's window. It returns one line about all events, one
// about the longest gap, one about the slowest one-second interval, and further lines if events on
// other hosts have inexact times or if clients waited for an unresponsive member.
func EventLines(h *analyze.WindowEvents) (lines []string) {
	if len(h.Counted) > 0 {
		line := strings.Join(counts(h), "; ")
		if h.TooManyToList {
			line += "; for some events, only their number is known, because too many occurred"
		}
		lines = append(lines, line)
	}
	if h.ClockUncertainty > 0 {
		lines = append(lines, fmt.Sprintf("the times of events on other hosts may be off by %s", duration(h.ClockUncertainty)))
	}
	if h.StrandedClients > 0 {
		lines = append(lines, fmt.Sprintf("%s waited for a member%s for up to %s, although the load had already moved to another member",
			text.Plural(uint64(h.StrandedClients), "client"), h.StrandedRepeatsText, duration(h.LongestStranded)))
	}
	if s := h.Gap; s != nil {
		lines = append(lines, fmt.Sprintf("in the longest gap, %s starting at %s%s: %s", duration(s.Length), s.From.UTC().Format(clock), s.RepeatsText, eventsInStretch(s)))
	}
	if s := h.Slowest; s != nil {
		how := "with p99 " + s.P99.Text()
		if !s.P99.Known {
			how = "with " + text.Plural(s.Errors, "error")
		}
		lines = append(lines, fmt.Sprintf("in the slowest second, starting at %s%s, %s: %s", s.From.UTC().Format(clock), s.RepeatsText, how, eventsInStretch(s)))
	}
	return lines
}

func duration(d time.Duration) string { return text.Duration(float64(d)) }

// counts describes each kind of event: the number of events, their total time and the longest
// event.
func counts(h *analyze.WindowEvents) []string {
	out := make([]string, 0, len(h.Counted))
	for i := range h.Counted {
		all := &h.Counted[i]
		text := all.CountText + all.RepeatsText
		if all.Kind == stores.Elected {
			text += " (" + elections(all) + ")"
		} else if took := durationText(all, true); took != "" {
			text += " (" + took + ")"
		}
		out = append(out, text)
	}
	return out
}

// durationText describes the total duration of events and the duration of the longest event. It
// returns an empty string if no duration is known. If named is set, the text includes the member of
// the longest event.
func durationText(all *analyze.Events, named bool) string {
	if all.Longest.Duration <= 0 {
		return ""
	}
	longest := duration(all.Longest.Duration)
	if named {
		longest += ", " + all.Longest.Member + all.LongestRepeatText
	}
	if all.Occurrences == 1 {
		return longest
	}
	return fmt.Sprintf("%s in total, longest %s", duration(all.Total), longest)
}

// elections lists the elected members and the times of their elections.
func elections(all *analyze.Events) string {
	named, more := all.FirstFew()
	out := make([]string, 0, len(named))
	for _, e := range named {
		out = append(out, e.Member+" at "+e.Time.UTC().Format(clock))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// eventsInStretch lists the events in a stretch of the window.
func eventsInStretch(s *analyze.Stretch) string {
	out := make([]string, 0, len(s.Events)+1)
	for i := range s.Events {
		out = append(out, eventText(&s.Events[i]))
	}
	if s.OmittedEvents > 0 {
		out = append(out, fmt.Sprintf("and %d more", s.OmittedEvents))
	}
	return strings.Join(out, "; ")
}

// eventText describes an event, or several events of the same kind, with the time.
func eventText(all *analyze.Events) string {
	e := all.Longest
	when := e.Time.UTC().Format(clock)
	if e.Count > 0 {
		when = "between " + e.First.UTC().Format(clock) + " and " + when
	}
	return when + " " + EventText(all)
}

// limitParts adds the section about the bottlenecks of the trials. A bottleneck that several trials
// share is listed once.
func limitParts(out layout, trials []*record.Trial) {
	var lines []string
	last := ""
	for _, c := range limits.FindShared(trials) {
		line := SharedLimitText(&c)
		switch who := trialNames(c.Trials, c.Count == len(trials) && len(trials) > 1) + ": "; {
		case len(trials) == 1:
		case who == last: // the line above is about the same trials
			line = "  " + line
		default:
			line, last = who+line, who
		}
		lines = append(lines, "  "+line)
	}
	out.section("Bottlenecks", lines)
}

// SharedLimitText returns the text of LimitText for a bottleneck that several trials share.
func SharedLimitText(c *limits.SharedCause) string {
	of := c.Cause
	of.Text = causeText(c)
	return LimitText(&of, c.OtherCauses)
}

// LimitText returns the text for a bottleneck with its kind, and the number of further bottlenecks
// of that kind.
func LimitText(c *limits.Cause, more int) string {
	words := c.Kind + ": " + c.Text
	if more > 0 {
		words += fmt.Sprintf("; %d more of this kind", more)
	}
	return words
}

// causeText describes a bottleneck with the text for the trial that it limited most.
func causeText(c *limits.SharedCause) string {
	switch {
	case c.Count == 1 || c.SameText:
		return c.Text
	case c.Limit > 0:
		return fmt.Sprintf("worst in %s: %s", c.WorstTrial, c.Text)
	}
	return fmt.Sprintf("in %s: %s", c.WorstTrial, c.Text)
}

// LostConnectionLines returns a line for each member to which connections were lost. The line also
// shows which members served the load in the meantime.
func LostConnectionLines(t *record.Trial) (lines []string) {
	for _, b := range analyze.LostConnections(t) {
		l := b.Connections
		line := fmt.Sprintf("%s lost %s", b.Name, text.Plural(uint64(max(l.Lost, 0)), "connection"))
		if l.LostAt != nil {
			line += fmt.Sprintf(" (%d of %d remained), from %s after the start of the window until ", l.Fewest, l.AtOpening, text.FixedSeconds(*l.LostAt, 2))
			if l.BackAt != nil {
				line += text.FixedSeconds(*l.BackAt, 2)
			} else {
				line += "its end"
			}
		}
		lines = append(lines, line+lossEffectText(l.WhileLost))
	}
	return lines
}

// lossEffectText describes the throughput while connections were lost, and each member's share of
// it.
func lossEffectText(w *record.ServiceWhileLost) string {
	if w == nil {
		return ""
	}
	words := "; meanwhile " + text.PerSecond(w.PerSecond)
	if w.PerSecondOtherwise != nil {
		words += fmt.Sprintf(" (%s otherwise)", text.PerSecond(*w.PerSecondOtherwise))
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.Shares)) {
		if share := w.Shares[name]; share > 0 {
			parts = append(parts, name+" "+text.Share(share))
		}
	}
	if len(parts) > 0 {
		words += ", served by " + strings.Join(parts, ", ")
	}
	return words
}

// reasons adds two lists: the reasons why trials are not valid, and notes about the trials.
func reasons(out layout, run *record.Run) {
	reasonSentences, notes := analyze.Reasons(run)
	out.list("Verdicts", sentencesWithTrials(reasonSentences, len(run.Trials)))
	out.list("Notes", sentencesWithTrials(notes, len(run.Trials)))
}

// sentencesWithTrials returns the sentences. Before each sentence, it inserts the names of the
// trials to which the sentence applies. The parameter `trials` is the number of all trials.
func sentencesWithTrials(all []analyze.Sentence, trials int) []string {
	lines := make([]string, 0, len(all))
	for _, s := range all {
		line := s.Text
		if s.WorstTrial != "" {
			line = "worst trial " + s.WorstTrial + ": " + line
		}
		lines = append(lines, trialNames(s.Trials, s.Count == trials && trials > 1)+": "+line)
	}
	return lines
}

// trialNames lists the names of trials, or returns "all trials" if all is set.
func trialNames(names []string, all bool) string {
	if all {
		return "all trials"
	}
	return strings.Join(names, ", ")
}
