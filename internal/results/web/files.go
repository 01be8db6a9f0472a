package web

import (
	"fmt"
	"io"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// File is a chart that is written to a separate file.
type File struct {
	Name  string // without the extension of the file
	Text  string // an SVG, which adapts to the viewer's light or dark theme
	Title string
	Kind  string // the name in the option --charts

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

// Charts returns charts of a run as files for slides and papers. The parameter `kinds` selects
// kinds of charts from ChartKinds. If `kinds` is empty, Charts returns the usual kinds, and omits
// the charts of single trials if there are many trials. The caller must have read the events of the
// run with figures.ReadTrialFiles. The result `problems` contains sentences about data that could
// not be read and about omitted charts.
func Charts(run *record.Run, comparisons []*compare.Comparison, kinds ...string) (files []File, problems []string) {
	rows := analyze.Rows(run)
	x := &fileSet{usual: len(kinds) == 0, kinds: kinds}
	all, problems := drawRows(shownTrials{rows, analyze.TrialsInOrder(run), columnSteps[0]})
	x.summaries(run, rows, comparisons)
	x.combinedTrials(run, all)
	if x.usual && len(all) > maxUsualTrials {
		problems = append(problems, fmt.Sprintf("The charts of single trials are left out, because there are %d trials; --charts %s,%s draws them.", len(all), kindThroughput, kindLatency))
		return x.files, problems
	}
	for i := range all {
		x.row(&all[i])
	}
	return x.files, problems
}

// maxUsualTrials is the maximum number of trials whose own charts are written if no kinds are
// selected.
const maxUsualTrials = 12

// fileSet collects the selected charts.
type fileSet struct {
	files []File
	kinds []string
	usual bool
}

// add adds a chart if its kind is selected.
func (x *fileSet) add(kind, name, of string, c *chart.Chart) {
	selected := slices.Contains(x.kinds, kind) || slices.Contains(x.kinds, AllCharts)
	if x.usual {
		selected = slices.ContainsFunc(chartKinds, func(k ChartKind) bool { return k.Name == kind && k.Usual })
	}
	if selected {
		x.files = append(x.files, File{Name: name, Text: c.File(of, chartStyle), Title: of + ": " + c.Title, Kind: kind, chart: *c, subject: of})
	}
}

// summaries adds the charts that summarize all trials.
func (x *fileSet) summaries(run *record.Run, rows []*analyze.Row, comparisons []*compare.Comparison) {
	add := func(kind string, all []chart.Chart) {
		for i := range all {
			x.add(kind, all[i].Name, run.Name, &all[i])
		}
	}
	add(kindRatios, forestCharts(comparisons))
	add(kindMatrix, changeMatrices(comparisons))
	found := size.CapacitiesOf(run)
	if found == nil {
		add(kindMatrix, matrices(run, rows))
	} else {
		if c, ok := chart.Capacities(capacityChart, found); ok {
			x.add(kindCapacity, c.Name, run.Name, &c)
		}
		for _, f := range found.All {
			if c, ok := chart.CapacityCurve(capacityChart, f); ok {
				x.add(kindCapacity, c.Name, run.Name, &c)
			}
		}
	}
	add(kindOutages, outages(rows))
	for _, c := range stepsOf(size.LaddersOf(run, rows)) {
		x.add(kindSteps, c.Name, run.Name, &c.Chart)
	}
}

// combinedTrials adds the charts that combine several trials.
func (x *fileSet) combinedTrials(run *record.Run, all []drawnRow) {
	for _, c := range sideBySide(all) {
		x.add(kindPercentiles, c.Name, run.Name, &c.Chart)
	}
	for _, g := range drawGroups(all) {
		of := run.Name + ", " + g.Title
		for i := range g.overTime {
			kind := kindTogether
			if !slices.Contains([]string{"throughput", "mean", "p99"}, g.overTime[i].Name) {
				kind = kindCosts
			}
			x.add(kind, g.Name+"-"+g.overTime[i].Name, of, &g.overTime[i])
		}
		for i := range g.byWrites {
			x.add(kindByWrites, g.Name+"-"+g.byWrites[i].Name, of+", by writes completed", &g.byWrites[i])
		}
	}
}

// row adds the charts of a trial. If charts combine the repeats of the trial, row adds charts of
// single repeats only for data that cannot be combined.
func (x *fileSet) row(r *drawnRow) {
	prefix := fmt.Sprintf("trial-%02d-%s", r.row.First().Number, record.Slug(r.row.First().Name))
	combined := map[string]bool{}
	if d := r.combined; d != nil {
		for j := range d.charts {
			combined[d.charts[j].Name] = true
			x.add(kindOfPanel(d.charts[j].Name), prefix+"-"+d.charts[j].Name, r.row.First().Name, &d.charts[j])
		}
		for j := range d.curves {
			x.add(kindPercentilesBy, prefix+"-"+d.curves[j].Name, r.row.First().Name, &d.curves[j].Chart)
		}
	}
	for i := range r.repeats {
		d, of := &r.repeats[i], prefix
		if d.trial.Repeated() {
			of += fmt.Sprintf("-r%d", d.trial.Repeat)
		}
		label := analyze.Label(d.trial)
		for j := range d.charts {
			if c := &d.charts[j]; !combined[c.Name] {
				x.add(kindOfPanel(c.Name), of+"-"+c.Name, label, c)
			}
		}
		for _, c := range violations(d.trial) {
			x.add(kindViolations, of+"-"+c.Name, label, &c)
		}
		if d.heat != nil {
			x.add(kindHeatMap, of+"-"+d.heat.Name, label, d.heat)
		}
		if d.clients != nil {
			x.add(kindClients, of+"-"+d.clients.Name, label, d.clients)
		}
		for j := range d.curves {
			x.add(kindPercentilesBy, of+"-"+d.curves[j].Name, label, &d.curves[j].Chart)
		}
	}
}
