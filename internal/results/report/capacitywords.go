package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CapacitySentences say what one search came to.
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
		what = "Largest " + text.Line(f.Parameter, text.OfField)
	}
	all = append(all, fmt.Sprintf("%s%s, for %s: %s", what, of, f.Objective, capacityInterval(f)))
	if f.Why != "" {
		all = append(all, fmt.Sprintf("The search ended after %s and %s: %s.", text.Seconds(f.Seconds), text.Plural(uint64(len(f.Trials)), "trial"), f.Why))
	}
	all = append(all, periodSentences(f)...)
	all = append(all, voidSentences(f)...)
	if missed, disturbed := f.CountMisses(); disturbed > 0 {
		all = append(all, fmt.Sprintf("Other programs or the machine's host used processor time that the members needed, in %s that missed the objective (%d in all): the capacity may be higher without them. To know more, repeat the search on a quieter machine.",
			text.Plural(uint64(disturbed), "trial"), missed))
	}
	if words := shortWindows(f); words != "" {
		all = append(all, words)
	}
	if f.First != nil {
		if words := warmedUp(f.WarmUp); words != "" {
			all = append(all, words)
		}
		all = append(all, spanned(f))
	}
	for _, m := range f.Absent {
		all = append(all, m.String())
	}
	return all
}

// periodSentences say what the capacity was before it changed, and after.
func periodSentences(f *size.CapacityFinding) (all []string) {
	for i := range f.Periods {
		p := &f.Periods[i]
		when := "From " + text.Seconds(p.FromSeconds) + " to " + text.Seconds(p.ToSeconds) + " of the search"
		all = append(all, when+" it was "+periodInterval(p)+".")
	}
	return all
}

// periodInterval is what a capacity was in a period.
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
	return text.Between(low, high) + " (best estimate " + best + ")"
}

// voidSentences say which trials told nothing of the store, why, and what to do about it.
func voidSentences(f *size.CapacityFinding) (all []string) {
	for _, v := range f.Void {
		words := fmt.Sprintf("%s of %d told nothing of the store (void): %s.", text.Plural(uint64(v.Trials), "trial"), len(f.Curve), text.Line(v.Why, text.OfField))
		if v.Remedy != "" {
			words += " To know more, " + v.Remedy + "."
		}
		all = append(all, words)
	}
	return all
}

// shortWindows says in which trials too few operations were due for the percentiles that
// the objective bounds.
func shortWindows(f *size.CapacityFinding) string {
	for _, p := range f.Percentiles {
		most := 0.0
		for _, at := range f.Curve {
			if is := at.Trial.ResponseTime.At(p); at.Void == "" && !is.Known && !is.Failed {
				most = max(most, at.Rate)
			}
		}
		if most > 0 {
			return fmt.Sprintf("At up to %s there was no time for windows in which %d operations are beyond the p%g: there the share of bad operations decided alone.", text.PerSecond(most), size.FewestBeyond, p)
		}
	}
	return ""
}

// warmedUp says how a cluster that was just started was warmed up.
func warmedUp(w *record.WarmUp) string {
	if w == nil || len(w.PerSecond) == 0 {
		return ""
	}
	first, last := w.Ends()
	words := "The cluster was just started, and a closed loop warmed it up before the first trial: " + text.PerSecond(first)
	if n := len(w.PerSecond); n > 1 {
		words += fmt.Sprintf(" at first, and %s in the last of %d trials", text.PerSecond(last), n)
	}
	if w.Steady {
		words += ", which was no faster than those before"
	} else {
		words += ", when its time was over: it may not have been warm"
	}
	if w.Reason != "" {
		words += "; at first such a store is slower, because " + text.Line(w.Reason, text.OfField)
	}
	return words + "."
}

// capacityInterval is the interval, or what there is of one, in words: of a parameter that
// was searched with the calls a second that become due there.
func capacityInterval(f *size.CapacityFinding) string {
	low, high := text.PerSecond(f.LowerPerSecond), ""
	if f.UpperPerSecond != nil {
		high = text.PerSecond(*f.UpperPerSecond)
	}
	calls := ""
	if f.Lower != nil {
		calls = fmt.Sprintf(", at %s due", low)
		if low = text.Number(*f.Lower); f.Upper != nil {
			calls = fmt.Sprintf(", at %s due", text.Between(text.PerSecond(f.LowerPerSecond), high))
			if *f.Lower <= 0 { // such a load there is not, nor its calls
				calls = fmt.Sprintf(", at up to %s due", high)
			}
			high = text.Number(*f.Upper)
		}
	}
	width, closed := f.Width()
	switch {
	case f.Status == string(capacity.NotKnown) && f.Told() && high == "":
		return "not known; the objective holds at " + low + calls + ", and how far above that it holds could not be told"
	case f.Status == string(capacity.NotKnown) || !f.Told():
		return "not known"
	case closed:
		return fmt.Sprintf("%s (%s interval, %s wide%s%s)%s", text.Between(low, high), text.Percent(f.Level, 0), text.Percent(width, 1), likeliest(f), doubt(f), calls)
	case high != "" && f.Lower != nil:
		return "none: the objective does not hold at " + text.Number(*f.Upper)
	case high != "":
		return "below " + high
	}
	return "at least " + low + calls
}

// likeliest is the best estimate, which records of before have none of.
func likeliest(f *size.CapacityFinding) string {
	switch {
	case f.Estimate != nil:
		return "; best estimate " + text.Number(*f.Estimate)
	case f.EstimatePerSecond != nil:
		return "; best estimate " + text.PerSecond(*f.EstimatePerSecond)
	}
	return ""
}

// doubt is what is to be said of an interval beside its width.
func doubt(f *size.CapacityFinding) string {
	switch {
	case len(f.Periods) > 0:
		return " of what it is now; it changed, and the interval is of all that it was in the search"
	case f.Status == string(capacity.Disturbed):
		return "; disturbed: it is of all that the capacity was in the search"
	}
	return ""
}

// spanned says what the store did of its own in the trials.
func spanned(f *size.CapacityFinding) string {
	switch {
	case !f.LogsRead:
		return "Whether the store wrote a snapshot or compacted in the windows is not known: the cluster ran before, and its logs were not read."
	case f.Snapshots+f.Compactions == 0:
		return "The store neither wrote a snapshot nor compacted in the windows: what that costs is not in the capacity."
	case f.Snapshots == 0:
		return fmt.Sprintf("In the windows the store compacted (%s), and wrote no snapshot.", text.Plural(f.Compactions, "time"))
	case f.Compactions == 0:
		return fmt.Sprintf("In the windows the store wrote %s, and did not compact.", text.Plural(f.Snapshots, "snapshot"))
	}
	return fmt.Sprintf("In the windows the store wrote %s and compacted (%s).", text.Plural(f.Snapshots, "snapshot"), text.Plural(f.Compactions, "time"))
}
