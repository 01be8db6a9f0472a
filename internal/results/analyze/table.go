package analyze

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// tableColumn is a table column, with the function that returns the column's cell for a row.
type tableColumn struct {
	Column
	cell   func(*Row) Cell
	figure *figures.Figure // nil if the column contains no figure
}

// Tables returns the tables with the results of a run: closed loops come first, then open loops.
// Closed loops whose clients waited for connections have a separate table.
func Tables(all []*Row) []Table {
	var closed, waiting, open []*Row
	for _, r := range all {
		switch {
		case r.First().Open():
			open = append(open, r)
		case r.HeadlineTime() == record.Response:
			waiting = append(waiting, r)
		default:
			closed = append(closed, r)
		}
	}
	var tables []Table
	for i, of := range [][]*Row{closed, waiting} {
		if len(of) == 0 {
			continue
		}
		var notes FootnoteList
		columns, shared := labels(all, &notes), ""
		if c := facetOf(scenario.ClientsPresentation()); c.shared(of) {
			shared = c.textAbove(of[0].First())
		} else {
			columns = append(columns, label(c))
		}
		one := table(ClosedLoop, of, columns, &notes)
		one.CommonLoad, one.ResponseTimes = shared, i == 1
		tables = append(tables, one)
	}
	if len(open) > 0 {
		var notes FootnoteList
		columns := append(labels(all, &notes), label(facet{title: "due", cell: dueText}))
		tables = append(tables, table(OpenLoop, open, columns, &notes))
	}
	below := false // set if a later table shows the members' costs; the note about these costs follows only the last such table
	for i := len(tables) - 1; i >= 0; i-- {
		tables[i].SumsMembers, below = tables[i].SumsMembers && !below, below || tables[i].SumsMembers
	}
	return tables
}

// WatchTables returns the table of the trials that have watchers. It returns nil if no trial has
// watchers.
func WatchTables(all []*Row) []Table {
	rows := slices.DeleteFunc(slices.Clone(all), func(r *Row) bool { return r.First().Load.Watch == nil })
	if len(rows) == 0 {
		return nil
	}
	count := func(watcherCount func(*scenario.Watch) int) func(*record.Trial) string {
		return func(t *record.Trial) string { return text.Count(uint64(max(watcherCount(t.Load.Watch), 0))) }
	}
	columns := []tableColumn{
		words("trial", true, func(t *record.Trial) string { return t.Name }),
		words("watchers", false, count(func(w *scenario.Watch) int { return w.Watchers })),
		words("streams", false, count(func(w *scenario.Watch) int { return w.Streams })),
		words("watch", true, watchedKeysText),
	}
	return []Table{table(WatchEvents, rows, columns, &FootnoteList{})}
}

