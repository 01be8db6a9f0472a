package report

import (
	"io"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// BrokenCSV writes a row for each kind of fault and each trial with its repeats: how
// often it was done, and of each length of time how many are known, the median with
// its 95 % interval, the p90 and the longest, in seconds. What is not known is empty.
func BrokenCSV(w io.Writer, run *record.Run) error {
	var rows [][]string
	for _, b := range analyze.Broken(analyze.Rows(run)) {
		first := b.Row.First()
		names, cells := []string{"fault", "trial", "store", "version"}, []string{b.What, first.Name, first.Store, first.Version}
		for i := range cells {
			cells[i] = text.Cell(cells[i])
		}
		for _, n := range brokenFigures(b) {
			names, cells = append(names, n.name), append(cells, n.cell())
		}
		if rows == nil {
			rows = append(rows, names)
		}
		rows = append(rows, cells)
	}
	return writeCSV(w, rows)
}

// brokenFigures are the figures of a kind of fault, as files have them.
func brokenFigures(b *analyze.Breaks) []named {
	count := func(n int) *float64 { return new(float64(n)) }
	all := []named{{"times", count(b.Times)}, {"outages_lasted", count(b.Lasted)}, {"amiss", count(b.Amiss)}, {"errors_definite", new(float64(b.Definite))}, {"errors_indefinite", new(float64(b.Indefinite))}}
	told := b.Told
	if told == nil {
		told = &analyze.BrokenTold{}
	}
	for _, n := range []struct {
		name  string
		count uint64
		known bool
	}{
		{"late_events", told.Late, b.Told != nil}, {"lost_events", told.Lost, told.ShowsLost}, {"ended_watchers", told.EndedWatchers, b.Told != nil},
		{"resubscribed", told.Resubscribed, b.Told != nil}, {"leases_ended", told.Leases, b.Told != nil}, {"leases_ended_early", told.EarlyLeases, b.Told != nil},
	} {
		all = append(all, named{n.name, known(float64(n.count), n.known)})
	}
	for i := range b.Spans {
		s := &b.Spans[i]
		p90, ok := s.P90()
		most, any := s.Max()
		all = append(all,
			named{s.Name + "_known", count(len(s.All))},
			named{s.Name + "_p50_seconds", known(s.Median.Value, any)},
			named{s.Name + "_p50_low_seconds", known(s.Median.Low, s.HasInterval)}, named{s.Name + "_p50_high_seconds", known(s.Median.High, s.HasInterval)},
			named{s.Name + "_p90_seconds", known(p90, ok)}, named{s.Name + "_max_seconds", known(most, any)})
	}
	return all
}

// brokenObjects are the same as objects, with each length of time that is known.
func brokenObjects(rows []*analyze.Row) (all []record.Object) {
	for _, b := range analyze.Broken(rows) {
		var o record.Object
		o.Add("fault", b.What)
		o.Add("trial", b.Row.First().Name)
		o.Add("store", b.Row.First().Store)
		o.Add("version", b.Row.First().Version)
		for _, n := range brokenFigures(b) {
			o.Add(n.name, n.value)
		}
		for _, s := range b.Spans {
			o.Add(s.Name+"_seconds", append([]float64{}, s.All...))
		}
		all = append(all, o)
	}
	return all
}

// Broke are sentences on what the faults of a row's trials broke, and for how long.
func Broke(r *analyze.Row) []string {
	var all []record.Fault
	for _, t := range r.Done {
		all = append(all, t.Faults...)
	}
	return record.Broke(all)
}
