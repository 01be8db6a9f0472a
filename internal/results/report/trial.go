package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Trial reports one trial: the load, the throughput, the times, the errors, the members' roles, the
// cost of the load generator, and the verdict. dir is the path of the run directory, or empty if
// the run has none.
func Trial(t *record.Trial, dir string) Finding {
	return Finding{
		parts:  func(out layout) { trialParts(out, t, dir) },
		object: func() any { return t },
	}
}

func trialParts(out layout, t *record.Trial, dir string) {
	out.lead(fmt.Sprintf("%s on %s, target %s of %s", analyze.Headline(t), analyze.Store(t), t.Target, text.Plural(uint64(t.Members), "member")))
	if t.Failure != "" {
		out.lead(t.Failure)
	}
	if analyze.HasFigures(t) {
		measuredParts(out, t)
	} else {
		out.facts(analyze.Conditions(t))
	}
	if dir != "" {
		out.places("Run directory: " + text.Line(dir, text.MaxOutput))
	}
}

func measuredParts(out layout, t *record.Trial) {
	row := []*analyze.Row{analyze.RowOf(t)}
	inset := func(all ...analyze.Table) {
		for i := range all {
			if len(all[i].Rows) > 0 {
				inner := TableOf(&all[i])
				inner.Heading = ""
				out.inset(inner)
			}
		}
	}
	out.facts(analyze.Conditions(t), Results(t))
	inset(analyze.TimesTable(t))
	out.section("Errors", indented(ErrorLines(t)))
	if _, delivered := WatchFacts(t); delivered != nil {
		lines, _ := factLines(delivered)
		out.section("Watch events", lines)
		inset(analyze.WatchTimesTable(t))
	}
	inset(analyze.CallsTable(t))
	if out.detailed() {
		inset(analyze.RolesTable(t))
	}
	if out.detailed() || len(analyze.LostConnections(t)) > 0 {
		inset(analyze.MembersTable(t))
	}
	inset(analyze.WorkersTable(t), analyze.HostsTable(t))
	for _, table := range faults.OutageTables(row) {
		out.inset(TableOf(&table))
	}
	out.addLines(indented(LostConnectionLines(t))...)
	hashes(out, t.Hashes)
	out.section(verificationHead, indented(VerificationLines(t.Verification)))
	events(out, row)
	limitParts(out, []*record.Trial{t})
	if out.detailed() {
		fairnessParts(out, row)
	}
	out.blank()
	out.accented("Verdict: "+string(t.Verdict.State), string(t.Verdict.State), VerdictTone(t.Verdict.State))
	reasons := make([]string, 0, len(t.Verdict.Reasons))
	for _, r := range t.Verdict.Reasons {
		reasons = append(reasons, r.String())
	}
	notes := analyze.Notes(t)
	if l, late := analyze.LateSteadyOf(row[0]); late {
		notes = append([]string{l.String()}, notes...)
	}
	out.list("", reasons)
	out.list("Notes", notes)
}

func indented(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		out = append(out, "  "+line)
	}
	return out
}

func figure(t *record.Trial, name string) figures.Value {
	f := figures.Registered(name)
	return f.Value(t)
}

