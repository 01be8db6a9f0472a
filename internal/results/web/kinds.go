package web

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/text"
)

// ChartKind is a kind of chart that can be selected.
type ChartKind struct {
	Name     string
	Question string // the question that the charts answer
	Usual    bool   // whether the charts are written if no kind is selected
}

// AllCharts selects the charts of all kinds.
const AllCharts = "all"

// Names of the kinds of charts.
const (
	kindRatios        = "ratios"
	kindMatrix        = "matrix"
	kindCapacity      = "capacity"
	kindSteps         = "steps"
	kindOutages       = "outages"
	kindPercentiles   = "percentiles"
	kindTogether      = "together"
	kindCosts         = "costs"
	kindByWrites      = "by-writes"
	kindThroughput    = "throughput"
	kindLatency       = "latency"
	kindErrors        = "errors"
	kindEvents        = "events"
	kindHeatMap       = "heat-map"
	kindPercentilesBy = "percentiles-by"
	kindInFlight      = "in-flight"
	kindLateness      = "lateness"
	kindWatch         = "watch"
	kindClients       = "clients"
	kindMachines      = "machines"
	kindMembers       = "members"
	kindViolations    = "violations"
)

// chartKinds lists the kinds of charts in the order in which the index shows them.
var chartKinds = []ChartKind{
	{kindRatios, "Which metrics differ from the baseline, by how much, and how certain is this?", true},
	{kindMatrix, "How do two parameters of the load change the result?", true},
	{kindCapacity, "How much load does the cluster carry?", true},
	{kindSteps, "How do throughput and latency change with more load?", true},
	{kindOutages, "How long did nothing work after a fault?", true},
	{kindPercentiles, "How slow are the slowest operations of each trial?", true},
	{kindTogether, "Which store or run is faster, and at what time?", true},
	{kindCosts, "How much CPU, memory, disk and network does each store or run use?", false},
	{kindByWrites, "How do latency and size change with the number of writes?", false},
	{kindThroughput, "Was the throughput steady, and do the repeats agree?", true},
	{kindLatency, "When were operations slow, and do the repeats agree?", true},
	{kindErrors, "When did operations fail?", false},
	{kindEvents, "What happened in the cluster, and when?", false},
	{kindHeatMap, "Were all operations slow, or only some?", false},
	{kindPercentilesBy, "Which operation, role or member is slow, and do the repeats agree?", false},
	{kindInFlight, "How many operations waited for a response?", false},
	{kindLateness, "Did the load generator send in time?", false},
	{kindWatch, "How fast did watchers receive events?", false},
	{kindClients, "Did all clients get the same share of the throughput?", false},
	{kindMachines, "Which resource of the machine or of a process was busy?", false},
	{kindMembers, "What did the members report about themselves?", false},
	{kindViolations, "Which operations contradict the consistency guarantee?", false},
}

// ChartKinds returns the kinds of charts that can be selected.
func ChartKinds() []ChartKind { return slices.Clone(chartKinds) }

// kindOfPanel returns the kind of a chart over time.
func kindOfPanel(name string) string {
	switch {
	case slices.Contains([]string{kindThroughput, kindLatency, kindErrors, kindEvents, kindInFlight, kindLateness}, name):
		return name
	case strings.HasPrefix(name, "watch-"):
		return kindWatch
	case overtime.IsMachinePanel(name):
		return kindMachines
	}
	return kindMembers
}

// ParseCharts parses a list of kinds of charts that are separated by commas.
func ParseCharts(list string) (kinds []string, err error) {
	known := []string{AllCharts}
	for _, k := range chartKinds {
		known = append(known, k.Name)
	}
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			if near := text.Nearest(name, known); near != "" {
				return nil, fmt.Errorf("there is no chart %q; did you mean %q?", name, near)
			}
			return nil, fmt.Errorf("there is no chart %q; choose %s", name, strings.Join(known, ", "))
		}
		kinds = append(kinds, name)
	}
	return kinds, nil
}

// indexTemplate is the template of the index of chart files.
var indexTemplate = template.Must(template.New("index").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}: charts</title>
<style>{{.Style}}.chart-file img{display:block;max-width:100%;height:auto;margin:.3rem 0 1.2rem}</style>
</head>
<body>
<header><h1>{{.Title}}: charts</h1></header>
<main>
{{range .Groups}}<section>
<h2>{{.Question}}</h2>
{{range .Files}}<div class="chart-file"><a href="{{.Path}}">{{.Path}}</a> {{.Title}}<img src="{{.Path}}" alt="{{.Title}}" loading="lazy"></div>
{{end}}</section>
{{end}}{{if .Rest}}<section>
<h2>Charts that were not selected</h2>
<ul>{{range .Rest}}<li><code>--charts {{.Name}}</code>: {{.Question}}</li>{{end}}</ul>
</section>
{{end}}</main>
</body>
</html>
`))

// indexFile is a chart in the index.
type indexFile struct{ Path, Title string }

// indexGroup holds the charts of one kind.
type indexGroup struct {
	Question string
	Files    []indexFile
}

// Index writes a page that shows the charts, grouped by the question that they answer. extension is
// the extension of the files. The page lists the kinds of charts that are not among the files.
func Index(w io.Writer, title, extension string, files []File) error {
	page := struct {
		Title  string
		Style  template.CSS
		Groups []indexGroup
		Rest   []ChartKind
	}{Title: title, Style: template.CSS(Style())}
	for _, k := range chartKinds {
		g := indexGroup{Question: k.Question}
		for i := range files {
			if files[i].Kind == k.Name {
				g.Files = append(g.Files, indexFile{files[i].Name + "." + extension, files[i].Title})
			}
		}
		if len(g.Files) > 0 {
			page.Groups = append(page.Groups, g)
		} else {
			page.Rest = append(page.Rest, k)
		}
	}
	if err := indexTemplate.Execute(w, page); err != nil {
		return fmt.Errorf("cannot write the index of the charts: %w", err)
	}
	return nil
}
