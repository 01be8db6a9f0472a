package web

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/quorumbench/quorumbench/internal/results/analyze/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/text"
)

//go:embed history.html
var historyText string

var historyTemplate = template.Must(template.Must(template.New("page").Parse(pageText)).New("history").Parse(historyText))

// HistoryPolicy is the content security policy of a page over many runs. The page has no scripts.
const HistoryPolicy = "default-src 'none'; style-src 'unsafe-inline'"

// historyPage holds the values for the template of a page over many runs.
type historyPage struct {
	Policy  string
	Style   template.CSS
	Summary string
	Changes sheet
	Series  []historySeries
	More    string // a sentence about the series that are not shown
	Notes   []string
}

// historySeries is the section of the page about a series.
type historySeries struct {
	Picture picture
	Points  sheet
}

// Limits for the series on a page.
const (
	maxHistorySeries = 60
	maxHistoryPoints = 3000 // rows of all tables
)

// HistoryHTML writes series over many runs as a page in one file. The page makes no requests and
// needs no scripts.
func HistoryHTML(w io.Writer, h *history.History) error {
	for shown := min(len(h.Series), maxHistorySeries); ; shown = shown * 3 / 4 {
		var b bytes.Buffer
		if err := historyTemplate.Execute(&b, newHistoryPage(h, shown)); err != nil {
			return fmt.Errorf("cannot write the page: %w", err)
		}
		if b.Len() <= maxPageBytes || shown <= 1 {
			_, err := w.Write(b.Bytes())
			return err
		}
	}
}

func newHistoryPage(h *history.History, shown int) *historyPage {
	p := &historyPage{Policy: HistoryPolicy, Style: template.CSS(Style())}
	var changes *report.Table
	p.Summary, changes, p.Notes = report.HistoryFindings(h)
	p.Changes = limitRows(changes)
	rows := max(maxHistoryPoints/max(shown, 1), 20)
	for _, i := range changedFirst(h)[:shown] {
		s := &h.Series[i]
		c := historyChart(s)
		one := historySeries{Picture: newPicture(&c, "", "history")}
		one.Picture.ID = fmt.Sprintf("series-%d", i+1)
		one.Points = sheet{Table: report.HistoryPoints(s)}
		if n := len(one.Points.Rows); n > rows {
			one.Points.Rows = one.Points.Rows[n-rows:]
			one.Points.OmissionNote = fmt.Sprintf("Only the last %d of %s are shown; the csv format contains all.", rows, text.Plural(uint64(n), "run"))
		}
		p.Series = append(p.Series, one)
	}
	if more := len(h.Series) - shown; more > 0 {
		p.More = fmt.Sprintf("%d more series are not shown; select them with --trial and --metric.", more)
	}
	return p
}

// changedFirst returns the indexes of the series. Those with a change come first.
func changedFirst(h *history.History) (order []int) {
	for _, changed := range []bool{true, false} {
		for i := range h.Series {
			if (len(h.Series[i].Changes) > 0) == changed {
				order = append(order, i)
			}
		}
	}
	return order
}

func historyChart(s *history.Series) chart.Chart {
	return chart.History(s, s.Name()+report.Direction(s.Metric.Direction), func(p *history.Point) string {
		words := p.Title() + ": " + s.Metric.Text(p.Value)
		if p.Interval {
			words += " (" + text.JoinRange(s.Metric.Text(p.Low), s.Metric.Text(p.High)) + ")"
		}
		if p.Verdict != "" {
			words += ", " + p.Verdict
		}
		return words
	})
}

// HistoryCharts returns a chart for each series as a file.
func HistoryCharts(h *history.History) (files []File) {
	for i := range h.Series {
		s := &h.Series[i]
		c := historyChart(s)
		name := fmt.Sprintf("series-%02d-%s-%s", i+1, record.Slug(s.Trial), record.Slug(s.Metric.Name))
		of := text.Plural(uint64(len(s.Points)), "run")
		files = append(files, File{Name: name, Text: c.File(of, chartStyle), Title: c.Title, chart: c, subject: of})
	}
	return files
}