// Results returns facts about a trial's throughput and errors, and about the cost of the load for
// the load generator and the store.
func Results(t *record.Trial) []analyze.Fact {
	var all []analyze.Fact
	add := func(what, format string, args ...any) {
		all = append(all, analyze.Fact{Label: what, Text: fmt.Sprintf(format, args...)})
	}
	detail := func(what, words string) {
		all = append(all, analyze.Fact{Label: what, Text: words, Wide: true})
	}
	add("throughput", "%s%s (%s completed in %s)", text.PerSecond(t.PerSecond), doubtSuffix(t.Verdict.IsFigureDoubtful("ops")), text.Plural(t.Completed, "operation"), text.Seconds(t.Seconds))
	if words := CertaintySentence(analyze.RowOf(t)); words != "" {
		add("", "%s", strings.TrimSpace(words))
	}
	errors := "none"
	if t.Errors > 0 {
		errors = fmt.Sprintf("%s of %s due (%s)", text.Count(t.Errors), text.Count(t.Due), Value(figure(t, "error-share")))
		if t.FailedFrom != nil {
			errors += "; " + failedPercentilesText(t)
		}
	}
	add("errors", "%s", errors)
	if t.Conflicts > 0 {
		add("conflicts", "%s", text.Count(t.Conflicts))
	}
	if t.Misses > 0 {
		add("misses", "%s", text.Count(t.Misses))
	}
	if each := figure(t, "keys-per-op"); each.Known {
		add("keys read", "%s (%.3g per operation)", Value(figure(t, "keys-read")), each.Number)
	}
	if t.Retries != nil {
		words := text.Count(*t.Retries)
		if each := figure(t, "retries-per-op"); each.Known {
			words += fmt.Sprintf(" (%.3g per transaction)", each.Number)
		}
		add("retries", "%s", words)
	}
	gap := "below 1 ms"
	if t.LongestGap > 0 {
		gap = Value(figure(t, "gap"))
	}
	add("longest gap", "%s without a completed operation", gap)
	if words := fairness(t); words != "" {
		detail("fairness", words)
	}
	cost := func(what string, cpuSeconds float64, perOp *float64, rss int64, of string) {
		words := text.Seconds(cpuSeconds) + " of CPU time"
		if perOp != nil {
			words += ", " + text.Duration(*perOp) + " per operation"
		}
		add(what, "%s, %s resident%s", words, text.Bytes(uint64(max(rss, 0))), of)
	}
	cost("generator", t.CPUSeconds, t.CPUPerOp, t.MaxRSSBytes, "")
	if share := figure(t, "sampling-share"); share.Known {
		detail("sampling", Value(figure(t, "sampling-cpu"))+" of CPU time to sample processes and machines, "+Value(share)+" of one CPU")
	}
	if t.StoreCPUSeconds != nil && t.StoreMaxRSSBytes != nil {
		cost("store", *t.StoreCPUSeconds, t.StoreCPUPerOp, *t.StoreMaxRSSBytes, " ("+memberScope(t)+")")
	}
	if words := writeCosts(t); words != "" {
		detail("writes", words)
	}
	return all
}

