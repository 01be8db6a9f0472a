package compare

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// RepeatProgress is the progress of a run that repeats its trials until their figures are precise
// enough.
type RepeatProgress struct {
	Rule    *record.RepeatRule
	Metrics MetricSet
	// Rounds is the number of rounds that have ended.
	Rounds int
	// Precisions holds the precision of the figures of every trial. After them, it holds the
	// precision of the ratios between trials and their baselines. Both parts are in the scenario's
	// order.
	Precisions []Precision
	// LeftOut describes the repeats that do not count, with the reasons.
	LeftOut []string
}

// Precision describes how precise a figure is.
type Precision struct {
	Trial, Title string
	// Ratio is set if the figure is the ratio of the trial's figure to the baseline's figure.
	Ratio bool
	// Repeats is the number of usable repeats. For a ratio, it is the smaller of the numbers on
	// both sides.
	Repeats int
	// HalfWidth is the distance from the figure to the farther end of its 95 % interval, as a share
	// of the figure. It is set only if HasInterval is set.
	HalfWidth   float64
	HasInterval bool
	// Precise is set if HalfWidth is within the target and there are enough repeats.
	Precise bool
	// DisturbedPart is the part of HalfWidth that disturbances may have caused. Unsettled is set if
	// DisturbedPart exceeds the target, so that more repeats of this kind cannot make the figure
	// precise.
	Unsettled     bool
	DisturbedPart float64
	// hopeless is set if the figure cannot become precise, because no repeat counts or because a
	// repeat has no value above 0.
	hopeless bool
}

// ruleMetrics returns the metrics by which a run is compared with its own baselines. These are the
// metrics of its precision target, if it has one.
func ruleMetrics(u *record.RepeatRule) MetricSet {
	if u == nil {
		return DefaultMetrics()
	}
	by, err := ParseMetrics(u.Metrics)
	if err != nil || len(by.Figures) == 0 { // the record was written by another version or program
		by = DefaultMetrics()
	}
	return by
}

// RepeatProgressOfRun returns the progress of a run. It returns nil unless the run repeats its
// trials until their figures are precise. Interrupted trials are excluded.
func RepeatProgressOfRun(run *record.Run) *RepeatProgress {
	if run.RepeatRule == nil {
		return nil
	}
	return NewRepeatProgress(run.RepeatRule, analyze.TrialsInOrder(run))
}

// NewRepeatProgress returns the progress of a run that is still in progress, from the trials that
// have ended.
func NewRepeatProgress(until *record.RepeatRule, trials []*record.Trial) *RepeatProgress {
	r := &RepeatProgress{Rule: until, Metrics: ruleMetrics(until)}
	c := &Comparison{Metrics: r.Metrics}
	all := analyze.GroupByName(trials)
	counting := map[string][]*record.Trial{}
	for i, name := range all.Order {
		if ran := len(slices.DeleteFunc(slices.Clone(all.ByName[name]), func(t *record.Trial) bool { return !analyze.HasFigures(t) })); i == 0 || ran < r.Rounds {
			r.Rounds = ran
		}
		counting[name] = c.countedRepeats(name, all.ByName[name])
		for _, f := range r.Metrics.Figures {
			r.Precisions = append(r.Precisions, r.figure(name, &f, counting[name]))
		}
	}
	for _, name := range all.Order {
		if of := all.ByName[name][0].BaselineOf; all.ByName[of] != nil {
			// use only the common rounds, as in the final comparison
			news, bases := selectCommonRounds(counting[of], counting[name])
			for _, f := range r.Metrics.Figures {
				r.Precisions = append(r.Precisions, r.ratio(of, &f, news, bases))
			}
		}
	}
	r.LeftOut = c.LeftOut
	return r
}

// figure returns the precision of a trial's figure.
func (r *RepeatProgress) figure(name string, f *Compared, trials []*record.Trial) Precision {
	p := Precision{Trial: name, Title: f.Title, Repeats: len(trials)}
	numbers, ok := analyze.RepeatedOf(&f.Figure, trials).Numbers()
	if !ok {
		p.hopeless = true
		return p
	}
	i, ok := stats.UntilPrecise(numbers)
	p.setInterval(i, ok, r.Rule.Precision)
	return p
}

// ratio returns the precision of the ratio between a trial and its baseline.
func (r *RepeatProgress) ratio(name string, f *Compared, news, bases []*record.Trial) Precision {
	p := Precision{Trial: name, Title: f.Title, Ratio: true, Repeats: min(len(news), len(bases))}
	a, okA := analyze.RepeatedOf(&f.Figure, news).Numbers()
	b, okB := analyze.RepeatedOf(&f.Figure, bases).Numbers()
	if okA && okB {
		i, ok := stats.UntilPreciseRatio(a, b)
		p.setInterval(i, ok, r.Rule.Precision)
	}
	return p
}

// setInterval sets the fields that depend on the confidence interval, if ok is set.
func (p *Precision) setInterval(i stats.Interval, ok bool, target float64) {
	if p.HasInterval = ok; !ok {
		return
	}
	p.HalfWidth, p.DisturbedPart = i.HalfWidth(), i.DisturbedPart/math.Abs(i.Value)
	of := stats.PrecisionOf(i, p.Repeats, target)
	p.Precise, p.Unsettled = of == stats.Precise, of == stats.Unsettled
}

// Ending returns the reason why a run can end: either its figures are precise enough, or they
// cannot become precise. It returns an empty value if the run must continue.
func (r *RepeatProgress) Ending() record.EndReason {
	open := r.Imprecise()
	switch {
	case len(r.Precisions) > 0 && len(open) == 0:
		return record.EndedPrecise
	case r.Rounds >= stats.MinUntilPrecise && slices.ContainsFunc(open, func(p Precision) bool { return p.hopeless }):
		return record.EndedHopeless
	case len(open) > 0 && !slices.ContainsFunc(open, func(p Precision) bool { return !p.Unsettled }):
		return record.EndedDisturbed
	}
	return ""
}

// CountPrecise returns the number of figures that are precise.
func (r *RepeatProgress) CountPrecise() int { return len(r.Precisions) - len(r.Imprecise()) }

// Imprecise returns the figures that are not precise. Figures without an interval come first,
// followed by the others in descending order of width.
func (r *RepeatProgress) Imprecise() []Precision {
	return slices.SortedStableFunc(slices.Values(slices.DeleteFunc(slices.Clone(r.Precisions), func(p Precision) bool { return p.Precise })), wider)
}

// LeastPrecise returns the least precise figure. It returns false if there are no figures.
func (r *RepeatProgress) LeastPrecise() (Precision, bool) {
	if len(r.Precisions) == 0 {
		return Precision{}, false
	}
	return slices.MinFunc(r.Precisions, wider), true
}

func wider(a, b Precision) int {
	switch {
	case a.HasInterval != b.HasInterval && a.HasInterval:
		return 1
	case a.HasInterval != b.HasInterval:
		return -1
	case a.HalfWidth > b.HalfWidth:
		return -1
	case a.HalfWidth < b.HalfWidth:
		return 1
	}
	return 0
}

// FewestRepeats returns the minimum number of repeats for a figure to be precise.
func (r *RepeatProgress) FewestRepeats() int { return stats.MinUntilPrecise }

// TimeLimit returns the maximum duration of the run.
func (r *RepeatProgress) TimeLimit() time.Duration { return time.Duration(r.Rule.AtMostNS) }
