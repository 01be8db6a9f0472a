package web

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// File is a chart as a file of its own.
type File struct{ Name, Text string }

// Charts are the charts of all trials of a run, whose events have been read
// (record.Run.ReadEvents), as SVG files for slides and papers, and sentences about
// what could not be read for them.
func Charts(run *record.Run, dir string) (files []File, problems []string) {
	all, problems := drawnTrials(dir, shownTrials{analyze.InOrder(run), columnSteps[0]})
	add := func(name, of string, c *chart.Chart) {
		files = append(files, File{name + ".svg", c.File(of, chartStyle)})
	}
	for _, c := range sideBySide(all) {
		add(c.Name, run.Name, &c.Chart)
	}
	for i := range all {
		d := &all[i]
		charts := d.charts
		for _, c := range []*chart.Chart{d.heat, d.kinds, d.clients} {
			if c != nil {
				charts = append(charts, *c)
			}
		}
		t := d.trial
		prefix := fmt.Sprintf("trial-%02d-%s", t.Number, record.Slug(t.Name))
		if t.Repeated() {
			prefix += fmt.Sprintf("-r%d", t.Repeat)
		}
		for j := range charts {
			add(prefix+"-"+charts[j].Name, analyze.Label(t), &charts[j])
		}
	}
	return files, problems
}
