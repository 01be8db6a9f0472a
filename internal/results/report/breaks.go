package report

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Faults reports the outages of a run. It has one row for each kind of fault in each trial, which
// combines the repeats of the trial. A row has the number of faults and, for each measured
// duration, the number of known values, the median with its 95 % interval, the p90 and the maximum,
// in seconds.
func Faults(run *record.Run) Finding {
	return Finding{rows: func() (columns []string, all []record.Object) {
		for _, b := range faults.FindEffects(analyze.Rows(run)) {
			all = append(all, brokenFields(b))
		}
		return nil, all
	}}
}

// brokenFields returns the fields of one row for CSV.
func brokenFields(b *faults.KindEffects) (o record.Object) {
	first := b.Row.First()
	o.Add("fault", b.Description)
	o.Add("trial", first.Name)
	o.Add("store", first.Store)
	o.Add("version", first.Version)
	o.Add("times", number(b.Count))
	o.Add("outages_unfinished", number(b.UnfinishedOutages))
	o.Add("failed_or_invalid", number(b.FailedOrInvalid))
	o.Add("errors_definite", number(b.Definite))
	o.Add("errors_indefinite", number(b.Indefinite))
	counts := b.EventCounts
	if counts == nil {
		counts = &faults.EventCounts{}
	}
	count := func(name string, n uint64, ok bool) { o.Add(name, numberOrNil(float64(n), ok)) }
	count("late_events", counts.Late, b.EventCounts != nil)
	count("lost_events", counts.Lost, counts.ShowsLost)
	count("ended_watchers", counts.EndedWatchers, b.EventCounts != nil)
	count("resubscribed", counts.Resubscribed, b.EventCounts != nil)
	count("leases_ended", counts.Leases, b.EventCounts != nil)
	count("leases_ended_early", counts.EarlyLeases, b.EventCounts != nil)
	for i := range b.Periods {
		s := &b.Periods[i]
		p90, ok := s.P90()
		most, any := s.Max()
		o.Add(s.Name+"_known", number(len(s.Lengths)))
		o.Add(s.Name+"_p50_seconds", numberOrNil(s.Median.Value, any))
		o.Add(s.Name+"_p50_low_seconds", numberOrNil(s.Median.Low, s.HasInterval))
		o.Add(s.Name+"_p50_high_seconds", numberOrNil(s.Median.High, s.HasInterval))
		o.Add(s.Name+"_p90_seconds", numberOrNil(p90, ok))
		o.Add(s.Name+"_max_seconds", numberOrNil(most, any))
	}
	return o
}

// brokenObjects returns the rows for JSON. Unlike the rows for CSV, they also contain all known
// values of each duration.
func brokenObjects(rows []*analyze.Row) (all []record.Object) {
	for _, b := range faults.FindEffects(rows) {
		o := brokenFields(b)
		for _, s := range b.Periods {
			o.Add(s.Name+"_seconds", append([]float64{}, s.Lengths...))
		}
		all = append(all, o)
	}
	return all
}

// OutageSentences returns sentences about the outages of a row's trials.
func OutageSentences(r *analyze.Row) []string {
	var all []record.Fault
	for _, t := range r.Done {
		all = append(all, t.Faults...)
	}
	return record.OutageSentences(all)
}
