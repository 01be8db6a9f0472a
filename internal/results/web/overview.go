package web

import (
	"fmt"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/text"
)

// overview compares the trials at a glance. It has a row for each trial, which shows the throughput
// and the p99 as bars on a common axis.
type overview struct {
	P99Title string // title of the p99 bars
	Rows     []overviewRow
	Note     string // explains the thin lines, if there are any
	More     string // a sentence about the trials that are not shown
}

// overviewRow shows a trial and its repeats.
type overviewRow struct {
	Name, Link  string
	StoreName   string // name of the store, if the trials use several stores
	Verdict     string
	Throughput  bar
	P99         bar
	Bottlenecks string // the kinds of bottlenecks
}

// bar holds a figure as text, and the ends of the bar and of its interval as percentages of the
// axis. If the figure is not known, End is empty. If the interval is not known, Low, High and
// Interval are empty.
type bar struct {
	Text     string
	Interval string // the interval in words
	End      string
	Low      string
	High     string
}

// maxOverviewTrials is the maximum number of trials in an overview.
const maxOverviewTrials = 30

// overviewOf returns the overview for rows of trials.
func overviewOf(rows []*analyze.Row, shown shownTrials) overview {
	var o overview
	if more := len(rows) - maxOverviewTrials; more > 0 {
		o.More = fmt.Sprintf("%s: see the table.", text.Plural(uint64(more), "more trial"))
		rows = rows[:maxOverviewTrials]
	}
	stores, times := map[string]bool{}, map[record.Time]bool{}
	for _, r := range rows {
		stores[analyze.Store(r.First())] = true
		times[r.HeadlineTime()] = true
	}
	o.P99Title = "p99"
	if len(times) == 1 && len(rows) > 0 {
		o.P99Title = rows[0].HeadlineTime().Phrase() + " p99"
	}
	throughput, tail := newAxis("ops", rows), newAxis("p99", rows)
	for _, r := range rows {
		row := overviewRow{
			Name: r.First().Name, Link: linkToRow(r, shown), Verdict: analyze.JudgeTrials(r.Trials).State,
			Throughput: throughput.bar(r), P99: tail.bar(r), Bottlenecks: bottlenecks(r),
		}
		if len(stores) > 1 {
			row.StoreName = analyze.Store(r.First())
		}
		if len(times) > 1 && row.P99.End != "" {
			row.P99.Text += " (" + r.HeadlineTime().Phrase() + ")"
		}
		o.Rows = append(o.Rows, row)
		if row.Throughput.Low != "" || row.P99.Low != "" {
			o.Note = "Thin lines show how certain a figure is: its 95 % confidence interval or, if there are too few repeats for an interval, the range of the repeats."
		}
	}
	return o
}

// bottlenecks lists the kinds of bottlenecks that limited the repeats of a trial.
func bottlenecks(r *analyze.Row) string {
	var kinds []string
	for _, c := range limits.FindShared(r.Done) {
		kinds = append(kinds, c.Kind)
	}
	return strings.Join(kinds, ", ")
}

// axis is the common axis for the bars of a figure. It begins at 0.
type axis struct {
	figure figures.Figure
	end    float64
}

func newAxis(name string, rows []*analyze.Row) *axis {
	a := &axis{figure: figures.Registered(name)}
	for _, r := range rows {
		if v, _ := r.Figure(&a.figure); v.Known {
			a.end = math.Max(a.end, v.Number)
		}
		if c, ok := analyze.CertaintyOf(r, &a.figure); ok && !c.RunTooShort && c.High.Known {
			a.end = math.Max(a.end, c.High.Number)
		}
	}
	return a
}

// bar returns the bar that shows the figure of a row.
func (a *axis) bar(r *analyze.Row) bar {
	v, _ := r.Figure(&a.figure)
	b := bar{Text: report.Value(v)}
	switch {
	case len(r.Done) == 0:
		b.Text = text.Dash
	case v.Failed:
		b.Text = "none: over 1 % of operations failed"
	}
	if !v.Known || a.end == 0 {
		return b
	}
	b.End = a.share(v)
	if c, ok := analyze.CertaintyOf(r, &a.figure); ok && !c.RunTooShort && c.Low.Known && c.High.Known {
		b.Low, b.High = a.share(c.Low), a.share(c.High)
		b.Interval = "interval " + report.Value(c.Low) + " to " + report.Value(c.High)
		if c.Basis == analyze.RangeOfRepeats {
			b.Interval = "range of the repeats " + report.Value(c.Low) + " to " + report.Value(c.High)
		}
	}
	return b
}

// share formats a value as a percentage of the axis.
func (a *axis) share(v figures.Value) string {
	return percent(math.Min(math.Max(v.Number/a.end, 0), 1))
}