// table creates a table of the given kind. The given columns identify a row. The function adds the
// columns with the figures and the verdict.
func table(kind TableKind, rows []*Row, columns []tableColumn, notes *FootnoteList) Table {
	t := Table{Kind: kind, Repeated: slices.ContainsFunc(rows, func(r *Row) bool { return len(r.Trials) > 1 }),
		OmitsRepeats: slices.ContainsFunc(rows, func(r *Row) bool { return len(r.ComparableTrials()) < len(r.Done) })}
	columns = slices.Concat(columns, figureColumns(kind, rows, notes))
	if kind != WatchEvents {
		columns = append(columns, tableColumn{Column: Column{Title: "verdict", LeftAligned: true}, cell: func(r *Row) Cell { return VerdictCell(JudgeTrials(r.Trials)) }})
	}
	for _, c := range columns {
		t.SumsMembers = t.SumsMembers || c.SumsMembers
		t.Columns = append(t.Columns, c.Column)
	}
	for _, r := range rows {
		cells := make([]Cell, 0, len(columns))
		for _, c := range columns {
			cell := c.cell(r)
			t.Doubted = t.Doubted || cell.Doubted
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	for i, c := range columns {
		if c.figure != nil {
			markWorst(t.Rows, i, c.figure.Direction)
		}
	}
	t.Footnotes = notes.Texts
	return t
}

// VerdictCell returns a cell with a verdict, or with the state of a trial that has no verdict.
func VerdictCell(j CombinedVerdict) Cell {
	cell := Cell{Text: j.String()}
	if state := verdict.State(j.State); state == verdict.Valid || state == verdict.Suspect || state == verdict.Invalid {
		cell.Judged = state
	}
	return cell
}

// markWorst marks the worst figure of a column and each figure that is about as bad. It marks only
// figures that are clearly worse than the best figure: the difference exceeds the margin of
// comparisons, and the intervals, if known, do not overlap. It marks no figure if neither high nor
// low figures are better.
func markWorst(rows [][]Cell, column int, better figures.Direction) {
	value := func(row []Cell) BoundedValue {
		v := BoundedValue{Value: row[column].Value}
		if column+1 < len(row) && row[column+1].Kind == CertaintyCell {
			v.Certainty = row[column+1].Certainty
		}
		return v
	}
	known := slices.DeleteFunc(slices.Clone(rows), func(row []Cell) bool { return !row[column].Value.Known && !row[column].Value.Failed })
	if len(known) == 0 {
		return
	}
	order := func(a, b []Cell) int { return cmp.Compare(value(a).badness(better), value(b).badness(better)) }
	best, worst := value(slices.MinFunc(known, order)), value(slices.MaxFunc(known, order))
	for _, row := range known {
		row[column].Worst = value(row).ClearlyWorse(best, better) && !worst.ClearlyWorse(value(row), better)
	}
}

// words returns a column that contains a text about the trial.
func words(title string, leftAligned bool, describe func(*record.Trial) string) tableColumn {
	return tableColumn{Column: Column{Title: title, LeftAligned: leftAligned}, cell: func(r *Row) Cell { return Cell{Text: describe(r.First())} }}
}

// labels returns the columns that identify a row. If there are several trials, the first column is
// the trial's name, because the texts below the tables use the names. Remarks about a consistency
// level become footnotes.
func labels(all []*Row, notes *FootnoteList) []tableColumn {
	var columns []tableColumn
	if len(all) > 1 {
		columns = append(columns, words("trial", true, func(t *record.Trial) string { return t.Name }))
	}
	columns = append(columns, tableColumn{Column: Column{Title: "operation", LeftAligned: true, Condition: true}, cell: func(r *Row) Cell { return Cell{Text: operation(r.First())} }},
		tableColumn{Column: Column{Title: "consistency", LeftAligned: true, Condition: true, Drop: dropExtra}, cell: func(r *Row) Cell {
			return Cell{Text: text.OrDash(r.First().Consistency), Notes: notes.MarkWeakerReads(r.First())}
		}},
		tableColumn{Column: Column{Title: "target", LeftAligned: true, Condition: true, Drop: dropExtra}, cell: func(r *Row) Cell { return Cell{Text: r.First().Target.String()} }})
	for _, f := range facets() {
		if !f.shared(all) {
			columns = append(columns, label(f))
		}
	}
	return columns
}

func label(f facet) tableColumn {
	c := words(f.title, false, f.cell)
	c.Condition, c.Drop = true, dropExtra
	return c
}

// dueText returns the number of operations that became due per second. For most loads, this is the
// configured rate. For an application, the configured rate includes only the calls that the
// application plans, but not the calls that responses and events trigger.
func dueText(t *record.Trial) string {
	if len(t.ByCall) > 0 && t.Seconds > 0 {
		return text.PerSecond(float64(t.Due) / t.Seconds)
	}
	return DueRate(t)
}

// figurePlace describes the column of a figure.
type figurePlace struct {
	figure       string
	hasCertainty bool // followed by a column with the figure's confidence interval, if a row has one
	// if set, the column is shown only if the figure with this name is above 0 in at least one row
	shownIfPositive string
	drop            int // the value of Column.Drop
}

// dropInterval is the Column.Drop of confidence intervals. dropExtra is the Column.Drop of figures
// without a fixed place.
const (
	dropInterval = 8
	dropExtra    = 1 // also used for conditions, because the trial's name identifies the row
)

// figurePlaces returns the columns of figures that have a fixed place, in order. The other figures
// that have a title follow after these columns.
func figurePlaces(kind TableKind) []figurePlace {
	switch kind {
	case WatchEvents:
		return []figurePlace{{figure: "watch-events", hasCertainty: true}, {figure: "watch-p50"}, {figure: "watch-p90", drop: 3}, {figure: "watch-p99", hasCertainty: true},
			{figure: "watch-p99.9", drop: 6}, {figure: "watch-max", drop: 2}, {figure: "watch-lost"}, {figure: "watch-duplicated"}, {figure: "watch-reordered"}}
	default:
		return []figurePlace{{figure: "ops", hasCertainty: true}, {figure: "mean", drop: 7}, {figure: "p50"}, {figure: "p90", drop: 3}, {figure: "p99", hasCertainty: true},
			{figure: "p99.9", drop: 6}, {figure: "max", drop: 2}, {figure: "gap", drop: 5}, {figure: "errors"}, {figure: "keys-per-op", drop: 9},
			{figure: "cpu-per-op", drop: 10}, {figure: "store-cpu-per-op", shownIfPositive: "store-rss", drop: 11}, {figure: "store-rss", shownIfPositive: "store-rss", drop: 12},
			{figure: "write-amplification", shownIfPositive: "write-amplification"}, {figure: "disk-per-key", shownIfPositive: "disk-per-key"}, {figure: "rss-per-key", shownIfPositive: "rss-per-key"}}
	}
}

// figureColumns returns the columns of all figures that have a title and for which a row has a
// value. The gap is shown only for closed loops, because the response times of an open loop include
// it.
func figureColumns(kind TableKind, rows []*Row, notes *FootnoteList) []tableColumn {
	order := figurePlaces(kind)
	placedElsewhere := slices.Concat(figurePlaces(ClosedLoop), figurePlaces(WatchEvents))
	for _, f := range figures.All() {
		ofWatch := f.DescribesWatchEvents()
		is := func(p figurePlace) bool { return p.figure == f.Name }
		if f.Title != "" && ofWatch == (kind == WatchEvents) && !slices.ContainsFunc(placedElsewhere, is) {
			order = append(order, figurePlace{figure: f.Name, shownIfPositive: f.Name, drop: dropExtra})
		}
	}
	var columns []tableColumn
	for _, p := range order {
		f := figures.Registered(p.figure)
		if p.figure == "gap" && kind == OpenLoop || !slices.ContainsFunc(rows, func(r *Row) bool { return f.Applies(&r.First().Conditions) }) ||
			p.shownIfPositive != "" && !anyHas(rows, p.shownIfPositive) {
			continue
		}
		columns = append(columns, tableColumn{Column{Title: f.Title, Wide: f.Wide, SumsMembers: f.SumsMembers, Drop: p.drop}, func(r *Row) Cell {
			v, share := r.Figure(&f)
			return Cell{Kind: FigureValueCell, Value: v, Share: share, Doubted: v.Known && r.Doubts(f.Name)}
		}, &f})
		if p.hasCertainty {
			columns = append(columns, certaintyColumn(&f, rows, notes)...)
		}
	}
	return columns
}

// certaintyColumn returns the column with a figure's confidence intervals. It returns nil if no row
// has one.
func certaintyColumn(f *figures.Figure, rows []*Row, notes *FootnoteList) []tableColumn {
	known := map[*Row]*Certainty{}
	for _, r := range rows {
		if c, ok := CertaintyOf(r, f); ok {
			known[r] = &c
		}
	}
	if len(known) == 0 {
		return nil
	}
	says := basisFootnotes(known)
	return []tableColumn{{Column: Column{Title: "interval", Drop: dropInterval}, cell: func(r *Row) Cell {
		cell := Cell{Kind: CertaintyCell, Certainty: known[r]}
		if c := cell.Certainty; c != nil {
			cell.Notes = []int{notes.Mark(says[c.Basis])}
			if r.Dependent && c.Basis == OverRepeats {
				cell.Notes = append(cell.Notes, notes.Mark(DependentNote))
			}
		}
		return cell
	}}}
}

// anyHas reports whether the named figure is above 0 in at least one row.
func anyHas(rows []*Row, name string) bool {
	f := figures.Registered(name)
	return slices.ContainsFunc(rows, func(r *Row) bool {
		v, _ := r.Figure(&f)
		return v.Known && v.Number > 0
	})
}

// watchedKeysText describes what a trial's watchers watch.
func watchedKeysText(t *record.Trial) string {
	if t.Application.Name != "" {
		return "what " + t.Application.Name + " watches"
	}
	if w := t.Load.Watch; len(w.Key) > 0 {
		return strconv.Quote(scenario.KeyText(w.Key))
	}
	return WatchedKeys(t.Load.Watch, t.KeySpace)
}

// WatchedKeys describes the part of the key space that is watched.
func WatchedKeys(w *scenario.Watch, keySpace uint64) string {
	watched := keySpace
	if w.WatchedKeys > 0 {
		watched = w.WatchedKeys
	}
	switch {
	case w.KeysPerWatcher > 1 && w.KeysPerWatcher >= keySpace && w.WatchedKeys == 1:
		return "all " + text.Plural(keySpace, "key") + " each"
	case w.KeysPerWatcher > 1:
		return text.Plural(w.KeysPerWatcher, "key") + " each"
	case watched == 1:
		return "1 key"
	}
	return "1 of " + text.Plural(watched, "key") + " each"
}

// CertainFigures returns the figures whose confidence intervals are shown in tables and files.
func CertainFigures() []figures.Figure {
	var all []figures.Figure
	for _, p := range slices.Concat(figurePlaces(ClosedLoop), figurePlaces(WatchEvents)) {
		if p.hasCertainty {
			all = append(all, figures.Registered(p.figure))
		}
	}
	return all
}
