package report

import (
	"fmt"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

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
