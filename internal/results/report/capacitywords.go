package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CapacitySentences describes the result of one search.
func CapacitySentences(f *size.CapacityFinding) (all []string) {
	what, of := "Capacity", ""
	if t := f.First; t != nil {
		load := analyze.Headline(t)
		if f.Parameter != "" {
			load = t.Application.Name
		}
		of = fmt.Sprintf(" of %s on %s, %s", load, analyze.Store(t), text.Plural(uint64(max(t.Members, 0)), "member"))
	}
	if f.Parameter != "" {
		what = "Largest " + text.Line(f.Parameter, text.MaxField)
	}
	all = append(all, fmt.Sprintf("%s%s, for %s: %s", what, of, f.Objective, capacityInterval(f)))
	if f.Reason != "" {
		all = append(all, fmt.Sprintf("The search ended after %s and %s: %s.", text.Seconds(f.Seconds), text.Plural(uint64(len(f.Trials)), "trial"), f.Reason))
	}
	all = append(all, periodSentences(f)...)
	all = append(all, voidSentences(f)...)
	if missed, disturbed := f.CountMisses(); disturbed > 0 {
		all = append(all, fmt.Sprintf("In %d of %s that missed the objective, other programs or the hypervisor took CPU time from the members. The capacity may be higher: repeat the search on a quieter machine.",
			disturbed, text.Plural(uint64(missed), "trial")))
	}
	if words := shortWindows(f); words != "" {
		all = append(all, words)
	}
	if f.First != nil {
		if words := warmUpText(f.WarmUp); words != "" {
			all = append(all, words)
		}
		all = append(all, maintenanceText(f))
	}
	for _, m := range f.Absent {
		all = append(all, m.String())
	}
	return all
}

// periodSentences describes a search during which the capacity changed. It returns one sentence for
// each period with a different capacity.
func periodSentences(f *size.CapacityFinding) (all []string) {
	for i := range f.Periods {
		p := &f.Periods[i]
		when := "From " + text.Seconds(p.FromSeconds) + " to " + text.Seconds(p.ToSeconds) + " of the search"
		all = append(all, when+" the capacity was "+periodInterval(p)+".")
	}
	return all
}

// periodInterval returns the interval of the capacity in a period, as text.
func periodInterval(p *record.CapacityPeriod) string {
	low, high, best := text.PerSecond(p.LowerPerSecond), "", ""
	if p.UpperPerSecond != nil {
		high = text.PerSecond(*p.UpperPerSecond)
	}
	if p.EstimatePerSecond != nil {
		best = text.PerSecond(*p.EstimatePerSecond)
	}
	if p.Lower != nil {
		if low = text.Number(*p.Lower); p.Upper != nil {
			high = text.Number(*p.Upper)
		}
		if p.Estimate != nil {
			best = text.Number(*p.Estimate)
		}
	}
	switch {
	case high == "":
		return "at least " + low
	case p.LowerPerSecond <= 0 || best == "":
		return "below " + high
	}
	return text.JoinRange(low, high) + " (best estimate " + best + ")"
}

// voidSentences describes how many trials the search ignored, why, and what to do about it.
func voidSentences(f *size.CapacityFinding) (all []string) {
	for _, v := range f.Void {
		words := fmt.Sprintf("The search ignores %s of %d (void): %s.", text.Plural(uint64(v.Trials), "trial"), len(f.Curve), text.Line(v.Reason, text.MaxField))
		if v.Remedy != "" {
			words += " Remedy: " + v.Remedy + "."
		}
		all = append(all, words)
	}
	return all
}

// shortWindows returns a sentence about rates at which too few operations were due to determine a
// percentile in the objective. It returns an empty string if no rate was affected.
func shortWindows(f *size.CapacityFinding) string {
	for _, p := range f.Percentiles {
		most := 0.0
		for _, at := range f.Curve {
			if is := at.Trial.ResponseTime.Percentile(p); at.VoidReason == "" && !is.Known && !is.Failed {
				most = max(most, at.Rate)
			}
		}
		if most > 0 {
			return fmt.Sprintf("At rates up to %s, the windows were too short to have %d operations beyond p%g. At these rates, the search judged the objective by the share of operations that missed it.", text.PerSecond(most), size.MinBeyondPercentile, p)
		}
	}
	return ""
}

