package web

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// groupSection is the section of the page that combines trials of several stores or runs.
type groupSection struct {
	ID, Title     string
	ComparedItems string // "stores" or "runs"
	Parts         []chartSet
	Notes         []string
}

// chartSet holds charts with the same horizontal axis, and their values.
type chartSet struct {
	ID, Title string
	Pictures  []picture
	Series    *series
}

// drawnGroup contains trials of several stores or runs, with the charts that combine them.
type drawnGroup struct {
	*overtime.ChartGroup
	overTime, byWrites []chart.Chart
}

// drawGroups draws the charts that combine trials of several stores or runs.
func drawGroups(all []drawnRow) (out []drawnGroup) {
	overs := make([]*overtime.Charts, 0, len(all))
	for i := range all {
		if d := all[i].chooseCharts(); d != nil {
			overs = append(overs, d.overTime)
		}
	}
	found := overtime.GroupTrials(overs)
	for i := range found {
		g := &found[i]
		out = append(out, drawnGroup{g, panels(&g.OverTime), panels(&g.ByWrites)})
	}
	return out
}

func panels(o *overtime.Charts) (all []chart.Chart) {
	for i := range o.Panels {
		all = append(all, chart.OverTime(o, &o.Panels[i], nil))
	}
	return all
}

func (d *drawnGroup) section() groupSection {
	out := groupSection{ID: d.Name, Title: d.Title, ComparedItems: "stores", Notes: d.Notes}
	if d.OneStore {
		out.ComparedItems = "runs"
	}
	add := func(suffix, title string, o *overtime.Charts, charts []chart.Chart) {
		if len(charts) == 0 {
			return
		}
		p := chartSet{ID: d.Name + suffix, Title: title, Series: seriesOf(o)}
		for i := range charts {
			p.Pictures = append(p.Pictures, newPicture(&charts[i], p.ID+"-", "over-time"))
		}
		out.Parts = append(out.Parts, p)
	}
	add("-time", "Over time since the start of the window", &d.OverTime, d.overTime)
	add("-writes", "By number of completed writes", &d.ByWrites, d.byWrites)
	return out
}
