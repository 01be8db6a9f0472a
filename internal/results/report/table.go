package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// cellOf is a column of the table and how a row fills it.
type cellOf struct {
	column
	text func(*group) string
}

// tables writes the closed loop's trials and the open loop's, each headed by
// the time that it tells.
func tables(w io.Writer, all []*group) error {
	return eachTable(all, textTable(w))
}

// textTable writes a table with its heading.
func textTable(w io.Writer) func(head string, g *grid) error {
	return func(head string, g *grid) error {
		if _, err := fmt.Fprintf(w, "\n%s\n", head); err != nil {
			return err
		}
		if err := g.write(w); err != nil {
			return err
		}
		_, err := io.WriteString(w, g.note)
		return err
	}
}

// eachTable hands over the tables with their headings.
func eachTable(all []*group, put func(head string, g *grid) error) error {
	var closed, open []*group
	for _, g := range all {
		if g.first().Open() {
			open = append(open, g)
		} else {
			closed = append(closed, g)
		}
	}
	if len(closed) > 0 {
		head := "Closed loop"
		if c := clients(); c.shared(closed) {
			head += ", " + c.above(closed[0].first())
		}
		var notes footnotes
		g := table(closed, closedColumns(closed, all, &notes))
		g.note = notes.text() + g.note
		if err := put(head+": service time; gap is the longest time without any operation done", g); err != nil {
			return err
		}
	}
	if len(open) == 0 {
		return nil
	}
	var notes footnotes
	g := table(open, openColumns(open, all, &notes))
	g.note = notes.text() + g.note
	return put("Open loop: response time, counted from when an operation was due", g)
}

func table(rows []*group, columns []cellOf) *grid {
	g := &grid{}
	for _, c := range columns {
		g.columns = append(g.columns, c.column)
	}
	for _, r := range rows {
		cells := make([]string, 0, len(columns))
		for _, c := range columns {
			cells = append(cells, c.text(r))
		}
		g.add(cells...)
	}
	if repeated(rows) {
		g.note = "Repeated trials show the median (of an even number, the slower of the middle two); ± is the repeat that is farthest from it.\n"
	}
	return g
}

func repeated(rows []*group) bool {
	for _, g := range rows {
		if len(g.trials) > 1 {
			return true
		}
	}
	return false
}

func closedColumns(rows, all []*group, notes *footnotes) []cellOf {
	columns := labels(all, notes)
	if c := clients(); !c.shared(rows) {
		columns = append(columns, label(c))
	}
	columns = append(columns, rates(rows)...)
	columns = append(columns, percentiles(rows, func(t *record.Trial) record.Times { return t.ServiceTime })...)
	columns = append(columns, timeColumn("gap", longestGap))
	return append(columns, ending(rows)...)
}

func openColumns(rows, all []*group, notes *footnotes) []cellOf {
	columns := labels(all, notes)
	columns = append(columns, cellOf{column{title: "due"}, func(g *group) string { return due(g.first()) }})
	columns = append(columns, rates(rows)...)
	columns = append(columns, percentiles(rows, func(t *record.Trial) record.Times { return t.ResponseTime })...)
	return append(columns, ending(rows)...)
}

// due is the open loop's rate; the word says that the gaps are random.
func due(t *record.Trial) string {
	if t.Rate == nil {
		return Dash
	}
	if t.Arrival == scenario.Poisson {
		return "poisson " + PerSecond(*t.Rate)
	}
	return PerSecond(*t.Rate)
}

// labels are the columns that say what a row is. Of several trials each has its
// name, by which all that is said below the tables calls it. What is to be said
// of a consistency level goes to the footnotes.
func labels(all []*group, notes *footnotes) []cellOf {
	var columns []cellOf
	if len(all) > 1 {
		columns = append(columns, cellOf{column{"trial", true}, func(g *group) string { return g.first().Name }})
	}
	columns = append(columns, []cellOf{
		{column{"operation", true}, func(g *group) string { return operation(g.first()) }},
		{column{"consistency", true}, func(g *group) string { return orDash(g.first().Consistency) + notes.levels(g.first()) }},
		{column{"target", true}, func(g *group) string { return g.first().Target.String() }},
	}...)
	for _, f := range facets() {
		if !f.shared(all) {
			columns = append(columns, label(f))
		}
	}
	return columns
}

func label(f facet) cellOf {
	return cellOf{column{title: f.title}, func(g *group) string { return f.of(g.first()) }}
}

func rates(rows []*group) []cellOf {
	columns := []cellOf{{column{title: "throughput"}, func(g *group) string {
		if f := analyze.MedianRate(g.figures(throughput)); f.Known {
			return PerSecond(f.NS)
		}
		return Dash
	}}}
	return withSpread(columns, rows, throughput, analyze.MedianRate)
}

func withSpread(columns []cellOf, rows []*group, of func(*record.Trial) measure.Figure, median middle) []cellOf {
	if !repeated(rows) {
		return columns
	}
	return append(columns, cellOf{column{title: "±"}, func(g *group) string { return spread(g.figures(of), median) }})
}

func timeColumn(title string, of func(*record.Trial) measure.Figure) cellOf {
	return cellOf{column{title: title}, func(g *group) string { return Figure(analyze.Median(g.figures(of))) }}
}

func percentiles(rows []*group, of func(*record.Trial) record.Times) []cellOf {
	at := func(p float64) func(*record.Trial) measure.Figure {
		return func(t *record.Trial) measure.Figure { return of(t).At(p) }
	}
	columns := []cellOf{timeColumn("p50", at(50)), timeColumn("p90", at(90)), timeColumn("p99", at(99))}
	columns = withSpread(columns, rows, at(99), analyze.Median)
	return append(columns, timeColumn("p99.9", at(99.9)),
		timeColumn("max", func(t *record.Trial) measure.Figure { return of(t).Max }))
}

// ending are the last columns: errors, what an operation cost the generator and,
// where it is known of any row, the store, and the verdict.
func ending(rows []*group) []cellOf {
	columns := []cellOf{{column{title: "errors"}, (*group).errors}}
	if slices.ContainsFunc(rows, func(g *group) bool { return readsMany(g.first()) }) {
		columns = append(columns, cellOf{column{title: "keys/op"}, keysPerOp})
	}
	columns = append(columns, timeColumn("gen CPU/op", cpuPerOp))
	for _, g := range rows {
		if analyze.Median(g.figures(storeRSS)).Known {
			columns = append(columns, timeColumn("store CPU/op", storeCPUPerOp), cellOf{column{title: "store RSS"}, (*group).storeRSS})
			break
		}
	}
	return append(columns, cellOf{column{"verdict", true}, (*group).verdict})
}

// keysPerOp is how many keys an operation that can read several read.
func keysPerOp(g *group) string {
	f := analyze.Median(g.figures(func(t *record.Trial) measure.Figure {
		if t.KeysRead == nil || t.Operations == 0 || !readsMany(t) {
			return measure.Figure{}
		}
		return measure.Figure{NS: float64(*t.KeysRead) / float64(t.Operations), Known: true}
	}))
	if !f.Known {
		return Dash
	}
	return fmt.Sprintf("%.4g", f.NS)
}
