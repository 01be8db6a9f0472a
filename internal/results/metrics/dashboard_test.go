package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// datasource refers to a data source in Grafana.
type datasource struct{ Type, UID string }

// chosen is the data source that the user chose when importing the dashboard.
var chosen = datasource{"prometheus", "${datasource}"}

// panel is a panel of the dashboard. The names of its JSON fields are those of Grafana's dashboard
// schema.
type panel struct {
	ID          int
	Type, Title string
	Datasource  datasource
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID, Expr, LegendFormat, Format string
		Datasource                        datasource
		Instant, Range                    bool
	}
	Options struct {
		Legend struct {
			ShowLegend             bool
			DisplayMode, Placement string
		}
		Tooltip struct{ Mode, Sort string }
	}
	Transformations []struct{ ID string }
}

type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage // text, or an object in a variable of the type query
			Datasource datasource
		}
	}
}

const (
	gridColumns = 24 // width of Grafana's grid
	maxUID      = 40 // maximum length of a dashboard's UID in Grafana
)

// The dashboard follows the rules of Grafana's schema (the npm package @grafana/schema): IDs are
// unique, panels are inside the grid and do not overlap, options have all required fields, and all
// references to data sources and variables exist. Its queries use only metrics and labels that the
// collector has.
func TestDashboardFollowsTheSchema(t *testing.T) {
	b, err := os.ReadFile("../../../deploy/grafana/quorumbench.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || len(d.UID) > maxUID || d.Title == "" || d.SchemaVersion < 36 || len(d.Panels) == 0 {
		t.Errorf("the dashboard has the UID %q, the title %q, the schema version %d and %d panels", d.UID, d.Title, d.SchemaVersion, len(d.Panels))
	}
	labels, variables := metricLabels(), []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		if slices.Contains(variables, v.Name) {
			t.Errorf("two variables have the name %s", v.Name)
		}
		variables = append(variables, v.Name)
		query := string(v.Query)
		switch v.Type {
		case "datasource":
			if v.Name != "datasource" || query != `"prometheus"` {
				t.Errorf("the variable %s selects data sources of the type %s", v.Name, query)
			}
		case "query":
			if v.Datasource != chosen {
				t.Errorf("the variable %s uses the data source %v", v.Name, v.Datasource)
			}
			metric, label := match(labelValues, query)
			if !slices.Contains(labels[metric], label) {
				t.Errorf("the variable %s uses an unknown metric or label: %s", v.Name, query)
			}
		default:
			t.Errorf("the variable %s has the type %q", v.Name, v.Type)
		}
	}
	for i := range d.Panels {
		p := &d.Panels[i]
		checkPlace(t, p, d.Panels[:i])
		checkQueries(t, p, labels, variables)
	}
}

// checkPlace checks the type, the ID and the place of a panel.
func checkPlace(t *testing.T, p *panel, before []panel) {
	t.Helper()
	if !slices.Contains([]string{"timeseries", "state-timeline", "table"}, p.Type) || p.Title == "" || p.ID <= 0 || p.Datasource != chosen {
		t.Errorf("panel %d, %q, has the type %q and the data source %v", p.ID, p.Title, p.Type, p.Datasource)
	}
	at := p.GridPos
	if at.X < 0 || at.Y < 0 || at.W <= 0 || at.H <= 0 || at.X+at.W > gridColumns {
		t.Errorf("%q is outside the grid: %+v", p.Title, at)
	}
	for _, o := range before {
		if o.ID == p.ID {
			t.Errorf("%q and %q have the ID %d", o.Title, p.Title, p.ID)
		}
		if g := o.GridPos; at.X < g.X+g.W && g.X < at.X+at.W && at.Y < g.Y+g.H && g.Y < at.Y+at.H {
			t.Errorf("%q overlaps %q", p.Title, o.Title)
		}
	}
	if o := &p.Options; p.Type == "timeseries" && (!o.Legend.ShowLegend || o.Legend.DisplayMode != "list" || o.Legend.Placement != "bottom" || o.Tooltip.Mode != "multi" || o.Tooltip.Sort != "none") {
		t.Errorf("%q has the options %+v", p.Title, *o)
	}
	for _, transformation := range p.Transformations {
		if !slices.Contains([]string{"merge", "organize"}, transformation.ID) {
			t.Errorf("%q has the unknown transformation %q", p.Title, transformation.ID)
		}
	}
}

var (
	metricName  = regexp.MustCompile(`quorumbench_\w+`)
	labelValues = regexp.MustCompile(`label_values\((\w+), (\w+)\)`)
	matcher     = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)\\?"`)
	grouping    = regexp.MustCompile(`by \(([^)]*)\)`)
	inLegend    = regexp.MustCompile(`{{(\w+)}}`)
	variable    = regexp.MustCompile(`\$(\w+)`)
)

// checkQueries checks the queries of a panel. `labels` contains the labels of each metric, and
// `variables` contains the names of the variables.
func checkQueries(t *testing.T, p *panel, labels map[string][]string, variables []string) {
	t.Helper()
	var refs []string
	for _, q := range p.Targets {
		metric := metricName.FindString(q.Expr)
		used := append(submatches(matcher, q.Expr), strings.FieldsFunc(strings.Join(submatches(grouping, q.Expr), ","), func(r rune) bool { return r == ',' || r == ' ' })...)
		for _, label := range used {
			if !slices.Contains(labels[metric], label) {
				t.Errorf("%q: %s has no label %q", p.Title, metric, label)
			}
		}
		for _, label := range submatches(inLegend, q.LegendFormat) {
			if !slices.Contains(used, label) {
				t.Errorf("%q: the legend shows the label %q, which the query drops", p.Title, label)
			}
		}
		for _, name := range submatches(variable, q.Expr) {
			if !slices.Contains(variables, name) {
				t.Errorf("%q: there is no variable %q", p.Title, name)
			}
		}
		if labels[metric] == nil || q.RefID == "" || slices.Contains(refs, q.RefID) || q.Datasource != chosen || q.Instant == q.Range || q.Instant != (p.Type == "table") || q.Instant != (q.Format == "table") {
			t.Errorf("%q has a wrong query: %+v", p.Title, q)
		}
		refs = append(refs, q.RefID)
	}
	if len(refs) == 0 {
		t.Errorf("%q has no query", p.Title)
	}
}

// metricLabels returns the labels of each metric.
func metricLabels() map[string][]string {
	descs := make(chan *prometheus.Desc)
	go func() {
		newTestCollector().Describe(descs)
		close(descs)
	}()
	all, form := map[string][]string{}, regexp.MustCompile(`^Desc{fqName: "(\w+)".*variableLabels: {(.*)}}$`)
	for d := range descs {
		name, labels := match(form, d.String())
		all[name] = strings.Split(labels, ",")
	}
	return all
}

// match returns the two groups of a pattern in a text, or empty strings if the text does not match.
func match(pattern *regexp.Regexp, s string) (first, second string) {
	if m := pattern.FindStringSubmatch(s); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// submatches returns the first group of each match of a pattern.
func submatches(pattern *regexp.Regexp, s string) (all []string) {
	for _, m := range pattern.FindAllStringSubmatch(s, -1) {
		all = append(all, m[1])
	}
	return all
}