// warmUpText describes how a new cluster was warmed up.
func warmUpText(w *record.WarmUp) string {
	if w == nil || len(w.PerSecond) == 0 {
		return ""
	}
	first, last := w.FirstAndLast()
	words := "A closed loop warmed up the new cluster: " + text.PerSecond(first)
	if n := len(w.PerSecond); n > 1 {
		words += fmt.Sprintf(" in the first trial, %s in the last (%d trials)", text.PerSecond(last), n)
	}
	if w.Steady {
		words += " (steady)"
	} else {
		words += " (not steady at the end of the warm-up)"
	}
	if w.Reason != "" {
		words += "; a new store is slower because " + text.Line(w.Reason, text.MaxField)
	}
	return words + "."
}

// capacityInterval returns the interval of the capacity, or the end that is known, as text. For a
// search for a parameter's value, the text includes the calls per second that are due at the ends
// of the interval.
func capacityInterval(f *size.CapacityFinding) string {
	low, high := text.PerSecond(f.LowerPerSecond), ""
	if f.UpperPerSecond != nil {
		high = text.PerSecond(*f.UpperPerSecond)
	}
	calls := ""
	if f.Lower != nil {
		calls = fmt.Sprintf(", at a rate of %s", low)
		if low = text.Number(*f.Lower); f.Upper != nil {
			calls = fmt.Sprintf(", at a rate of %s", text.JoinRange(text.PerSecond(f.LowerPerSecond), high))
			if *f.Lower <= 0 { // with this value, no load exists
				calls = fmt.Sprintf(", at a rate of up to %s", high)
			}
			high = text.Number(*f.Upper)
		}
	}
	width, closed := f.Width()
	switch {
	case f.Status == string(capacity.Undecided) && f.HasEvidence() && high == "":
		return "unknown; the objective holds at " + low + calls
	case f.Status == string(capacity.Undecided) || !f.HasEvidence():
		return "unknown"
	case closed:
		return fmt.Sprintf("%s (%s interval, %s wide%s%s)%s", text.JoinRange(low, high), text.Percent(f.Level, 0), text.Percent(width, 1), estimateText(f), doubt(f), calls)
	case high != "" && f.Lower != nil:
		return "none: the objective is missed at " + text.Number(*f.Upper)
	case high != "":
		return "below " + high
	}
	return "at least " + low + calls
}

// estimateText returns the best estimate as text, or an empty string if there is none.
func estimateText(f *size.CapacityFinding) string {
	switch {
	case f.Estimate != nil:
		return "; best estimate " + text.Number(*f.Estimate)
	case f.EstimatePerSecond != nil:
		return "; best estimate " + text.PerSecond(*f.EstimatePerSecond)
	}
	return ""
}

// doubt returns a warning about an interval, or an empty string.
func doubt(f *size.CapacityFinding) string {
	switch {
	case len(f.Periods) > 0:
		return "; the capacity changed during the search, and the interval covers all its values"
	case f.Status == string(capacity.Disturbed):
		return "; the search was disturbed, and the interval covers all values of the capacity"
	}
	return ""
}

// maintenanceText describes how many snapshots and compactions occurred during the trials of a
// search.
func maintenanceText(f *size.CapacityFinding) string {
	switch {
	case !f.LogsRead:
		return "Snapshots and compactions during measurement are unknown: the logs of a running cluster are not read."
	case f.Snapshots+f.Compactions == 0:
		return "No snapshots and no compactions during measurement: the capacity does not include their cost."
	case f.Snapshots == 0:
		return text.Plural(f.Compactions, "compaction") + ", no snapshot during measurement."
	case f.Compactions == 0:
		return text.Plural(f.Snapshots, "snapshot") + ", no compaction during measurement."
	}
	return text.Plural(f.Snapshots, "snapshot") + " and " + text.Plural(f.Compactions, "compaction") + " during measurement."
}
