package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// watchTable hands over the table of the trials that watch, if there are any.
func watchTable(all []*group, put func(head string, g *grid) error) error {
	rows := withWatchers(all)
	if len(rows) == 0 {
		return nil
	}
	return put("Watch events: time from when a write was due to its event's arrival at each watcher; a lost one counts as failed", table(rows, watchColumns(rows)))
}

// withWatchers are the trials that watch.
func withWatchers(all []*group) []*group {
	var out []*group
	for _, g := range all {
		if g.first().Load.Watch != nil {
			out = append(out, g)
		}
	}
	return out
}

// watchColumns are those of the table of watch events.
func watchColumns(rows []*group) []cellOf {
	at := func(p float64) func(*record.Trial) measure.Figure {
		return watchTime(func(t record.Times) measure.Figure { return t.At(p) })
	}
	columns := []cellOf{
		{column{"trial", true}, func(g *group) string { return g.first().Name }},
		{column{title: "watchers"}, func(g *group) string { return Count(uint64(max(g.first().Load.Watch.Watchers, 0))) }},
		{column{title: "streams"}, func(g *group) string { return Count(uint64(max(g.first().Load.Watch.Streams, 0))) }},
		{column{"watch", true}, func(g *group) string { return watchedWhat(g.first()) }},
		{column{title: "events"}, func(g *group) string {
			if f := analyze.MedianRate(g.figures(eventRate)); f.Known {
				return PerSecond(f.NS)
			}
			return Dash
		}},
	}
	columns = withSpread(columns, rows, eventRate, analyze.MedianRate)
	columns = append(columns, timeColumn("p50", at(50)), timeColumn("p90", at(90)), timeColumn("p99", at(99)))
	columns = withSpread(columns, rows, at(99), analyze.Median)
	return append(columns, timeColumn("p99.9", at(99.9)),
		timeColumn("max", watchTime(func(t record.Times) measure.Figure { return t.Max })),
		amiss("lost", func(w *record.Watched) uint64 { return w.Lost }),
		amiss("twice", func(w *record.Watched) uint64 { return w.Duplicated }),
		amiss("out of order", func(w *record.Watched) uint64 { return w.Reordered }))
}

func eventRate(t *record.Trial) measure.Figure {
	if t.Watch == nil {
		return measure.Figure{}
	}
	return measure.Figure{NS: t.Watch.PerSecond, Known: true}
}

func watchTime(of func(record.Times) measure.Figure) func(*record.Trial) measure.Figure {
	return func(t *record.Trial) measure.Figure {
		if t.Watch == nil {
			return measure.Figure{}
		}
		return of(t.Watch.FromDue)
	}
}

// amiss counts events in all repeats, with their share of those expected.
func amiss(title string, of func(*record.Watched) uint64) cellOf {
	return cellOf{column{title: title}, func(g *group) string {
		var n, expected uint64
		known := false
		for _, t := range g.done {
			if t.Watch != nil {
				known = true
				n += of(t.Watch)
				expected += t.Watch.Expected
			}
		}
		switch {
		case !known:
			return Dash
		case n == 0 || expected == 0:
			return Count(n)
		}
		return Count(n) + " (" + measure.Percent(float64(n)/float64(expected)) + ")"
	}}
}

// watchedWhat says what a trial's watchers watch.
func watchedWhat(t *record.Trial) string {
	if w := t.Load.Watch; len(w.Key) > 0 {
		return fmt.Sprintf("%q", scenario.KeyText(w.Key))
	}
	return watchedKeys(t.Load.Watch, t.KeySpace)
}

// watchedKeys says which of the key space's keys are watched.
func watchedKeys(w *scenario.Watch, keySpace uint64) string {
	watched := keySpace
	if w.WatchedKeys > 0 {
		watched = w.WatchedKeys
	}
	switch {
	case w.Span > 1 && w.Span >= keySpace && w.WatchedKeys == 1:
		return "all " + plural(keySpace, "key") + " each"
	case w.Span > 1:
		return plural(w.Span, "key") + " each"
	case watched == 1:
		return "1 key"
	}
	return "1 of " + plural(watched, "key") + " each"
}

// watchCells hands over a trial's columns of watch events, which stand behind
// all others and are empty without watchers.
func watchCells(t *record.Trial, add func(name, text string)) {
	w := t.Watch
	number := func(name string, of func(*record.Watched) uint64) {
		if w == nil {
			add(name, "")
			return
		}
		add(name, strconv.FormatUint(of(w), 10))
	}
	watchers, rate := "", ""
	if t.Load.Watch != nil {
		watchers = strconv.Itoa(t.Load.Watch.Watchers)
	}
	if w != nil {
		rate = strconv.FormatFloat(w.PerSecond, 'f', -1, 64)
	}
	add("watchers", watchers)
	add("watch_events_per_second", rate)
	number("watch_expected_events", func(w *record.Watched) uint64 { return w.Expected })
	number("watch_delivered_events", func(w *record.Watched) uint64 { return w.Delivered })
	number("watch_lost_events", func(w *record.Watched) uint64 { return w.Lost })
	number("watch_duplicated_events", func(w *record.Watched) uint64 { return w.Duplicated })
	number("watch_reordered_events", func(w *record.Watched) uint64 { return w.Reordered })
	for _, d := range []struct {
		name string
		of   func(*record.Watched) record.Times
	}{
		{"watch_from_due", func(w *record.Watched) record.Times { return w.FromDue }},
		{"watch_from_sent", func(w *record.Watched) record.Times { return w.FromSent }},
	} {
		var times record.Times
		if w != nil {
			times = d.of(w)
		}
		for _, p := range []float64{50, 90, 99, 99.9} {
			add(fmt.Sprintf("%s_p%s_ns", d.name, strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")), cellNS(times.At(p)))
		}
		add(d.name+"_max_ns", cellNS(times.Max))
	}
}

// watchRows adds the rows of watch events to dbtester's summary, which has none
// of its own.
func watchRows(row func(name string, of func(*record.Trial) string)) {
	add := func(name string, of func(*record.Watched) string) {
		row(name, func(t *record.Trial) string {
			if t.Watch == nil {
				return ""
			}
			return of(t.Watch)
		})
	}
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	add("WATCH-EVENTS-PER-SECOND", func(w *record.Watched) string { return strconv.FormatFloat(w.PerSecond, 'f', 1, 64) })
	for _, p := range []float64{50, 99} {
		add(fmt.Sprintf("WATCH-LATENCY-MS-P%g", p), func(w *record.Watched) string { return summaryMS(w.FromDue.At(p)) })
	}
	add("WATCH-SLOWEST-LATENCY-MS", func(w *record.Watched) string { return summaryMS(w.FromDue.Max) })
	add("WATCH-LOST-EVENTS", func(w *record.Watched) string { return number(w.Lost) })
	add("WATCH-DUPLICATED-EVENTS", func(w *record.Watched) string { return number(w.Duplicated) })
	add("WATCH-REORDERED-EVENTS", func(w *record.Watched) string { return number(w.Reordered) })
}
