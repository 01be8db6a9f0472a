package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// clock is the format for the time of an event.
const clock = "15:04:05.000"

// ofRows returns lines about each row. If there are several rows, the first line about a row begins
// with the row's name.
func ofRows(rows []*analyze.Row, lines func(*analyze.Row) []string) (all []string) {
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

// ofTrials returns lines about each trial. If there are several trials, the lines include their
// names.
func ofTrials(trials []record.Trial, lines func(*record.Trial) []string) (all []string) {
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
func events(to layout, rows []*analyze.Row) {
	to.section("Events (times in UTC; all of them in events.jsonl)", ofRows(rows, func(r *analyze.Row) []string {
		h := analyze.EventsOfRow(r)
		return EventLines(&h)
	}))
}

// EventLines describes the events in a trial's window: one line for all events, one line for the
// longest gap, and one line for the slowest second.
func EventLines(h *analyze.WindowEvents) (lines []string) {
	if len(h.Counted) > 0 {
		line := strings.Join(counts(h), "; ")
		if h.Uncounted {
			line += "; only their number is known for some of them, because there were too many"
		}
		lines = append(lines, line)
	}
	if h.Within > 0 {
		lines = append(lines, fmt.Sprintf("the times of events on other hosts may be off by %s", duration(h.Within)))
	}
	if h.HeldClients > 0 {
		lines = append(lines, fmt.Sprintf("%s waited for a member%s after the load had moved to another member, for up to %s",
			text.Plural(uint64(h.HeldClients), "client"), h.HeldIn, duration(h.HeldLongest)))
	}
	if s := h.Gap; s != nil {
		lines = append(lines, fmt.Sprintf("in the longest gap, %s from %s%s: %s", duration(s.Length), s.From.UTC().Format(clock), s.In, during(s)))
	}
	if s := h.Slowest; s != nil {
		how := "with p99 " + s.P99.Text()
		if !s.P99.Known {
			how = "with " + text.Plural(s.Errors, "error")
		}
		lines = append(lines, fmt.Sprintf("in the slowest second, from %s%s %s: %s", s.From.UTC().Format(clock), s.In, how, during(s)))
	}
	return lines
}

func duration(d time.Duration) string { return text.Duration(float64(d)) }

// counts describes, for each kind of event, the number of events, their total time and the longest
// event.
func counts(h *analyze.WindowEvents) []string {
	out := make([]string, 0, len(h.Counted))
	for i := range h.Counted {
		all := &h.Counted[i]
		text := all.Count + all.In
		if all.Kind == stores.Elected {
			text += " (" + elections(all) + ")"
		} else if took := took(all, true); took != "" {
			text += " (" + took + ")"
		}
		out = append(out, text)
	}
	return out
}

// took describes the total time of events and the longest event. It returns an empty string if no
// duration is known.
func took(all *analyze.Events, who bool) string {
	if all.Longest.Duration <= 0 {
		return ""
	}
	longest := duration(all.Longest.Duration)
	if who {
		longest += ", " + all.Longest.Member + all.LongestIn
	}
	if all.Times == 1 {
		return longest
	}
	return fmt.Sprintf("%s in total, longest %s", duration(all.Total), longest)
}

// elections lists the elected members with the times.
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

// during lists the events in a period.
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

// eventText describes an event and includes its time.
func eventText(all *analyze.Events) string {
	e := all.Longest
	when := e.Time.UTC().Format(clock)
	if e.Count > 0 {
		when = "between " + e.First.UTC().Format(clock) + " and " + when
	}
	return when + " " + EventText(all)
}

// limited adds the section about the bottlenecks of the trials. A bottleneck that several trials
// share is listed once.
func limited(to layout, trials []*record.Trial) {
	var lines []string
	last := ""
	for _, c := range analyze.LimitsOfTrials(trials) {
		line := SharedLimitText(&c)
		switch who := trialNames(c.Trials, c.Count == len(trials) && len(trials) > 1) + ": "; {
		case len(trials) == 1:
		case who == last: // below other bottlenecks of the same trials
			line = "  " + line
		default:
			line, last = who+line, who
		}
		lines = append(lines, "  "+line)
	}
	to.section("Bottlenecks", lines)
}

// SharedLimitText returns the text for a bottleneck that several trials share; see LimitText.
func SharedLimitText(c *analyze.SharedCause) string {
	of := c.Cause
	of.Text = causeText(c)
	return LimitText(&of, c.More)
}

// LimitText returns the text for a bottleneck with its kind, and the number of further bottlenecks
// of that kind.
func LimitText(c *analyze.Cause, more int) string {
	words := c.What + ": " + c.Text
	if more > 0 {
		words += fmt.Sprintf("; %d more of this kind", more)
	}
	return words
}

// causeText returns a description of the bottleneck in the trial that it limited most.
func causeText(c *analyze.SharedCause) string {
	switch {
	case c.Count == 1 || c.Same:
		return c.Text
	case c.Limit > 0:
		return fmt.Sprintf("worst in %s: %s", c.Furthest, c.Text)
	}
	return fmt.Sprintf("in %s: %s", c.Furthest, c.Text)
}

// LostConnectionLines returns a line for each member that lost connections. The line shows which
// members served the load in the meantime.
func LostConnectionLines(t *record.Trial) (lines []string) {
	for _, b := range analyze.LostConnections(t) {
		l := b.Links
		line := fmt.Sprintf("%s lost %s", b.Name, text.Plural(uint64(max(l.Lost, 0)), "connection"))
		if l.LostAt != nil {
			line += fmt.Sprintf(" (%d of %d remained), from %s after the start of the window until ", l.Fewest, l.Opened, moment(*l.LostAt))
			if l.BackAt != nil {
				line += moment(*l.BackAt)
			} else {
				line += "its end"
			}
		}
		lines = append(lines, line+meanwhile(l.Meanwhile))
	}
	return lines
}

// moment formats a time in the window, to 10 ms.
func moment(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 2, 64) + " s" }

// meanwhile describes the throughput while connections were lost, and the members that served it.
func meanwhile(w *record.ServiceWhileLost) string {
	if w == nil {
		return ""
	}
	words := "; meanwhile " + text.PerSecond(w.PerSecond)
	if w.Otherwise != nil {
		words += fmt.Sprintf(" (%s otherwise)", text.PerSecond(*w.Otherwise))
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

// reasons adds the reasons why trials are not valid, and the notes.
func reasons(to layout, run *record.Run) {
	why, notes := analyze.Reasons(run)
	to.list("Verdicts", about(why, len(run.Trials)))
	to.list("Notes", about(notes, len(run.Trials)))
}

// about returns sentences, each preceded by the names of the trials to which it applies. trials is
// the number of all trials.
func about(all []analyze.Sentence, trials int) []string {
	lines := make([]string, 0, len(all))
	for _, s := range all {
		line := s.Text
		if s.Worst != "" {
			line = "worst trial " + s.Worst + ": " + line
		}
		lines = append(lines, trialNames(s.Trials, s.Count == trials && trials > 1)+": "+line)
	}
	return lines
}

// trialNames lists the names of trials. It returns "all trials" if all is set and there are
// several.
func trialNames(names []string, all bool) string {
	if all {
		return "all trials"
	}
	return strings.Join(names, ", ")
}
