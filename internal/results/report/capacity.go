package report

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Capacity reports the results of a run's capacity searches: the intervals, the reason why each
// search ended, and the curves of response time over rate. For a single search, the JSON is one
// object. If the run searched for the capacity at each value of a parameter, the field `searches`
// contains an object for each value. dir is the path of the run directory.
func Capacity(all *size.CapacityFindings, dir string) Finding {
	return Finding{
		parts: func(out layout) {
			capacitiesParts(out, all)
			out.places("Run directory: " + text.Line(dir, text.MaxOutput))
		},
		object: func() any {
			o := capacitiesObject(all)
			o.Add("run_directory", dir)
			return o
		},
	}
}

func capacitiesParts(out layout, all *size.CapacityFindings) {
	if all.Parameter == "" && len(all.All) == 1 {
		capacityParts(out, all.All[0], "")
		return
	}
	parameter := text.Line(all.Parameter, text.MaxField)
	if len(all.All) == 0 {
		out.addLines("No search for a value of " + parameter + " was started.")
		return
	}
	out.addLines(fmt.Sprintf("Capacity by %s, for %s: one search for each value", parameter, all.All[0].Objective))
	out.gap()
	out.cells(capacitiesTable(all))
	for _, f := range all.All {
		out.heading(parameter + "=" + text.Line(f.Value, text.MaxField))
		out.gap()
		capacityParts(out, f, parameter)
	}
}

// CapacitiesTable returns a table that compares the searches for the values of a parameter. It
// returns nil if the run did not search for several values.
func CapacitiesTable(all *size.CapacityFindings) *Table {
	if all == nil || all.Parameter == "" || len(all.All) == 0 {
		return nil
	}
	t := capacitiesTable(all)
	t.Heading = fmt.Sprintf("Capacity by %s, for %s", all.Parameter, all.All[0].Objective)
	return t
}

