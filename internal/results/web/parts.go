package web

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
	"github.com/quorumbench/quorumbench/internal/text"
)

// sentence is part of the answer, with a link to its evidence.
type sentence struct {
	About string // a word before it
	Text  string
	Link  string // an element of the page
	Grave bool
}

// sheet is a table with a limited number of rows.
type sheet struct {
	*report.Table
	More string
}

// said is a sentence and the trials that it is about.
type said struct{ Who, Text string }

// picture is a chart in the page.
type picture struct {
	ID, Title string
	Class     string // selects the script's behaviour
	SVG       template.HTML
	Legend    []chart.Entry
	Notes     []string
	Curves    []points // the points of curves, for the script
	Spots     [][]spot // the points of steps, for the script
}

// The limits of a page. A part that exceeds one has a note about it; CSV and JSON have all values.
const (
	mostRows      = 400
	mostSentences = 12
	mostSaid      = 60
	mostBytes     = 2 << 20
)

// cut limits a table's rows.
func cut(t *report.Table) sheet {
	out := sheet{Table: t}
	if len(t.Rows) > mostRows {
		out.More = fmt.Sprintf("The first %d of %s; the format csv has all.", mostRows, text.Plural(uint64(len(t.Rows)), "row"))
		t.Rows = t.Rows[:mostRows]
	}
	return out
}

// about returns sentences with the trials that they are about.
func about(all []analyze.Sentence, run *record.Run) (out []said) {
	for i, s := range all {
		if i == mostSaid {
			return append(out, said{"", fmt.Sprintf("and %d more (format text)", len(all)-i)})
		}
		text := s.Text
		if s.Worst != "" {
			text = "worst trial " + s.Worst + ": " + text
		}
		out = append(out, said{names(s.Trials, s.Count == len(run.Trials) && s.Count > 1), text})
	}
	return out
}

// names lists the first of several trials' names, or returns "all trials" if they are all of
// several.
func names(of []string, all bool) string {
	const most = 6
	switch {
	case all:
		return "all trials"
	case len(of) > most:
		return strings.Join(of[:most], ", ") + fmt.Sprintf(" and %d more", len(of)-most)
	}
	return strings.Join(of, ", ")
}

func pictureOf(c *chart.Chart, prefix, class string) picture {
	return picture{ID: prefix + c.Name, Title: c.Title, Class: class, SVG: template.HTML(c.SVG), Legend: c.Legend, Notes: c.Notes}
}

// curvesPicture returns a chart by percentile with the points of its curves.
func curvesPicture(c *chart.Chart, prefix string, curves []analyze.PercentileCurve) picture {
	p := pictureOf(c, prefix, "curves")
	p.Curves = pointsOf(curves)
	return p
}
