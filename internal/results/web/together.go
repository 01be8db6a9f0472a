package web

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// together is the section of the page that combines trials of several stores or runs.
type together struct {
	ID, Title string
	Of        string // "stores" or "runs"
	Parts     []part
	Notes     []string
}

// part holds charts with the same horizontal axis, and their values.
type part struct {
	ID, Title string
	Pictures  []picture
	Series    *series
}

// drawnTogether contains trials of several stores or runs, with the charts that combine them.
type drawnTogether struct {
	*analyze.ChartGroup
	overTime, byWrites []chart.Chart
}

// togetherOf draws the charts that combine trials of several stores or runs.
func togetherOf(all []drawn) (out []drawnTogether) {
	overs := make([]*analyze.OverTime, 0, len(all))
	for i := range all {
		overs = append(overs, all[i].over)
	}
	found := analyze.GroupForCharts(overs)
	for i := range found {
		g := &found[i]
		out = append(out, drawnTogether{g, panels(&g.OverTime), panels(&g.ByWrites)})
	}
	return out
}

func panels(o *analyze.OverTime) (all []chart.Chart) {
	for i := range o.Panels {
		all = append(all, chart.OverTime(o, &o.Panels[i], nil))
	}
	return all
}

func (d *drawnTogether) section() together {
	out := together{ID: d.Name, Title: d.Title, Of: "stores", Notes: d.Notes}
	if d.OneStore {
		out.Of = "runs"
	}
	add := func(suffix, title string, o *analyze.OverTime, charts []chart.Chart) {
		if len(charts) == 0 {
			return
		}
		p := part{ID: d.Name + suffix, Title: title, Series: seriesOf(o)}
		for i := range charts {
			p.Pictures = append(p.Pictures, pictureOf(&charts[i], p.ID+"-", "over-time"))
		}
		out.Parts = append(out.Parts, p)
	}
	add("-time", "Over time since the start of the window", &d.OverTime, d.overTime)
	add("-writes", "By number of completed writes", &d.ByWrites, d.byWrites)
	return out
}
