package faults

import (
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Footnotes in the table of outages.
const (
	medianNote = "95 % confidence interval of the median over the faults, by order statistics; needs six faults."
	sharedNote = "Several faults of one cluster are not independent: other clusters may differ by more than the interval."
	amissNote  = "Includes faults that failed (R31) or that belong to an invalid trial; see the verdicts."
	someNote   = "The value is unknown for some faults, because the event did not occur in time or was not reported. The median covers the other faults."
	lastedNote = "Some outages lasted until the next fault or the end of the window, so their recorded lengths are too short."
)

// OutageTables returns the table of outages, or nil if no faults were injected. It shows the
// longest time without a success. It also shows the times until the fault was detected, a leader
// was elected, and the cluster had recovered.
func OutageTables(rows []*analyze.Row) []analyze.Table {
	all := FindEffects(rows)
	if len(all) == 0 {
		return nil
	}
	c := brokenColumns{
		all:       all,
		events:    eventColumns(all),
		intervals: slices.ContainsFunc(all, func(b *KindEffects) bool { return b.Outage().HasInterval }),
	}
	t := analyze.Table{Kind: analyze.OfFaults, Columns: c.columns()}
	for _, b := range all {
		t.Rows = append(t.Rows, c.row(b))
	}
	t.Footnotes = c.notes.Texts
	return []analyze.Table{t}
}

// brokenColumns holds the data for the columns of the table of outages, and the footnotes of its
// cells.
type brokenColumns struct {
	all       []*KindEffects
	events    []eventColumn
	intervals bool // at least one outage has an interval
	notes     analyze.FootnoteList
}

// drop returns the value of Column.Drop for a period. Even a narrow table shows the outage, and the
// time until all members had recovered.
func (s *PeriodKind) drop() int {
	if s.Name == "outage" || s.Name == "recovered" {
		return 0
	}
	return 1
}

// isKnown reports whether the i-th period is known for at least one fault.
func (c *brokenColumns) isKnown(i int) bool {
	return slices.ContainsFunc(c.all, func(b *KindEffects) bool { return len(b.Spans[i].All) > 0 })
}

func (c *brokenColumns) columns() []analyze.Column {
	columns := []analyze.Column{{Title: "fault", Left: true}, {Title: "trial", Left: true, Wide: oneTrialEach(c.all)}, {Title: "store", Left: true, Condition: true}, {Title: "times"}}
	for i, s := range c.all[0].Spans {
		if !c.isKnown(i) {
			continue
		}
		columns = append(columns, analyze.Column{Title: s.Title + " p50", Wide: s.wide, Drop: s.drop()})
		if i == 0 {
			if c.intervals {
				columns = append(columns, analyze.Column{Title: "interval", Drop: 3})
			}
			columns = append(columns, analyze.Column{Title: "p90", Drop: 2}, analyze.Column{Title: "max"})
		}
	}
	columns = append(columns, analyze.Column{Title: "failed"}, analyze.Column{Title: "outcome unknown"})
	for _, column := range c.events {
		columns = append(columns, analyze.Column{Title: column.title})
	}
	return columns
}

func (c *brokenColumns) row(b *KindEffects) []analyze.Cell {
	first := b.Row.First()
	times := analyze.Cell{Text: strconv.Itoa(b.Times)}
	if b.Lasted > 0 {
		times.Notes = append(times.Notes, c.notes.Mark(lastedNote))
	}
	if b.FailedOrInvalid > 0 {
		times.Notes = append(times.Notes, c.notes.Mark(amissNote))
	}
	row := []analyze.Cell{{Text: b.What}, {Text: first.Name}, {Text: analyze.Store(first)}, times}
	for i := range b.Spans {
		if c.isKnown(i) {
			row = append(row, c.spanCells(b, i)...)
		}
	}
	row = append(row, analyze.CountCell(b.Definite+b.Indefinite), analyze.CountCell(b.Indefinite))
	for _, column := range c.events {
		cell := analyze.FigureCell(record.Value{})
		if b.EventCounts != nil {
			if count, known := column.of(b.EventCounts); known {
				cell = analyze.CountCell(count)
			}
		}
		row = append(row, cell)
	}
	return row
}

// spanCells returns the cells of the i-th period. For the first period, these include the interval,
// the p90 and the maximum.
func (c *brokenColumns) spanCells(b *KindEffects, i int) []analyze.Cell {
	s := &b.Spans[i]
	median := brokenCell(s.Median.Value, len(s.All) > 0)
	if i > 0 && s.Median.Value == 0 && len(s.All) > 0 && !s.longest {
		median.Text = "at once"
	}
	if n := len(s.All); n > 0 && n < b.Times {
		median.Notes = []int{c.notes.Mark(someNote)}
	}
	cells := []analyze.Cell{median}
	if i > 0 {
		return cells
	}
	if c.intervals {
		cells = append(cells, b.intervalCell(&c.notes))
	}
	p90, known := s.P90()
	most, any := s.Max()
	return append(cells, brokenCell(p90, known), brokenCell(most, any))
}

// oneTrialEach reports whether the combination of fault and store identifies each trial.
func oneTrialEach(all []*KindEffects) bool {
	seen := map[[2]string]bool{}
	for _, b := range all {
		key := [2]string{b.What, analyze.Store(b.Row.First())}
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// brokenCell formats the length of a period. A length of 0 is shown as "none".
func brokenCell(seconds float64, known bool) analyze.Cell {
	switch {
	case !known:
		return analyze.FigureCell(record.Value{})
	case seconds == 0:
		return analyze.Cell{Text: "none"}
	case seconds < 0.0995: // three digits would suggest more precision than the value has
		return analyze.Cell{Text: text.Lasted(seconds)}
	}
	return analyze.FigureCell(secondsValue(seconds))
}

func secondsValue(x float64) record.Value {
	return record.Value{Number: x, Unit: measure.Seconds, Known: true}
}

// intervalCell formats the confidence interval of the median outage, with a footnote that explains
// it.
func (b *KindEffects) intervalCell(notes *analyze.FootnoteList) analyze.Cell {
	s, c := b.Outage(), analyze.Cell{Kind: analyze.HowSure}
	switch {
	case s.HasInterval && s.Median.High == 0:
		return brokenCell(0, true)
	case s.HasInterval:
		c.Certainty = &analyze.Certainty{Low: secondsValue(s.Median.Low), High: secondsValue(s.Median.High)}
		c.Notes = []int{notes.Mark(medianNote)}
		if b.Dependent {
			c.Notes = append(c.Notes, notes.Mark(sharedNote))
		}
	}
	return c
}
