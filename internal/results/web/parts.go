package web

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/text"
)

// sentence is a sentence in the answer, with a link to the evidence for it.
type sentence struct {
	Subject string // words that precede the text, such as a trial's name
	Text    string
	Link    string // anchor of an element in the page
	Severe  bool
}

// sheet is a table with a limited number of rows.
type sheet struct {
	*report.Table
	OmissionNote string
}

// trialSentence is a sentence with the names of the trials to which it applies.
type trialSentence struct{ TrialNames, Text string }

// picture is a chart in the page.
type picture struct {
	ID, Title string
	Class     string // selects the behavior of the script
	SVG       template.HTML
	Legend    []chart.Entry
	Notes     []string
	Curves    []points     // the points of curves, for the script
	Spots     [][]stepSpot // the points of ladder steps, for the script
}

// Limits for the size of a page. If a part exceeds its limit, a note says so. CSV and JSON contain
// all values.
const (
	maxRows           = 400
	maxSentences      = 12
	maxTrialSentences = 60
	maxPageBytes      = 2 << 20
)

// limitRows limits the number of rows in a table.
func limitRows(t *report.Table) sheet {
	out := sheet{Table: t}
	if len(t.Rows) > maxRows {
		out.OmissionNote = fmt.Sprintf("Only the first %d of %s are shown; the csv format contains all rows.", maxRows, text.Plural(uint64(len(t.Rows)), "row"))
		t.Rows = t.Rows[:maxRows]
	}
	return out
}

// sentencesWithTrials returns sentences with the names of the trials to which they apply.
func sentencesWithTrials(all []analyze.Sentence, run *record.Run) (out []trialSentence) {
	for i, s := range all {
		if i == maxTrialSentences {
			return append(out, trialSentence{"", fmt.Sprintf("and %d more, which are in the text format", len(all)-i)})
		}
		text := s.Text
		if s.WorstTrial != "" {
			text = "worst trial " + s.WorstTrial + ": " + text
		}
		out = append(out, trialSentence{names(s.Trials, s.Count == len(run.Trials) && s.Count > 1), text})
	}
	return out
}

// names joins the names in `list` with commas. If there are many names, it replaces the last names
// with the number of these names. If `all` is set, it returns "all trials".
func names(list []string, all bool) string {
	const most = 6
	if all {
		return "all trials"
	}
	return text.ShortList(list, most)
}

func newPicture(c *chart.Chart, prefix, class string) picture {
	return picture{ID: prefix + c.Name, Title: c.Title, Class: class, SVG: template.HTML(c.SVG), Legend: c.Legend, Notes: c.Notes}
}

// Broad reports whether the picture scrolls on a small screen.
func (p *picture) Broad() bool { return strings.HasSuffix(p.Class, " broad") }

// curvesPicture returns the picture of a percentile chart. The picture includes the points of the
// curves for the script.
func curvesPicture(c *chart.Chart, prefix string, curves []overtime.PercentileCurve) picture {
	p := newPicture(c, prefix, "curves")
	p.Curves = pointsOf(curves)
	return p
}
