package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/quorumbench/quorumbench/internal/text"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Capacity writes what a run's searches for a capacity came to: the intervals, what
// ended them, and the curves of response time over rate. dir is the run directory's path.
func Capacity(w io.Writer, f *analyze.CapacityFindings, dir string) error {
	var b bytes.Buffer
	b.WriteString(capacitiesText(f, &textLayout))
	fmt.Fprintf(&b, "\nRun directory: %s\n", text.Line(dir, text.OfOutput))
	_, err := b.WriteTo(w)
	return err
}

func capacitiesText(all *analyze.CapacityFindings, as *layout) string {
	if all.Parameter == "" && len(all.All) == 1 {
		return capacityText(all.All[0], "", as)
	}
	var b bytes.Buffer
	parameter := text.Line(all.Parameter, text.OfField)
	if len(all.All) == 0 {
		return as.sentence("No search over "+parameter+" began.") + "\n"
	}
	b.WriteString(as.sentence(fmt.Sprintf("Capacity over %s, for %s: a search for each value", parameter, all.All[0].Objective)) + "\n")
	b.WriteString(as.gap + as.table(capacitiesGrid(all)))
	for _, f := range all.All {
		b.WriteString(as.heading(parameter+"="+text.Line(f.Value, text.OfField)) + "\n" + as.gap)
		b.WriteString(capacityText(f, parameter, as))
	}
	return b.String()
}

// CapacitiesSheet is the table of searches over a parameter; false without one.
func CapacitiesSheet(all *analyze.CapacityFindings) (Sheet, bool) {
	if all == nil || all.Parameter == "" || len(all.All) == 0 {
		return Sheet{}, false
	}
	g := capacitiesGrid(all)
	return Sheet{Heading: fmt.Sprintf("Capacity over %s, for %s", all.Parameter, all.All[0].Objective), Columns: g.columns, Rows: g.rows}, true
}

// capacitiesGrid has a row for each value.
func capacitiesGrid(all *analyze.CapacityFindings) *grid {
	g := &grid{columns: []analyze.Column{{Title: all.Parameter, Left: true}, {Title: "lower"}, {Title: "upper"}, {Title: "best estimate"}, {Title: "width"}, {Title: "status", Left: true},
		{Title: "trials"}, {Title: "time"}, {Title: "snapshots"}, {Title: "compactions"}, {Title: "knee"}}}
	for _, f := range all.All {
		lower, upper, estimate, width := text.PerSecond(f.LowerPerSecond), text.Dash, text.Dash, text.Dash
		if !f.Known() {
			lower = text.Dash
		}
		if f.UpperPerSecond != nil {
			upper = text.PerSecond(*f.UpperPerSecond)
		}
		if f.EstimatePerSecond != nil {
			estimate = text.PerSecond(*f.EstimatePerSecond)
		}
		if share, closed := f.Width(); closed {
			width = text.Percent(share, 1)
		}
		snapshots, compactions, knee := text.Dash, text.Dash, text.Dash
		if f.LogsRead {
			snapshots, compactions = text.Count(f.Snapshots), text.Count(f.Compactions)
		}
		if l := f.Ladder; l != nil && l.Knee >= 0 {
			knee = Value(l.Steps[l.Knee].Throughput)
		}
		g.add(f.Value, lower, upper, estimate, width, f.Status, text.Count(uint64(len(f.Trials))), text.Seconds(f.Seconds), snapshots, compactions, knee)
	}
	return g
}

// CapacitySentences say what one search came to.
func CapacitySentences(f *analyze.CapacityFinding) (all []string) {
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
	if wordss := shortWindows(f); wordss != "" {
		all = append(all, wordss)
	}
	if f.First != nil {
		if wordss := warmedUp(f.WarmUp); wordss != "" {
			all = append(all, wordss)
		}
		all = append(all, spanned(f))
	}
	for _, m := range f.Absent {
		all = append(all, m.String())
	}
	return all
}

