package faults

import (
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Footnotes in the table of outages.
const (
	medianNote      = "95 % confidence interval of the median over the faults, by order statistics; needs six faults."
	sharedNote      = "Several faults of one cluster are not independent: other clusters may differ by more than the interval."
	excludedNote    = "Includes faults that failed (R31) or that belong to an invalid trial; see the verdicts."
	partlyKnownNote = "The value is unknown for some faults, because the event did not occur in time or was not reported. The median covers the other faults."
	unfinishedNote  = "Some outages lasted until the next fault or the end of the window, so their recorded lengths are too short."
)

// OutageTables returns the table of outages, or nil if no faults were injected. It shows the
// longest time without a success. It also shows the times until the fault was detected, a leader
// was elected, and the cluster had recovered.
func OutageTables(rows []*analyze.Row) []analyze.Table {
	all := FindEffects(rows)
	if len(all) == 0 {
		return nil
	}
	c := outageColumns{
		all:       all,
		events:    eventColumns(all),
		intervals: slices.ContainsFunc(all, func(b *KindEffects) bool { return b.Outage().HasInterval }),
	}
	t := analyze.Table{Kind: analyze.FaultsKind, Columns: c.columns()}
	for _, b := range all {
		t.Rows = append(t.Rows, c.row(b))
	}
	t.Footnotes = c.notes.Texts
	return []analyze.Table{t}
}

// outageColumns holds the data for the columns of the table of outages, and the footnotes of its
// cells.
type outageColumns struct {
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
func (c *outageColumns) isKnown(i int) bool {
	return slices.ContainsFunc(c.all, func(b *KindEffects) bool { return len(b.Periods[i].Lengths) > 0 })
}

func (c *outageColumns) columns() []analyze.Column {
	columns := []analyze.Column{{Title: "fault", LeftAligned: true}, {Title: "trial", LeftAligned: true, Wide: oneTrialEach(c.all)}, {Title: "store", LeftAligned: true, Condition: true}, {Title: "times"}}
	for i, s := range c.all[0].Periods {
		if !c.isKnown(i) {
			continue
		}
		columns = append(columns, analyze.Column{Title: s.Title + " p50", Wide: s.wideOnly, Drop: s.drop()})
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

func (c *outageColumns) row(b *KindEffects) []analyze.Cell {
	first := b.Row.First()
	times := analyze.Cell{Text: strconv.Itoa(b.Count)}
	if b.UnfinishedOutages > 0 {
		times.Notes = append(times.Notes, c.notes.Mark(unfinishedNote))
	}
	if b.FailedOrInvalid > 0 {
		times.Notes = append(times.Notes, c.notes.Mark(excludedNote))
	}
	row := []analyze.Cell{{Text: b.Description}, {Text: first.Name}, {Text: analyze.Store(first)}, times}
	for i := range b.Periods {
		if c.isKnown(i) {
			row = append(row, c.periodCells(b, i)...)
		}
	}
	row = append(row, analyze.CountCell(b.Definite+b.Indefinite), analyze.CountCell(b.Indefinite))
	for _, column := range c.events {
		cell := analyze.FigureCell(figures.Value{})
		if b.EventCounts != nil {
			if count, known := column.count(b.EventCounts); known {
				cell = analyze.CountCell(count)
			}
		}
		row = append(row, cell)
	}
	return row
}

// periodCells returns the cells of the i-th period. For the first period, these include the
// interval, the p90 and the maximum.
func (c *outageColumns) periodCells(b *KindEffects, i int) []analyze.Cell {
	s := &b.Periods[i]
	median := outageCell(s.Median.Value, len(s.Lengths) > 0)
	if i > 0 && s.Median.Value == 0 && len(s.Lengths) > 0 && !s.longest {
		median.Text = "at once"
	}
	if n := len(s.Lengths); n > 0 && n < b.Count {
		median.Notes = []int{c.notes.Mark(partlyKnownNote)}
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
	return append(cells, outageCell(p90, known), outageCell(most, any))
}

// oneTrialEach reports whether the combination of fault and store identifies each trial.
func oneTrialEach(all []*KindEffects) bool {
	seen := map[[2]string]bool{}
	for _, b := range all {
		key := [2]string{b.Description, analyze.Store(b.Row.First())}
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// outageCell formats the length of a period. A length of 0 is shown as "none".
func outageCell(seconds float64, known bool) analyze.Cell {
	switch {
	case !known:
		return analyze.FigureCell(figures.Value{})
	case seconds == 0:
		return analyze.Cell{Text: "none"}
	case seconds < 0.0995: // three digits would suggest more precision than the value has
		return analyze.Cell{Text: text.MeasuredSeconds(seconds)}
	}
	return analyze.FigureCell(secondsValue(seconds))
}

func secondsValue(x float64) figures.Value {
	return figures.Value{Number: x, Unit: measure.Seconds, Known: true}
}

// intervalCell formats the confidence interval of the median outage, with a footnote that explains
// it.
func (b *KindEffects) intervalCell(notes *analyze.FootnoteList) analyze.Cell {
	s, c := b.Outage(), analyze.Cell{Kind: analyze.CertaintyCell}
	switch {
	case s.HasInterval && s.Median.High == 0:
		return outageCell(0, true)
	case s.HasInterval:
		c.Certainty = &analyze.Certainty{Low: secondsValue(s.Median.Low), High: secondsValue(s.Median.High)}
		c.Notes = []int{notes.Mark(medianNote)}
		if b.Dependent {
			c.Notes = append(c.Notes, notes.Mark(sharedNote))
		}
	}
	return c
}