// writeCosts describes the cost of the writes at the members. It returns an empty string if the
// cost is not known.
func writeCosts(t *record.Trial) string {
	var parts []string
	for _, p := range []struct{ figure, format string }{
		{"store-written", "%s to disks"}, {"write-amplification", "write amplification %s"},
		{"disk-per-key", "databases grew by %s per key"}, {"rss-per-key", "memory grew by %s per key"},
	} {
		if v := figure(t, p.figure); v.Known {
			parts = append(parts, fmt.Sprintf(p.format, Value(v)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return memberScope(t) + ": " + strings.Join(parts, ", ")
}

// memberScope states which members a figure includes: the sum of all members, or the only member.
func memberScope(t *record.Trial) string {
	if t.Members > 1 {
		return fmt.Sprintf("sum of %d members", t.Members)
	}
	return "the member"
}

// failedPercentilesText describes which percentiles are times of failed operations.
func failedPercentilesText(t *record.Trial) string {
	if t.Operations == 0 {
		return "all percentiles failed"
	}
	return "percentiles above " + text.Percentile(*t.FailedFrom) + " failed"
}

// ErrorLines returns a line for each kind of error.
func ErrorLines(t *record.Trial) (lines []string) {
	for _, e := range analyze.ErrorKinds(t) {
		line := fmt.Sprintf("%s: %s", e.Kind, text.Count(e.Count))
		if e.Slowest.Known {
			line += ", the slowest after " + Value(e.Slowest)
		}
		if e.Text != "" {
			line += "; the first error: " + e.Text
		}
		lines = append(lines, line)
	}
	return lines
}

// WatchFacts returns facts about what the watchers of a trial received: the result `short` contains
// two facts, and `allFacts` contains all facts. Both are nil if the trial has no watchers.
func WatchFacts(t *record.Trial) (short, allFacts []analyze.Fact) {
	w := t.Watch
	if w == nil || t.Load.Watch == nil {
		return nil, nil
	}
	who := analyze.Fact{Label: "watchers", Text: watchers(t.Load.Watch, t.KeySpace)}
	short = []analyze.Fact{who, {Label: "watch events", Text: text.PerSecond(w.PerSecond) + " delivered; " + eventCounts(w)}}
	allFacts = []analyze.Fact{
		who,
		{Label: "delivered", Text: fmt.Sprintf("%s (%s in the window)", text.PerSecond(w.PerSecond), text.Plural(w.InWindow, "event"))},
		{Label: "total", Text: eventCounts(w)},
	}
	if w.Resubscribed > 0 {
		allFacts = append(allFacts, analyze.Fact{Label: "re-created", Text: text.Plural(w.Resubscribed, "time")})
	}
	if w.Creation.Count > 0 {
		allFacts = append(allFacts, analyze.Fact{Label: "creation", Text: fmt.Sprintf("total %s; p50 %s, p99 %s, max %s", text.Seconds(w.CreationSeconds),
			w.Creation.Percentile(50).Text(), w.Creation.Percentile(99).Text(), w.Creation.Max.Text())})
	}
	return short, allFacts
}

// watchers describes the watchers and the keys that they watch.
func watchers(w *scenario.Watch, keySpace uint64) string {
	words := fmt.Sprintf("%s on %s", text.Plural(uint64(w.Watchers), "watcher"), text.Plural(uint64(w.Streams), "stream"))
	if w.Connections > 0 {
		words += fmt.Sprintf(" over %s that the load does not use", text.Plural(uint64(w.Connections), "connection"))
	}
	switch {
	case len(w.Key) == 0:
		words += ", watching " + analyze.WatchedKeys(w, keySpace)
	case w.EarlierEvents == 0:
		words += fmt.Sprintf(", watching the key %q", scenario.KeyText(w.Key))
	default:
		words += fmt.Sprintf(", watching the key %q, with %s to catch up on", scenario.KeyText(w.Key), text.Plural(uint64(w.EarlierEvents), "earlier event"))
	}
	if w.Mode != kv.AnyWatch {
		words += ", mode " + w.Mode.String()
	}
	if w.PrevKV {
		words += ", with previous values"
	}
	return words
}

// eventCounts describes how many of the expected events arrived, and how many had a defect.
func eventCounts(w *record.Watched) string {
	words := fmt.Sprintf("%s of %s received", text.Count(w.Delivered), text.Plural(w.Expected, "event"))
	for _, wrong := range []struct {
		n    uint64
		what string
	}{
		{w.Coalesced, "coalesced"}, {w.Lost, "lost"}, {w.Duplicated, "duplicated"}, {w.Reordered, "out of order"}, {w.Wrong, "of keys that were not watched"},
		{w.Impossible, "received before their write was sent"}, {w.Foreign, "of other programs' writes"},
	} {
		if wrong.n > 0 {
			words += fmt.Sprintf(", %s %s", text.Count(wrong.n), wrong.what)
		}
	}
	return words
}

// hashes reports the hashes of the members' data.
func hashes(out layout, h *record.Hashes) {
	if h == nil {
		return
	}
	var lines []string
	for i := range h.Members {
		m := &h.Members[i]
		lines = append(lines, fmt.Sprintf("  %s: %d at revision %d", m.Member(), m.Hash, m.Revision))
	}
	out.section(fmt.Sprintf("Hashes of the members' data (up to the same revision, compared in %s)", text.Seconds(h.Seconds)), lines)
}
