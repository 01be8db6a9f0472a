package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// verificationHead is the title of the section about the verification of a load's responses.
const verificationHead = "Verification"

// VerificationLines returns the lines of the section about the verification of a load's responses,
// or nil if the responses were not verified.
func VerificationLines(a *record.Verification) (lines []string) {
	if a == nil {
		return nil
	}
	if a.Failure != "" {
		return []string{"not verified: " + a.Failure}
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	verified, keys := text.Plural(a.VerifiedOperations, "operation"), text.Plural(a.Keys, "key")
	switch {
	case len(a.WrongByKind) > 0:
		add("VIOLATIONS: %s in %s on %s", a.WrongResponsesText(), verified, keys)
	case a.VerifiedOperations > 0:
		add("No consistency violation in %s on %s", verified, keys)
	case a.Operations > 0:
		add("None of %s on %s could be verified", text.Plural(a.Operations, "operation"), keys)
	default:
		add("The history contains no operations")
	}
	for i := range a.Violations {
		v := &a.Violations[i]
		add("%s: violates the guarantee %q (see %s)", v.Title(), v.Guarantee, v.Source)
		for _, line := range v.History {
			add("    %s", line)
		}
		add("    %s", v.Explanation)
	}
	if a.Indefinite > 0 {
		add("%s had an unknown outcome; %s visible to later operations", text.Plural(a.Indefinite, "write"), countWithVerb(a.Resolved))
	}
	for i := range a.Members {
		m := &a.Members[i]
		if m.Failure != "" {
			add("Data of %s after the load NOT verified: %s", m.MemberName(), m.Failure)
			continue
		}
		add("Data of %s after the load verified (%s)", m.MemberName(), text.Plural(m.Keys, "key"))
	}
	if w := a.Watches; w != nil {
		add("%s", watches(w))
	}
	if l := a.Leases; l != nil {
		words := fmt.Sprintf("%s: %s; expired or revoked: %s", text.Plural(l.Leases, "lease"), text.Plural(l.Renewals, "keep-alive"), text.Count(l.EndedLeases))
		if s := l.ExpiryDelay; s != nil {
			words += "; lifetime beyond the time to live (upper bound): " + medianAndMax(s, l.EndedLeases)
		}
		lines = append(lines, words)
	}
	if l := a.Locks; l != nil {
		lines = append(lines, locks(l))
	}
	for i := range a.Staleness {
		lines = append(lines, staleness(&a.Staleness[i]))
	}
	for _, guarantee := range slices.Sorted(maps.Keys(a.NotGuaranteed)) {
		add("%s would violate the guarantee %q, which the store does not give", text.Plural(a.NotGuaranteed[guarantee], "response"), guarantee)
	}
	lines = append(lines, a.Undecided...)
	add("Verified in %s; history on disk: %s%s", text.Seconds(a.Seconds), text.Bytes(uint64(max(a.Bytes, 0))), sizePerOperation(a))
	return lines
}

// watches describes what watchers received.
func watches(w *record.WatchVerification) string {
	words := fmt.Sprintf("%s received %s and %s", text.Plural(w.Watchers, "watcher"), text.Plural(w.Events, "event"), text.Plural(w.Progress, "progress notification"))
	if w.Resumed > 0 {
		words += fmt.Sprintf("; watchers were re-created %s after they had lost their connection", text.Plural(w.Resumed, "time"))
	}
	if w.Ended > 0 {
		words += fmt.Sprintf("; the store ended %s of the watchers, whose missing events do not count as lost", text.Count(w.Ended))
	}
	return words
}

// locks describes the acquisitions of locks.
func locks(l *record.LockVerification) string {
	times := func(s *record.Spread) string { return medianAndMax(s, l.Acquisitions) }
	words := fmt.Sprintf("%s: acquired %s; wait %s; hold %s", text.Plural(l.Locks, "lock"), text.Plural(l.Acquisitions, "time"), times(&l.Waits), times(&l.Holds))
	if l.OverlappingHolds > 0 {
		words += fmt.Sprintf("; acquired %s before an earlier holder, whose lease had expired, released the lock (the store allows this)", text.Plural(l.OverlappingHolds, "time"))
	}
	return words
}

// medianAndMax returns the median and the maximum of a distribution as text. The parameter `count`
// is the number of values. If there are too few values, the median is omitted.
func medianAndMax(s *record.Spread, count uint64) string {
	words := "max " + text.Duration(float64(s.Max))
	if p50, ok := s.Percentile(50, count); ok {
		words = "p50 " + text.Duration(float64(p50)) + ", " + words
	}
	return words
}

// countWithVerb returns a number followed by "was" or "were".
func countWithVerb(n uint64) string {
	if n == 1 {
		return "1 was"
	}
	return text.Count(n) + " were"
}

// sizePerOperation returns the size of the history per operation, or an empty string if it is not
// known.
func sizePerOperation(a *record.Verification) string {
	if each, ok := a.BytesPerRecord(); ok {
		return fmt.Sprintf(", %.1f bytes per operation", each)
	}
	return ""
}

// staleness describes how stale the reads at one member and consistency level were.
func staleness(s *record.Staleness) string {
	words := fmt.Sprintf("%s reads at %s: %s of %s were stale", s.Consistency, s.MemberName(), text.Count(s.StaleReads), text.Count(s.Reads))
	if s.StaleReads == 0 {
		return words
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	line := func(d *record.Spread, words func(int64) string) string {
		figure := func(p float64) string {
			if at, ok := d.Percentile(p, s.Reads); ok {
				return words(at)
			}
			return text.Dash
		}
		return fmt.Sprintf("p50 %s, p99 %s, p99.9 %s, max %s", figure(50), figure(99), figure(99.9), words(d.Max))
	}
	return words + "; versions behind " + line(&s.Versions, count) + "; time behind " + line(&s.Times, formatDelay)
}

// formatDelay returns a duration as text, or "0" if it is zero.
func formatDelay(ns int64) string {
	if ns == 0 {
		return "0"
	}
	return text.Duration(float64(ns))
}
