package report

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Faults reports what the faults of a run broke: a row for each kind of fault and each
// trial with its repeats, with how often it was done, and of each length of time how many
// are known, the median with its 95 % interval, the p90 and the longest, in seconds.
func Faults(run *record.Run) Finding {
	return Finding{rows: func() (columns []string, all []record.Object) {
		for _, b := range faults.Broken(analyze.Rows(run)) {
			all = append(all, brokenFields(b))
		}
		return nil, all
	}}
}

// brokenFields are the fields of a kind of fault.
func brokenFields(b *faults.Breaks) (o record.Object) {
	first := b.Row.First()
	o.Add("fault", b.What)
	o.Add("trial", first.Name)
	o.Add("store", first.Store)
	o.Add("version", first.Version)
	o.Add("times", number(b.Times))
	o.Add("outages_lasted", number(b.Lasted))
	o.Add("amiss", number(b.Amiss))
	o.Add("errors_definite", number(b.Definite))
	o.Add("errors_indefinite", number(b.Indefinite))
	told := b.Told
	if told == nil {
		told = &faults.BrokenTold{}
	}
	count := func(name string, n uint64, ok bool) { o.Add(name, known(float64(n), ok)) }
	count("late_events", told.Late, b.Told != nil)
	count("lost_events", told.Lost, told.ShowsLost)
	count("ended_watchers", told.EndedWatchers, b.Told != nil)
	count("resubscribed", told.Resubscribed, b.Told != nil)
	count("leases_ended", told.Leases, b.Told != nil)
	count("leases_ended_early", told.EarlyLeases, b.Told != nil)
	for i := range b.Spans {
		s := &b.Spans[i]
		p90, ok := s.P90()
		most, any := s.Max()
		o.Add(s.Name+"_known", number(len(s.All)))
		o.Add(s.Name+"_p50_seconds", known(s.Median.Value, any))
		o.Add(s.Name+"_p50_low_seconds", known(s.Median.Low, s.HasInterval))
		o.Add(s.Name+"_p50_high_seconds", known(s.Median.High, s.HasInterval))
		o.Add(s.Name+"_p90_seconds", known(p90, ok))
		o.Add(s.Name+"_max_seconds", known(most, any))
	}
	return o
}

// brokenObjects are the same for JSON, with each length of time that is known.
func brokenObjects(rows []*analyze.Row) (all []record.Object) {
	for _, b := range faults.Broken(rows) {
		o := brokenFields(b)
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
