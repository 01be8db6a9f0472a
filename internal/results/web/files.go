package web

import (
	"fmt"
	"io"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// File is a chart that is written to a separate file.
type File struct {
	Name string // without the extension of the file
	Text string // an SVG, which adapts to the viewer's light or dark theme

	chart   chart.Chart
	subject string
}

// SVG writes the chart as SVG.
func (f *File) SVG(w io.Writer) error {
	_, err := io.WriteString(w, f.Text)
	return err
}

// pixels is the number of PNG pixels for each SVG pixel. With two PNG pixels, charts are sharp on
// projectors.
const pixels = 2

// PNG returns a function that writes the chart as PNG, in the dark theme or the light theme.
func (f *File) PNG(dark bool) func(io.Writer) error {
	return func(w io.Writer) error {
		if err := f.chart.PNG(w, f.subject, chart.Pixels{Scale: pixels, Dark: dark}); err != nil {
			return fmt.Errorf("cannot draw the chart %s as PNG: %w", f.Name, err)
		}
		return nil
	}
}

// Charts returns the charts of all trials in a run as files for slides and papers. The events of
// the run must have been read (record.Run.ReadEvents). problems contains sentences about data that
// could not be read.
func Charts(run *record.Run) (files []File, problems []string) {
	all, problems := drawnTrials(shownTrials{analyze.TrialsInOrder(run), columnSteps[0]})
	add := func(name, of string, c *chart.Chart) {
		files = append(files, File{name, c.File(of, chartStyle), *c, of})
	}
	if found := size.CapacitiesOf(run); found != nil {
		if c, ok := chart.Capacities(capacityChart, found); ok {
			add(c.Name, run.Name, &c)
		}
		for _, f := range found.All {
			if c, ok := chart.CapacityCurve(capacityChart, f); ok {
				add(c.Name, run.Name, &c)
			}
		}
	}
	for _, c := range sideBySide(all) {
		add(c.Name, run.Name, &c.Chart)
	}
	for _, c := range outages(analyze.Rows(run)) {
		add(c.Name, run.Name, &c)
	}
	for _, c := range stepsOf(size.LaddersOf(run, analyze.Rows(run))) {
		add(c.Name, run.Name, &c.Chart)
	}
	for _, g := range drawGroups(all) {
		of := run.Name + ", " + g.Title
		for i := range g.overTime {
			add(g.Name+"-"+g.overTime[i].Name, of, &g.overTime[i])
		}
		for i := range g.byWrites {
			add(g.Name+"-"+g.byWrites[i].Name, of+", by writes completed", &g.byWrites[i])
		}
	}
	for i := range all {
		d := &all[i]
		charts := slices.Concat(d.charts, violations(d.trial))
		for _, c := range []*chart.Chart{d.heat, d.clients} {
			if c != nil {
				charts = append(charts, *c)
			}
		}
		for _, c := range d.curves {
			charts = append(charts, c.Chart)
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
