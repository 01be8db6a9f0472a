package web

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/text"
)

// compared is the section of the page with comparisons.
type compared struct {
	Forests  []forest
	Matrices []picture
	Sheets   []sheet
}

// forest is a forest plot in the form of a table: its middle column is a picture. Positions are
// percentages of the axis.
type forest struct {
	ID, Title, Key string
	Ticks          []forestTick
	One            string // position of the ratio 1
	From, Width    string // position of the changes that do not matter
	Rows           []forestRow
	More           string
}

type forestTick struct{ At, Label string }

// forestRow is a row of a forest plot. If the interval is not known, Low is empty.
type forestRow struct {
	Name, Class              string
	At, Low, High            string
	WideLow, WideHigh        string
	Base, Now                string
	Change, Interval, Result string
}

// maxForestRows is the maximum number of rows in a forest plot. The tables contain all changes.
const maxForestRows = 60

// newCompared returns the section about the comparisons.
func newCompared(comparisons []*compare.Comparison) (s compared) {
	forests := compare.Forests(comparisons)
	for i := range forests {
		s.Forests = append(s.Forests, newForest(&forests[i]))
		if i+1 < len(forests) { // the last plot explains the marks of all plots
			s.Forests[i].Key = ""
		}
	}
	for _, c := range changeMatrices(comparisons) {
		s.Matrices = append(s.Matrices, newPicture(&c, "", matrixClass(&c)))
	}
	labels := compare.LabelComparisons(comparisons)
	for i, c := range comparisons {
		tables := report.ComparisonTables(c)
		if run := labels[i].Run; run != "" {
			tables[0].Heading = run + ": " + tables[0].Heading
		}
		for _, t := range tables {
			s.Sheets = append(s.Sheets, limitRows(t))
		}
	}
	return s
}

// forestName returns the name of a forest plot in file names and links.
func forestName(f *compare.Forest) string {
	name := "ratios-" + record.Slug(f.Metric)
	if f.Baseline != "" {
		name += "-" + record.Slug(f.Baseline)
	}
	return name
}

func newForest(f *compare.Forest) forest {
	axis := chart.NewRatioAxis(f)
	at := func(ratio float64) string { return percent(axis.Place(ratio)) }
	low, high := axis.Place(1/(1+f.Margin)), axis.Place(1+f.Margin)
	out := forest{ID: forestName(f), Title: report.ForestTitle(f), Key: chart.ForestKey(f), One: at(1), From: percent(low), Width: percent(high - low)}
	for _, t := range axis.Ticks() {
		out.Ticks = append(out.Ticks, forestTick{percent(t.At), t.Label})
	}
	for i := range f.Rows {
		if i == maxForestRows {
			out.More = fmt.Sprintf("Only the first %d of %d trials are shown; the table below has the others.", maxForestRows, len(f.Rows))
			break
		}
		r := &f.Rows[i]
		row := forestRow{Name: r.Name, Class: chart.WordClass(r.Word), At: at(r.Ratio), Base: report.Value(r.Base), Now: report.Value(r.Now),
			Change: text.SignedPercent(r.Change.Share), Interval: report.FormatInterval(&r.Change), Result: report.FormatJudgement(&r.Change)}
		if r.Interval {
			row.Low, row.High, row.WideLow, row.WideHigh = at(r.Low), at(r.High), at(r.CorrectedLow), at(r.CorrectedHigh)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// percent formats a share as a percentage in SVG.
func percent(share float64) string { return fmt.Sprintf("%.2f%%", 100*share) }

// describeChange returns a change with its interval and its judgment.
func describeChange(r *compare.ForestRow) string {
	words := text.SignedPercent(r.Change.Share)
	if r.Interval {
		words += " (" + report.FormatInterval(&r.Change) + ")"
	}
	return words + ", " + report.FormatJudgement(&r.Change)
}

// forestCharts returns the forest plots as charts for files.
func forestCharts(comparisons []*compare.Comparison) (all []chart.Chart) {
	forests := compare.Forests(comparisons)
	for i := range forests {
		f := &forests[i]
		title := report.ForestTitle(f)
		if n := len(f.Rows); n > maxForestRows { // a taller PNG needs more memory
			title += fmt.Sprintf(", first %d of %s", maxForestRows, text.Plural(uint64(n), "trial"))
			f.Rows = f.Rows[:maxForestRows]
		}
		c := chart.Forest(f, title, describeChange)
		c.Name = forestName(f)
		all = append(all, c)
	}
	return all
}

// changeMatrices returns a chart for each matrix of changes.
func changeMatrices(comparisons []*compare.Comparison) (all []chart.Chart) {
	labels := compare.LabelComparisons(comparisons)
	for k, c := range comparisons {
		matrices := c.Matrices()
		for i := range matrices {
			m := &matrices[i]
			cells := chart.ChangeCells(m, func(r *compare.ForestRow) string { return text.SignedPercent(r.Change.Share) })
			title := "Change of " + m.Metric + " for " + m.Title
			if run := labels[k].Run; run != "" {
				title += " in " + run
			}
			if baseline := labels[k].Baseline; baseline != "" {
				title += ", compared with the baseline " + baseline
			}
			all = append(all, chart.Matrix(fmt.Sprintf("changes-%s-%d", record.Slug(m.Metric), len(all)+1), title, m.Matrix, cells,
				"Blue: better. Orange: worse. A stronger color means a larger change. Hatched: unclear. No color: the change does not matter."))
		}
	}
	return all
}

// matrixFigures lists the figures that the matrices of a run show.
var matrixFigures = []string{"ops", "p99"}

// matrices returns a chart for each matrix of trials in a run.
func matrices(run *record.Run, rows []*analyze.Row) (all []chart.Chart) {
	found := analyze.Matrices(rows)
	for i := range found {
		m := &found[i]
		for _, p := range run.Parts {
			if p.Dir == m.First().First().Dir {
				m.Title += " in " + p.Name
			}
		}
		for _, name := range matrixFigures {
			figure := figures.Registered(name)
			title := figure.Title
			if figure.Times != nil {
				title = m.First().HeadlineTime().Phrase() + " " + title
			}
			chartName := "matrix-" + record.Slug(figure.Title)
			if i > 0 {
				chartName += fmt.Sprintf("-%d", i+1)
			}
			all = append(all, chart.Matrix(chartName, upper(title)+" of "+m.Title, m, chart.FigureCells(m.Values(&figure), report.Value), "A stronger color means a higher value."))
		}
	}
	return all
}

// upper changes the first letter to upper case, if it is followed by a lower-case letter.
func upper(s string) string {
	if len(s) > 1 && s[0] >= 'a' && s[0] <= 'z' && s[1] >= 'a' && s[1] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// maxNarrowColumns is the maximum number of columns of a matrix that fit the screen of a phone.
const maxNarrowColumns = 5

// matrixClass returns the class of a matrix. A matrix with many columns scrolls on a small screen.
func matrixClass(c *chart.Chart) string {
	if c.Columns > maxNarrowColumns {
		return "matrix broad"
	}
	return "matrix"
}
