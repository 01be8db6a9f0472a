package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history/changepoint"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// HistorySchema is the schema of the JSON document that contains series over runs.
const HistorySchema = "quorumbench/history/1"

// History reports series over many runs. It shows a table of the changes, a chart of each series
// that changed, and a list of the series that did not change.
func History(h *history.History) Finding {
	return Finding{
		parts:  func(out layout) { historyParts(out, h) },
		object: func() any { return historyObject(h) },
		rows: func() (columns []string, rows []record.Object) {
			columns = namesOf(historyRow(&history.Series{Points: make([]history.Point, 1)}, 0))
			for i := range h.Series {
				for k := range h.Series[i].Points {
					rows = append(rows, historyRow(&h.Series[i], k))
				}
			}
			return columns, rows
		},
	}
}

func historyParts(out layout, h *history.History) {
	table, changed := historyTable(h)
	out.addLines(historySummary(h, changed))
	if len(table.Rows) > 0 {
		out.blank()
		out.cells(table)
	}
	drawn := 0
	for i := range h.Series {
		s := &h.Series[i]
		quiet := len(s.Changes) == 0 && s.Unconfirmed == 0
		if quiet && (changed > 0 || len(h.Series) > maxUnchangedSeries) && !out.detailed() {
			continue
		}
		if drawn++; drawn > maxCharts && !out.detailed() {
			continue
		}
		out.heading(s.Name() + Direction(s.Metric.Direction))
		out.gap()
		out.block(s.Chart())
	}
	out.blank()
	if drawn > maxCharts && !out.detailed() {
		out.addLines(fmt.Sprintf("%d of %d charts are shown; --wide shows all charts, and --trial and --metric select charts.", maxCharts, drawn))
	}
	out.addLines(historyNotes(h)...)
}

// maxCharts is the maximum number of charts in text that is not wide. Such text shows charts of
// unchanged series only if no series changed and the history has at most maxUnchangedSeries series.
const maxCharts, maxUnchangedSeries = 6, 3

// HistoryFindings returns the parts of a report over many runs: a summary, the table of the
// changes, and notes.
func HistoryFindings(h *history.History) (summary string, changes *Table, notes []string) {
	changes, changed := historyTable(h)
	return historySummary(h, changed), changes, historyNotes(h)
}

// HistoryPoints returns the table of the points of a series.
func HistoryPoints(s *history.Series) *Table {
	t := &Table{Columns: []analyze.Column{{Title: "run", LeftAligned: true}, {Title: "started", LeftAligned: true}, {Title: "version", LeftAligned: true}, {Title: "label", LeftAligned: true},
		{Title: s.Metric.Name}, {Title: "95 % interval"}, {Title: "repeats"}, {Title: "verdict", LeftAligned: true}, {Title: "not counted", LeftAligned: true}, {Title: "change", LeftAligned: true}}}
	changes := map[int]string{}
	for k := range s.Changes {
		c := &s.Changes[k]
		changes[c.Index] = fmt.Sprintf("%d: %s, confidence %s", k+1, text.SignedPercent(c.Share), confidence(c.Confidence))
	}
	for i := range s.Points {
		p := &s.Points[i]
		started, value, interval := text.Dash, text.Dash, text.Dash
		if !p.Time.IsZero() {
			started = p.Time.UTC().Format(time.RFC3339)
		}
		if p.Known() {
			value = s.Metric.Text(p.Value)
		}
		if p.Interval {
			interval = text.JoinRange(s.Metric.Text(p.Low), s.Metric.Text(p.High))
		}
		t.add(p.Name, started, text.OrDash(p.Version), text.OrDash(p.Label), value, interval, text.Count(uint64(max(p.Repeats, 0))), text.OrDash(p.Verdict), p.ExclusionReason, changes[i])
	}
	return t
}

// isTooShort reports whether a series has too few runs for a change to be found.
func isTooShort(s *history.Series) bool { return s.CountUsable() < changepoint.MinPoints }