// periodSentences say what the capacity was before it changed, and after.
func periodSentences(f *analyze.CapacityFinding) (all []string) {
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
func voidSentences(f *analyze.CapacityFinding) (all []string) {
	for _, v := range f.Void {
		wordss := fmt.Sprintf("%s of %d told nothing of the store (void): %s.", text.Plural(uint64(v.Trials), "trial"), len(f.Curve), text.Line(v.Why, text.OfField))
		if v.Remedy != "" {
			wordss += " To know more, " + v.Remedy + "."
		}
		all = append(all, wordss)
	}
	return all
}

// shortWindows says in which trials too few operations were due for the percentiles that
// the objective bounds.
func shortWindows(f *analyze.CapacityFinding) string {
	for _, p := range f.Percentiles {
		most := 0.0
		for _, at := range f.Curve {
			if is := at.Trial.ResponseTime.At(p); at.Void == "" && !is.Known && !is.Failed {
				most = max(most, at.Rate)
			}
		}
		if most > 0 {
			return fmt.Sprintf("At up to %s there was no time for windows in which %d operations are beyond the p%g: there the share of bad operations decided alone.", text.PerSecond(most), analyze.FewestBeyond, p)
		}
	}
	return ""
}

// capacityText is one search; of several, the parameter is named.
func capacityText(f *analyze.CapacityFinding, parameter string, as *layout) string {
	var b bytes.Buffer
	for _, words := range CapacitySentences(f) {
		b.WriteString(as.sentence(words) + "\n")
	}
	if len(f.Tried) > 0 {
		head := "Response time over rate, trial by trial"
		if f.Parameter != "" {
			head = "Response time over " + text.Line(f.Parameter, text.OfField) + ", trial by trial"
		}
		if parameter != "" {
			head += ", " + parameter + "=" + text.Line(f.Value, text.OfField)
		}
		b.WriteString(as.heading(head) + "\n" + as.gap + as.table(capacityCurve(f)))
	}
	if f.Ladder != nil {
		b.WriteString(as.lists(list("What the curve's shape says, beside the answer, which it does not decide", LadderSentences(f.Ladder))))
	}
	return b.String()
}

// warmedUp says how a cluster that was just started was warmed up.
func warmedUp(w *record.WarmUp) string {
	if w == nil || len(w.PerSecond) == 0 {
		return ""
	}
	first, last := w.Ends()
	wordss := "The cluster was just started, and a closed loop warmed it up before the first trial: " + text.PerSecond(first)
	if n := len(w.PerSecond); n > 1 {
		wordss += fmt.Sprintf(" at first, and %s in the last of %d trials", text.PerSecond(last), n)
	}
	if w.Steady {
		wordss += ", which was no faster than those before"
	} else {
		wordss += ", when its time was over: it may not have been warm"
	}
	if w.Reason != "" {
		wordss += "; at first such a store is slower, because " + text.Line(w.Reason, text.OfField)
	}
	return wordss + "."
}

// capacityInterval is the interval, or what there is of one, in words: of a parameter that
// was searched with the calls a second that become due there.
func capacityInterval(f *analyze.CapacityFinding) string {
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
func likeliest(f *analyze.CapacityFinding) string {
	switch {
	case f.Estimate != nil:
		return "; best estimate " + text.Number(*f.Estimate)
	case f.EstimatePerSecond != nil:
		return "; best estimate " + text.PerSecond(*f.EstimatePerSecond)
	}
	return ""
}

// doubt is what is to be said of an interval beside its width.
func doubt(f *analyze.CapacityFinding) string {
	switch {
	case len(f.Periods) > 0:
		return " of what it is now; it changed, and the interval is of all that it was in the search"
	case f.Status == string(capacity.Disturbed):
		return "; disturbed: it is of all that the capacity was in the search"
	}
	return ""
}

// spanned says what the store did of its own in the trials.
func spanned(f *analyze.CapacityFinding) string {
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

func capacityCurve(f *analyze.CapacityFinding) *grid {
	percentiles := []float64{50, 99}
	for _, p := range f.Percentiles {
		if !slices.Contains(percentiles, p) {
			percentiles = append(percentiles, p)
		}
	}
	slices.Sort(percentiles)
	g := &grid{columns: []analyze.Column{{Title: "rate"}, {Title: "throughput"}}}
	for _, p := range percentiles {
		g.columns = append(g.columns, analyze.Column{Title: fmt.Sprintf("p%g", p)})
	}
	g.columns = append(g.columns, analyze.Column{Title: "bad"}, analyze.Column{Title: "window"},
		analyze.Column{Title: "objective", Left: true}, analyze.Column{Title: "purpose", Left: true}, analyze.Column{Title: "verdict", Left: true})
	if f.Parameter != "" {
		g.columns[0].Title = "due"
		g.columns = append([]analyze.Column{{Title: f.Parameter}}, g.columns...)
	}
	for _, p := range f.Tried {
		worst, bad := 0.0, text.Dash
		for _, share := range p.Bad {
			if share != nil {
				worst = max(worst, *share)
				bad = text.Percent(worst, 2)
			}
		}
		holds, rate := "missed", text.PerSecond(p.Rate)
		if p.Rate == 0 { // a closed loop
			rate = text.Dash
		}
		switch {
		case !p.Counts():
			holds = "not counted"
		case p.Void != "":
			holds = "void"
		case p.Holds:
			holds = "kept"
		case p.Overloaded:
			holds = "overloaded"
		}
		t := p.Trial
		cells := []string{rate, text.PerSecond(t.PerSecond)}
		for _, percentile := range percentiles {
			cells = append(cells, text.Figure(t.ResponseTime.At(percentile)))
		}
		cells = append(cells, bad, text.Seconds(t.Seconds), holds, p.Purpose, string(t.Verdict.State))
		if f.Parameter != "" {
			cells = append([]string{text.Number(p.Value)}, cells...)
		}
		g.add(cells...)
	}
	return g
}

// CapacityCurveSheet is the curve of a search, with the trials that are void or were not
// counted; false without one.
func CapacityCurveSheet(f *analyze.CapacityFinding) (Sheet, bool) {
	if len(f.Tried) == 0 {
		return Sheet{}, false
	}
	g, over := capacityCurve(f), "rate"
	if f.Parameter != "" {
		over = f.Parameter
	}
	return Sheet{Heading: fmt.Sprintf("Response time over %s, for %s", over, f.Objective), Columns: g.columns, Rows: g.rows}, true
}

// CapacityJSON writes the same as one JSON object: of one search, or with one for each
// value under searches.
func CapacityJSON(w io.Writer, all *analyze.CapacityFindings, dir string) error {
	if all.Parameter == "" && len(all.All) == 1 {
		o := capacityObject(all.All[0])
		o.Add("run_directory", dir)
		return writeJSON(w, o)
	}
	var o record.Object
	o.Add("parameter", all.Parameter)
	if len(all.All) > 0 {
		o.Add("objective", all.All[0].Objective)
	}
	searches := make([]record.Object, 0, len(all.All))
	for _, f := range all.All {
		searches = append(searches, append(record.Object{{Name: "value", Value: f.Value}}, capacityObject(f)...))
	}
	o.Add("searches", searches)
	o.Add("run_directory", dir)
	return writeJSON(w, o)
}

func capacityObject(f *analyze.CapacityFinding) (o record.Object) {
	if t := f.First; t != nil {
		o.Add("store", t.Store)
		o.Add("version", t.Version)
		o.Add("members", t.Members)
		if len(f.Absent) > 0 {
			o.Add("absent_members", f.Absent)
		}
		o.Add("load", analyze.Headline(t))
	}
	o.Add("objective", f.Objective)
	if f.Parameter != "" {
		o.Add("parameter", f.Parameter)
		o.Add("lower", f.Lower)
		o.Add("upper", f.Upper)
		o.Add("estimate", f.Estimate)
	}
	o.Add("known", f.Known())
	o.Add("lower_per_second", f.LowerPerSecond)
	o.Add("upper_per_second", f.UpperPerSecond)
	o.Add("estimate_per_second", f.EstimatePerSecond)
	if len(f.Periods) > 0 {
		o.Add("periods", f.Periods)
	}
	o.Add("level", f.Level)
	var width *float64
	if share, closed := f.Width(); closed {
		width = &share
	}
	o.Add("width", width)
	o.Add("status", f.Status)
	o.Add("why", f.Why)
	o.Add("seconds", f.Seconds)
	void := make([]record.Object, 0, len(f.Void))
	for _, v := range f.Void {
		void = append(void, record.Object{{Name: "trials", Value: v.Trials}, {Name: "why", Value: v.Why}, {Name: "remedy", Value: v.Remedy}})
	}
	o.Add("void", void)
	if f.WarmUp != nil {
		o.Add("warm_up", f.WarmUp)
	}
	if f.LogsRead {
		o.Add("snapshots", f.Snapshots)
		o.Add("compactions", f.Compactions)
	}
	if f.Ladder != nil {
		addAnnotations(&o, f.Ladder)
	}
	curve := make([]record.Object, 0, len(f.Tried))
	for _, p := range f.Tried {
		var one record.Object
		one.Add("trial", p.Trial.Folder)
		one.Add("purpose", p.Purpose)
		if f.Parameter != "" {
			one.Add("value", p.Value)
		}
		one.Add("rate_per_second", p.Rate)
		one.Add("operations_per_second", p.Trial.PerSecond)
		one.Add("response_time_ns", p.Trial.ResponseTime)
		one.Add("bad_shares", p.Bad)
		one.Add("holds", p.Holds)
		one.Add("overloaded", p.Overloaded)
		one.Add("void", p.Void)
		one.Add("verdict", p.Trial.Verdict.State)
		curve = append(curve, one)
	}
	o.Add("curve", curve)
	return o
}

// addAnnotations adds the knee and the scalability law, null where there is none.
func addAnnotations(o *record.Object, l *analyze.Ladder) {
	var knee, scaling record.Object
	if l.Knee >= 0 {
		s := &l.Steps[l.Knee]
		knee.Add("operations_per_second", s.Throughput.Number)
		knee.Add("in_flight", s.Concurrency)
	}
	if s := l.Scaling; s != nil {
		of := func(i stats.Interval) []float64 { return []float64{i.Value, i.Low, i.High} }
		scaling.Add("lambda", of(s.Lambda))
		scaling.Add("sigma", of(s.Sigma))
		scaling.Add("kappa", of(s.Kappa))
		scaling.Add("deviation", s.Deviation)
		scaling.Add("doubts", l.Doubts)
	}
	add := func(name string, of record.Object) {
		if of == nil {
			o.Add(name, nil)
			return
		}
		o.Add(name, of)
	}
	add("knee", knee)
	add("scalability", scaling)
}
