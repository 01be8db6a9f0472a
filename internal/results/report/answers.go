package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// answersHead is above what came of checking answers.
const answersHead = "Were the answers right"

// Answers returns a line for each thing that there is to say of a check.
func Answers(a *record.Answers) (lines []string) {
	if a == nil {
		return nil
	}
	if a.Failure != "" {
		return []string{"not verified: " + a.Failure}
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	verdict := "no promise was broken"
	switch {
	case len(a.Wrong) > 0:
		verdict = "WRONG: " + a.WrongAnswers()
	case a.Judged == 0:
		verdict = "nothing was decided"
	}
	add("%s, in %s of %s", verdict, text.Plural(a.Judged, "operation"), text.Plural(a.Keys, "key"))
	for i := range a.Violations {
		v := &a.Violations[i]
		add("%s; the promise broken is %q, by %s", v.Title(), v.Promise, v.Source)
		for _, line := range v.History {
			add("    %s", line)
		}
		add("    %s", v.Why)
	}
	if a.Indefinite > 0 {
		add("%s may have been done or not, of which %s seen to be", text.Plural(a.Indefinite, "write"), wereCount(a.Resolved))
	}
	for i := range a.Members {
		m := &a.Members[i]
		if m.Failure != "" {
			add("%s was not read whole after the load: %s", m.Who(), m.Failure)
			continue
		}
		add("%s was read whole after the load: %s", m.Who(), text.Plural(m.Keys, "key"))
	}
	if w := a.Watches; w != nil {
		add("%s", watches(w))
	}
	if l := a.Leases; l != nil {
		words := fmt.Sprintf("%s: %s in all; %s found gone", text.Plural(l.Leases, "lease"), text.Plural(l.KeptAlive, "keep-alive"), wereCount(l.Gone))
		if s := l.Late; s != nil {
			words += ", after their time at most by " + spread(s, l.Gone)
		}
		lines = append(lines, words)
	}
	if l := a.Locks; l != nil {
		lines = append(lines, locks(l))
	}
	for i := range a.Staleness {
		lines = append(lines, staleness(&a.Staleness[i]))
	}
	for _, promise := range slices.Sorted(maps.Keys(a.NotPromised)) {
		add("%s broke %q, which the store does not promise", text.Plural(a.NotPromised[promise], "answer"), promise)
	}
	lines = append(lines, a.Undecided...)
	add("verified in %s; the history took %s on disk%s", text.Seconds(a.Seconds), text.Bytes(uint64(max(a.Bytes, 0))), eachOperation(a))
	return lines
}

// watches is what watchers were told.
func watches(w *record.CheckedWatches) string {
	words := fmt.Sprintf("%s got %s and %s", text.Plural(w.Watchers, "watcher"), text.Plural(w.Events, "event"), text.Plural(w.Progress, "progress notification"))
	if w.Resumed > 0 {
		words += fmt.Sprintf("; after lost connections they were created again, %s", text.Plural(w.Resumed, "time"))
	}
	if w.Ended > 0 {
		words += fmt.Sprintf("; the store ended %s of them, and what they had not been told is not held against it", text.Count(w.Ended))
	}
	return words
}

// locks is what became of locks.
func locks(l *record.CheckedLocks) string {
	times := func(s *record.Spread) string { return spread(s, l.Granted) }
	words := fmt.Sprintf("%s: had %s; waited for %s; held for %s", text.Plural(l.Locks, "lock"), text.Plural(l.Granted, "time"), times(&l.Waits), times(&l.Holds))
	if l.Outlived > 0 {
		words += fmt.Sprintf("; had by another %s while a holder, whose lease may have ended, took it for his own, which the store does not promise to prevent", text.Plural(l.Outlived, "time"))
	}
	return words
}

// spread returns the median of so many times, where they support it, and the longest.
func spread(s *record.Spread, count uint64) string {
	words := "max " + text.Duration(float64(s.Max))
	if p50, ok := s.At(50, count); ok {
		words = "p50 " + text.Duration(float64(p50)) + ", " + words
	}
	return words
}

func wereCount(n uint64) string {
	if n == 1 {
		return "1 was"
	}
	return text.Count(n) + " were"
}

func eachOperation(a *record.Answers) string {
	if each, ok := a.BytesEach(); ok {
		return fmt.Sprintf(", %.1f bytes an operation", each)
	}
	return ""
}

// staleness is how old one member's answers were.
func staleness(s *record.Staleness) string {
	words := fmt.Sprintf("%s reads at %s: %s of %s returned an old version", s.Consistency, s.Who(), text.Count(s.Behind), text.Count(s.Reads))
	if s.Behind == 0 {
		return words
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	line := func(d *record.Spread, words func(int64) string) string {
		figure := func(p float64) string {
			if at, ok := d.At(p, s.Reads); ok {
				return words(at)
			}
			return text.Dash
		}
		return fmt.Sprintf("p50 %s, p99 %s, p99.9 %s, max %s", figure(50), figure(99), figure(99.9), words(d.Max))
	}
	return words + "; versions behind " + line(&s.Versions, count) + "; time behind " + line(&s.Times, behind)
}

// behind is a time, and 0 for none.
func behind(ns int64) string {
	if ns == 0 {
		return "0"
	}
	return text.Duration(float64(ns))
}