// historySummary states in one sentence how many series changed.
func historySummary(h *history.History, changed int) string {
	over := text.Plural(uint64(h.Runs), "run")
	if !h.First.IsZero() {
		first, last := h.First.UTC().Format(time.DateOnly), h.Last.UTC().Format(time.DateOnly)
		over += " from " + first + " to " + last
		if first == last {
			over = text.Plural(uint64(h.Runs), "run") + " on " + first
		}
	}
	short := 0
	for i := range h.Series {
		if isTooShort(&h.Series[i]) {
			short++
		}
	}
	all := text.CountNoun(uint64(len(h.Series)), "series", "series")
	switch {
	case changed == 0 && short == len(h.Series):
		return fmt.Sprintf("%s over %s: too short to judge.", all, over)
	case changed == 0 && short > 0:
		return fmt.Sprintf("No change%s in %s, over %s; too short to judge: %d.", h.SelectionText, all, over, short)
	case changed == 0:
		return fmt.Sprintf("No change%s in %s, over %s.", h.SelectionText, all, over)
	}
	has := "have a change"
	if changed == 1 {
		has = "has a change"
	}
	return fmt.Sprintf("%d of %d series %s%s, over %s.", changed, len(h.Series), has, h.SelectionText, over)
}

// historyTable returns the table of changes, and the number of series that have at least one
// change.
func historyTable(h *history.History) (t *Table, changed int) {
	t = &Table{Columns: []analyze.Column{{Title: "trial", LeftAligned: true}, {Title: "metric", LeftAligned: true}, {Title: "at", LeftAligned: true}, {Title: "kind", LeftAligned: true, Drop: 2},
		{Title: "before"}, {Title: "after"}, {Title: "change"}, {Title: "95 % interval"}, {Title: "result", LeftAligned: true}, {Title: "confidence", Drop: 1},
		{Title: "between", LeftAligned: true, Wide: true}, {Title: "confirmed by", LeftAligned: true, Wide: true}}}
	for i := range h.Series {
		s := &h.Series[i]
		trial, metric := s.Trial, s.Metric.Name
		for k := range s.Changes {
			c := &s.Changes[k]
			at, kind, between := s.Points[c.Index].Title(), "step", text.Dash
			if c.Kind == changepoint.Drift {
				at, kind = at+" to "+s.Points[c.LastDriftIndex].Title(), "drift"
			} else if c.First < c.Last {
				between = s.Points[c.First].Title() + " and " + s.Points[c.Last].Title()
			}
			if len(s.Changes) > 1 {
				at = fmt.Sprintf("%d. %s", k+1, at)
			}
			t.add(trial, metric, at, kind, s.Metric.Text(c.Before), s.Metric.Text(c.After), text.SignedPercent(c.Share),
				text.SignedPercent(c.Low)+" to "+text.SignedPercent(c.High), text.OrDash(string(c.Word)), confidence(c.Confidence), between, s.Points[c.ConfirmedBy].Title())
			trial, metric = "", ""
		}
		if len(s.Changes) > 0 {
			changed++
		}
	}
	return t, changed
}

// confidence formats a probability near 1.
func confidence(p float64) string {
	if p > 0.9999 {
		return ">99.99 %"
	}
	return text.Percent(p, 2)
}

// historyNotes returns the notes below the table and the charts.
func historyNotes(h *history.History) (lines []string) {
	var same, short []string
	for i := range h.Series {
		s := &h.Series[i]
		for k := range s.Changes {
			for _, side := range s.Changes[k].ConditionChanges {
				lines = append(lines, fmt.Sprintf("%s, change %d: the %s changed at the same time: %s before, then %s.", s.Name(), k+1, side.Condition, side.Base, side.Current))
			}
		}
		if s.Unconfirmed > 0 {
			which := fmt.Sprintf("the last %d runs differ", s.Unconfirmed)
			if s.Unconfirmed == 1 {
				which = "the last run differs"
			}
			lines = append(lines, fmt.Sprintf("%s: %s by %s from the previous level. This is not yet a change; more runs are needed to confirm it.", s.Name(), which, text.SignedPercent(s.UnconfirmedShare)))
		}
		switch {
		case isTooShort(s):
			short = append(short, s.Name())
		case len(s.Changes) == 0:
			same = append(same, s.Name())
		}
	}
	if len(same) > 0 && len(same) < len(h.Series) {
		lines = append(lines, "No change"+h.SelectionText+": "+strings.Join(same, ", ")+".")
	}
	if len(short) > 0 {
		lines = append(lines, fmt.Sprintf("Too short to judge: %s. A series needs %d runs that count.", strings.Join(short, ", "), changepoint.MinPoints))
	}
	lines = append(lines, notCounted(h)...)
	lines = append(lines, h.Notes...)
	if len(same)+len(short) < len(h.Series) {
		lines = append(lines, fmt.Sprintf("better, worse: the interval excludes 0; same: the interval is within ± %s. Suspect and imprecise runs count less. Later runs do not move a change or alter its confidence.", text.Share(h.Margin)))
	}
	return lines
}