func capacitiesTable(all *size.CapacityFindings) *Table {
	g := &Table{Columns: []analyze.Column{{Title: all.Parameter, LeftAligned: true}, {Title: "lower"}, {Title: "upper"}, {Title: "best estimate"}, {Title: "width"}, {Title: "status", LeftAligned: true},
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

// capacityParts reports one search. If the run has a search for each value of a parameter, the
// argument `parameter` is the name of this parameter; otherwise it is empty.
func capacityParts(out layout, f *size.CapacityFinding, parameter string) {
	out.addLines(CapacitySentences(f)...)
	if len(f.AllTrials) > 0 {
		head := "Response time over rate, by trial"
		if f.Parameter != "" {
			head = "Response time over " + text.Line(f.Parameter, text.MaxField) + ", by trial"
		}
		if parameter != "" {
			head += ", " + parameter + "=" + text.Line(f.Value, text.MaxField)
		}
		curve := capacityCurve(f)
		curve.Heading = head
		out.table(curve)
	}
	if f.Ladder != nil {
		out.list("Curve", LadderSentences(f.Ladder))
	}
}

// capacityCurve returns a table with a row for each trial of a search.
func capacityCurve(f *size.CapacityFinding) *Table {
	percentiles := []float64{50, 99}
	for _, p := range f.Percentiles {
		if !slices.Contains(percentiles, p) {
			percentiles = append(percentiles, p)
		}
	}
	slices.Sort(percentiles)
	t := &Table{Columns: []analyze.Column{{Title: "rate"}, {Title: "throughput"}}}
	for _, p := range percentiles {
		t.Columns = append(t.Columns, analyze.Column{Title: fmt.Sprintf("p%g", p)})
	}
	t.Columns = append(t.Columns, analyze.Column{Title: "bad"}, analyze.Column{Title: "window"},
		analyze.Column{Title: objectiveTitle, LeftAligned: true}, analyze.Column{Title: "purpose", LeftAligned: true}, analyze.Column{Title: "verdict", LeftAligned: true})
	if f.Parameter != "" {
		t.Columns[0].Title = "due"
		t.Columns = append([]analyze.Column{{Title: f.Parameter}}, t.Columns...)
	}
	for i := range f.AllTrials {
		p := &f.AllTrials[i]
		cells := pointCells(p, percentiles)
		if f.Parameter != "" {
			cells = append([]string{text.Number(p.Value)}, cells...)
		}
		t.add(cells...)
		t.tones = append(t.tones, pointTones(p, slices.IndexFunc(t.Columns, func(c analyze.Column) bool { return c.Title == objectiveTitle })))
	}
	return t
}

// objectiveTitle is the title of the column that states whether a trial met the objective. The
// columns with the purpose and the verdict follow.
const objectiveTitle = "objective"

// pointTones returns the tones of the cells for one trial of a search. The parameter `before` is
// the number of cells to the left of the column objectiveTitle.
func pointTones(p *size.CapacityPoint, before int) []text.Tone {
	objective := text.Bad
	switch {
	case !p.Counts() || p.VoidReason != "":
		objective = text.Doubtful
	case p.Holds:
		objective = text.Good
	}
	return append(make([]text.Tone, before), objective, text.Plain, VerdictTone(p.Trial.Verdict.State))
}

// pointCells returns the cells for one trial of a search.
func pointCells(p *size.CapacityPoint, percentiles []float64) []string {
	worst, bad := 0.0, text.Dash
	for _, share := range p.BadShares {
		if share != nil {
			worst = max(worst, *share)
			bad = text.Percent(worst, 2)
		}
	}
	holds, rate := "missed", text.PerSecond(p.Rate)
	if p.Rate == 0 { // the trial is a closed loop
		rate = text.Dash
	}
	switch {
	case !p.Counts():
		holds = "not counted"
	case p.VoidReason != "":
		holds = "void"
	case p.Holds:
		holds = "met"
	case p.Overloaded:
		holds = "overloaded"
	}
	t := p.Trial
	cells := []string{rate, text.PerSecond(t.PerSecond)}
	for _, percentile := range percentiles {
		cells = append(cells, t.ResponseTime.Percentile(percentile).Text())
	}
	return append(cells, bad, text.Seconds(t.Seconds), holds, p.Purpose, string(t.Verdict.State))
}

// CapacityCurve returns the curve of a search as a table, or nil if the search has no trials. The
// curve includes void trials and trials that the search ignored.
func CapacityCurve(f *size.CapacityFinding) *Table {
	if len(f.AllTrials) == 0 {
		return nil
	}
	t, over := capacityCurve(f), "rate"
	if f.Parameter != "" {
		over = f.Parameter
	}
	t.Heading = fmt.Sprintf("Response time over %s, for %s", over, f.Objective)
	return t
}

func capacitiesObject(all *size.CapacityFindings) (o record.Object) {
	if all.Parameter == "" && len(all.All) == 1 {
		return capacityObject(all.All[0])
	}
	o.Add("parameter", all.Parameter)
	if len(all.All) > 0 {
		o.Add("objective", all.All[0].Objective)
	}
	searches := make([]record.Object, 0, len(all.All))
	for _, f := range all.All {
		searches = append(searches, append(record.Object{{Name: "value", Value: f.Value}}, capacityObject(f)...))
	}
	o.Add("searches", searches)
	return o
}

func capacityObject(f *size.CapacityFinding) (o record.Object) {
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
	o.Add("why", f.Reason)
	o.Add("seconds", f.Seconds)
	void := make([]record.Object, 0, len(f.Void))
	for _, v := range f.Void {
		void = append(void, record.Object{{Name: "trials", Value: v.Trials}, {Name: "why", Value: v.Reason}, {Name: "remedy", Value: v.Remedy}})
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
	curve := make([]record.Object, 0, len(f.AllTrials))
	for i := range f.AllTrials {
		curve = append(curve, pointObject(&f.AllTrials[i], f.Parameter != ""))
	}
	o.Add("curve", curve)
	return o
}

// pointObject returns the fields for one trial of a search. hasParameter is set if the search was
// for the value of a parameter.
func pointObject(p *size.CapacityPoint, hasParameter bool) (o record.Object) {
	o.Add("trial", p.Trial.Folder)
	o.Add("purpose", p.Purpose)
	if hasParameter {
		o.Add("value", p.Value)
	}
	o.Add("rate_per_second", p.Rate)
	o.Add("operations_per_second", p.Trial.PerSecond)
	o.Add("response_time_ns", p.Trial.ResponseTime)
	o.Add("bad_shares", p.BadShares)
	o.Add("holds", p.Holds)
	o.Add("overloaded", p.Overloaded)
	o.Add("void", p.VoidReason)
	o.Add("verdict", p.Trial.Verdict.State)
	return o
}

// addAnnotations adds the knee and the scalability law of a search. If one of them is unknown, its
// field is null.
func addAnnotations(o *record.Object, l *size.Ladder) {
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
	add := func(name string, interval record.Object) {
		if interval == nil {
			o.Add(name, nil)
			return
		}
		o.Add(name, interval)
	}
	add("knee", knee)
	add("scalability", scaling)
}