// notCounted describes the points that are excluded, with one line for each reason.
func notCounted(h *history.History) (lines []string) {
	var order []string
	counts, in := map[string]int{}, map[string][]string{}
	for i := range h.Series {
		s := &h.Series[i]
		for k := range s.Points {
			reason := s.Points[k].ExclusionReason
			if reason == "" {
				continue
			}
			order = analyze.AppendNew(order, reason)
			in[reason] = analyze.AppendNew(in[reason], s.Name())
			counts[reason]++
		}
	}
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("Not counted: %s (%s) of %s.", text.Plural(uint64(counts[why]), "figure"), why, history.ShortList(in[why])))
	}
	return lines
}

// historyObject returns the series for JSON.
func historyObject(h *history.History) (o record.Object) {
	series := []record.Object{}
	for i := range h.Series {
		s := &h.Series[i]
		points, changes := []record.Object{}, []record.Object{}
		for k := range s.Points {
			points = append(points, pointFields(&s.Points[k]))
		}
		for k := range s.Changes {
			changes = append(changes, changeObject(s, &s.Changes[k]))
		}
		var one record.Object
		one.Add("trial", s.Trial)
		one.Add("metric", s.Metric.Name)
		one.Add("unit", s.Metric.UnitName())
		one.Add("better", [...]string{figures.NoDirection: "", figures.LowerIsBetter: "less", figures.HigherIsBetter: "more"}[s.Metric.Direction])
		one.Add("points", points)
		one.Add("changes", changes)
		one.Add("unconfirmed", s.Unconfirmed)
		series = append(series, one)
	}
	o.Add("schema", HistorySchema)
	o.Add("runs", h.Runs)
	o.Add("margin", h.Margin)
	o.Add("series", series)
	o.Add("notes", orEmpty(h.Notes))
	return o
}

// pointFields returns the fields of a point, for JSON and CSV.
func pointFields(p *history.Point) (o record.Object) {
	started := ""
	if !p.Time.IsZero() {
		started = p.Time.UTC().Format(time.RFC3339)
	}
	o.Add("run", p.Name)
	o.Add("source", text.Line(p.Source, text.MaxOutput))
	o.Add("started", started)
	o.Add("version", p.Version)
	o.Add("label", p.Label)
	o.Add("value", numberOrNil(p.Value, p.Known()))
	o.Add("low", numberOrNil(p.Low, p.Interval))
	o.Add("high", numberOrNil(p.High, p.Interval))
	o.Add("repeats", p.Repeats)
	o.Add("verdict", p.Verdict)
	o.Add("left_out", p.ExclusionReason)
	return o
}

// changeObject returns the JSON object for a change. Points are identified by their indexes.
func changeObject(s *history.Series, c *history.Change) (o record.Object) {
	coincides := []record.Object{}
	for _, side := range c.ConditionChanges {
		coincides = append(coincides, record.Object{{Name: "condition", Value: side.Condition}, {Name: "before", Value: side.Base}, {Name: "after", Value: side.Current}})
	}
	kind := "step"
	if c.Kind == changepoint.Drift {
		kind = "drift"
	}
	o.Add("kind", kind)
	o.Add("at", c.Index)
	o.Add("run", s.Points[c.Index].Name)
	o.Add("between", [2]int{c.First, c.Last})
	o.Add("until", c.LastDriftIndex)
	o.Add("confirmed_by", c.ConfirmedBy)
	o.Add("before", c.Before)
	o.Add("after", c.After)
	o.Add("change", c.Share)
	o.Add("change_low", c.Low)
	o.Add("change_high", c.High)
	o.Add("result", string(c.Word))
	o.Add("confidence", c.Confidence)
	o.Add("coincides", coincides)
	return o
}

// historyRow returns the row for a point of a series. It includes the change that begins at this
// point, if any.
func historyRow(s *history.Series, at int) (o record.Object) {
	o.Add("trial", s.Trial)
	o.Add("metric", s.Metric.Name)
	o.Add("unit", s.Metric.UnitName())
	o = append(o, pointFields(&s.Points[at])...)
	change, found := history.Change{}, false
	for _, c := range s.Changes {
		if c.Index == at {
			change, found = c, true
		}
	}
	o.Add("change", numberOrNil(change.Share, found))
	o.Add("change_low", numberOrNil(change.Low, found))
	o.Add("change_high", numberOrNil(change.High, found))
	o.Add("change_result", string(change.Word))
	o.Add("change_confidence", numberOrNil(change.Confidence, found))
	return o
}
