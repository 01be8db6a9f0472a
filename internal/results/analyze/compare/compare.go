// Package compare reports whether the results of a run differ from a baseline, by how much, and
// with what confidence. It also reports how precise the repeats of one run are.
package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Pair holds the repeats of a trial and of the trial that is its baseline.
type Pair struct {
	Name      string
	New, Base []*record.Trial // the repeats that are compared; at least one on each side
	// AllNew and AllBase hold all repeats, including those that were left out of the comparison.
	AllNew, AllBase []*record.Trial
	// Dependent is set if several repeats on one side ran on the same cluster, and so share its
	// state.
	Dependent bool

	Figures []Compared // in the order of MetricSet.Figures
}

// LeftOut returns the number of repeats that are not compared: first for the run, then for the
// baseline.
func (p *Pair) LeftOut() [2]int {
	return [2]int{len(p.AllNew) - len(p.New), len(p.AllBase) - len(p.Base)}
}

// Compared is one metric of a pair, with its values on both sides and its change.
type Compared struct {
	Figure        figures.Figure
	Title         string
	Current, Base figures.Value // the medians of the compared repeats (see analyze.MedianOf)
	Change        analyze.Change
}

// MetricSet lists the metrics that a comparison uses.
type MetricSet struct {
	Figures []Compared // only Figure and Title are set
}

// DefaultMetrics returns the default metrics of a comparison: throughput and p90.
func DefaultMetrics() MetricSet {
	return MetricSet{Figures: []Compared{
		{Title: "ops", Figure: figures.Registered("ops")},
		{Title: "p90", Figure: figures.Registered("p90")},
	}}
}

// MainMetrics returns the names of the metrics by which several runs are compared, unless the user
// selects other metrics.
func MainMetrics() []string { return []string{"ops", "p50", "p99"} }

// ParseMetrics returns the metrics with the given names. The error names the first metric that
// cannot be compared.
func ParseMetrics(names []string) (MetricSet, error) {
	var by MetricSet
	for _, name := range names {
		f, err := figures.ParseMetric(name)
		switch {
		case err != nil:
			return by, err
		case !f.Recorded():
			return by, fmt.Errorf("runs do not record the metric %q; choose p50, p90, p99 or p99.9, or another metric such as ops", f.Name)
		case f.Direction == figures.NoDirection:
			return by, fmt.Errorf("for the metric %q, neither a higher nor a lower value is better; choose a metric that has a direction, such as ops or p99", f.Name)
		case slices.ContainsFunc(by.Figures, func(c Compared) bool { return c.Figure.Name == f.Name }):
			return by, fmt.Errorf("the metric %s is given twice; drop one", name)
		}
		by.Figures = append(by.Figures, Compared{Title: f.Name, Figure: f})
	}
	return by, nil
}

// UsesTimes reports whether at least one metric is computed from the times that tables show first
// (see record.Trial.HeadlineTime).
func (metrics MetricSet) UsesTimes() bool {
	return slices.ContainsFunc(metrics.Figures, func(f Compared) bool { return f.Figure.Times != nil && f.Figure.Times.Prefix == "" })
}

// Comparison is the result of comparing a run with its baseline.
type Comparison struct {
	Run, Base *record.Run // the same run if the baseline is a trial of that run
	Pairs     []Pair      // in the order of the run's trials
	// Differences holds sentences about the differences between the two runs, except differences in
	// the load. DifferenceSentences returns them, too.
	Differences []string
	// indistinctSentences holds sentences about changes that the machine alone may have caused. They
	// depend on the judgments, so Judge sets them.
	indistinctSentences []string
	// LeftOut describes the repeats that are not included in any median, with the reasons.
	LeftOut []string
	// OnlyNew and OnlyBase hold the names of the trials that have a usable repeat in only one of
	// the runs.
	OnlyNew, OnlyBase []string
	// namesWithoutRepeats holds the names of the trials that exist in both runs but have no
	// usable repeat in one of them.
	namesWithoutRepeats []string
	Metrics             MetricSet
	// Margin is the largest change that is judged "same", as a share. FamilySize is the number of
	// changes that are judged together.
	Margin     float64
	FamilySize int
}

// Compare compares the trials of a run with the trials of the same names in another run, and judges
// all changes together. Its error explains why the runs cannot be compared.
func Compare(run, base *record.Run, metrics MetricSet) (*Comparison, error) {
	news, bases := analyze.TrialsByName(run), analyze.TrialsByName(base)
	c := &Comparison{Run: run, Base: base, Metrics: metrics}
	common := false
	for _, name := range bases.Order {
		if news.ByName[name] == nil {
			c.OnlyBase = append(c.OnlyBase, name)
		}
	}
	for _, name := range news.Order {
		of := bases.ByName[name]
		if of == nil {
			c.OnlyNew = append(c.OnlyNew, name)
			continue
		}
		if err := SameLoad(&news.ByName[name][0].Conditions, &of[0].Conditions); err != nil {
			return nil, err
		}
		common = true
		c.add(name, news.ByName[name], of)
	}
	if !common {
		return nil, noneInCommon(news.Order, bases.Order)
	}
	c.findDifferences()
	Judge(stats.Margin, c)
	return c, nil
}

// EvaluateParts compares a run with the baselines inside it. If the run was joined from parts,
// each part is compared with its own baselines.
func EvaluateParts(run *record.Run) (all []*Comparison) {
	for _, p := range run.PartsOrSelf() {
		if c := Baselines(p); c != nil {
			all = append(all, c)
		}
	}
	return all
}

// AppendFirstRunComparisons compares each run with the first one, and appends these comparisons to
// `others`. It compares the main metrics, and judges the appended changes together. It omits runs
// that cannot be compared, because they have other trials or other loads.
func AppendFirstRunComparisons(others []*Comparison, runs []*record.Run) []*Comparison {
	metrics, err := ParseMetrics(MainMetrics())
	if err != nil || len(runs) < 2 {
		return others
	}
	var added []*Comparison
	for _, run := range runs[1:] {
		if c, err := Compare(run, runs[0], metrics); err == nil {
			added = append(added, c)
		}
	}
	Judge(stats.Margin, added...)
	return slices.Concat(others, added)
}

// Baselines compares the trials of a run with their baselines, which are other trials of the same
// run. The scenario declares these baselines. Baselines returns nil if the scenario declares no
// baseline.
func Baselines(run *record.Run) *Comparison {
	return BaselinesWithMetrics(run, ruleMetrics(run.RepeatRule))
}

// BaselinesWithMetrics does the same as Baselines, but with the given metrics.
func BaselinesWithMetrics(run *record.Run, metrics MetricSet) *Comparison {
	c := &Comparison{Run: run, Base: run, Metrics: metrics}
	all, any := analyze.TrialsByName(run), false
	for _, name := range all.Order {
		of := all.ByName[name][0].BaselineOf
		if of == "" {
			continue
		}
		any = true
		news := all.ByName[of]
		if news == nil {
			c.OnlyBase = append(c.OnlyBase, name)
			continue
		}
		if err := SameLoad(&news[0].Conditions, &all.ByName[name][0].Conditions); err != nil {
			c.Differences = append(c.Differences, "Warning: "+err.Error()+".")
		}
		c.add(of, news, all.ByName[name])
	}
	if !any {
		return nil
	}
	c.findDifferences()
	Judge(stats.Margin, c)
	return c
}

// Judge assigns a judgment such as "worse" to each change in the comparisons. A report must show
// these comparisons together, because Judge corrects the intervals for the total number of changes.
// The parameter `margin` is the practical margin, as a share.
func Judge(margin float64, all ...*Comparison) {
	var changes []*analyze.Change
	var family []stats.Comparison
	for _, c := range all {
		for i := range c.Pairs {
			for k := range c.Pairs[i].Figures {
				if f := &c.Pairs[i].Figures[k]; f.Change.Interval {
					changes = append(changes, &f.Change)
					family = append(family, stats.Comparison{Ratio: f.Change.Ratio, MoreIsBetter: f.Figure.Direction == figures.HigherIsBetter})
				}
			}
		}
	}
	for i, j := range stats.Judge(family, margin) {
		changes[i].Judgement, changes[i].CorrectedLow, changes[i].CorrectedHigh = j, j.Corrected.Low-1, j.Corrected.High-1
	}
	for _, c := range all {
		c.Margin, c.FamilySize = margin, len(family)
		c.findIndistinctTimes()
	}
}

// DifferenceSentences returns the sentences in Differences. After them, it returns the sentences
// about changes that were judged better or worse although the machine alone may have caused them.
func (c *Comparison) DifferenceSentences() []string {
	return slices.Concat(c.Differences, c.indistinctSentences)
}

// Worsened returns the names of the trials and metrics that are worse than the baseline, such as
// "put p90".
func Worsened(all []*Comparison) (names []string) {
	for _, c := range all {
		for i := range c.Pairs {
			for _, f := range c.Pairs[i].Figures {
				if f.Change.Judgement.Word == stats.Worse {
					names = append(names, c.Pairs[i].Name+" "+f.Title)
				}
			}
		}
	}
	return names
}

// CheckJudgeable returns an error that lists the trials in which no change could be judged. It
// returns nil if there are no such trials.
func CheckJudgeable(all []*Comparison) error {
	takes := fmt.Sprintf("%d usable repeats on each side with figures above 0, interleaved if both sides are in one run", analyze.MinRepeats)
	if len(all) == 0 || all[0].FamilySize == 0 {
		return fmt.Errorf("--fail-on worse: no trial could be judged, because a trial needs %s; add repeats, or repeat on a quieter machine", takes)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.namesWithoutRepeats...)
		for i := range c.Pairs {
			p := &c.Pairs[i]
			if !slices.ContainsFunc(p.Figures, func(f Compared) bool { return f.Change.Interval }) {
				names = append(names, p.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("--fail-on worse: some trials could not be judged, because a trial needs %s: %s", takes, strings.Join(names, ", "))
}

// noneInCommon returns the error for two runs that have no trial name in common.
func noneInCommon(news, bases []string) error {
	first := func(names []string) string { return append(names, "none")[0] }
	return fmt.Errorf("the run and the baseline have no trial name in common: the first trial is %s here and %s in the baseline; compare runs of the same scenario", first(news), first(bases))
}

// add compares a trial with its baseline, if both have figures that can be compared.
func (c *Comparison) add(name string, news, bases []*record.Trial) {
	p := Pair{Name: name, New: c.countedRepeats(name+" here", news), Base: c.countedRepeats(name+" in the baseline", bases), AllNew: news, AllBase: bases}
	here, there := omittedShare(p.New, news), omittedShare(p.Base, bases)
	times := "; the remaining repeats of the two sides ran at different times"
	if c.Run == c.Base && interleaved(news, bases) {
		times = ""
		c.dropUnmatchedRounds(&p)
	}
	if math.Abs(here-there) > maxOmittedDifference {
		c.Differences = append(c.Differences, fmt.Sprintf("Warning: %s of the repeats of %s do not count here, and %s in the baseline. The difference under test may itself cause the disturbance%s.",
			text.Share(here), name, text.Share(there), times))
	}
	p.Dependent = analyze.ShareCluster(c.Run, p.New) || analyze.ShareCluster(c.Base, p.Base)
	if len(p.New) == 0 || len(p.Base) == 0 {
		c.namesWithoutRepeats = append(c.namesWithoutRepeats, name)
	}
	switch {
	case len(p.New)+len(p.Base) == 0:
		return // LeftOut contains the reason
	case len(p.New) == 0:
		c.OnlyBase = append(c.OnlyBase, name)
		return
	case len(p.Base) == 0:
		c.OnlyNew = append(c.OnlyNew, name)
		return
	}
	ofOneRun := c.Run == c.Base
	rounds := ofOneRun && interleaved(p.New, p.Base)
	p.Figures = slices.Clone(c.Metrics.Figures)
	for i := range p.Figures {
		f := &p.Figures[i]
		f.compare(p.New, p.Base, rounds)
		if ofOneRun && !rounds {
			f.Change = f.Change.WithoutInterval("the repeats of the trial and of the baseline were not interleaved")
		}
		f.Change = f.Change.WithShownFigures(f.Current, f.Base)
	}
	c.Pairs = append(c.Pairs, p)
}

// compare computes the change of the metric, and the values of both sides that the report shows.
func (f *Compared) compare(current, base []*record.Trial, rounds bool) {
	f.Current, f.Base = analyze.MedianOf(&f.Figure, current), analyze.MedianOf(&f.Figure, base)
	f.Change = analyze.ChangeOf(analyze.RepeatedOf(&f.Figure, current), analyze.RepeatedOf(&f.Figure, base), rounds)
}

// dropUnmatchedRounds drops every repeat whose round has no repeat on the other side, and adds
// these repeats to LeftOut. So the compared repeats of both sides ran at about the same times.
func (c *Comparison) dropUnmatchedRounds(p *Pair) {
	news, bases := selectCommonRounds(p.New, p.Base)
	for _, side := range []struct {
		of        string
		was, kept int
	}{{p.Name + " here", len(p.New), len(news)}, {p.Name + " in the baseline", len(p.Base), len(bases)}} {
		if gone := side.was - side.kept; gone > 0 && len(p.New) > 0 && len(p.Base) > 0 {
			c.LeftOut = append(c.LeftOut, fmt.Sprintf("%s, %d more (the other side has no usable repeat in the same round)", side.of, gone))
		}
	}
	if len(p.New) > 0 && len(p.Base) > 0 {
		p.New, p.Base = news, bases
	}
}

// selectCommonRounds returns the repeats of two trials of one run, limited to the rounds in which
// both trials have a repeat.
func selectCommonRounds(a, b []*record.Trial) (keptA, keptB []*record.Trial) {
	in := func(of, others []*record.Trial) []*record.Trial {
		return slices.DeleteFunc(slices.Clone(of), func(t *record.Trial) bool {
			return !slices.ContainsFunc(others, func(o *record.Trial) bool { return o.Repeat == t.Repeat })
		})
	}
	return in(a, b), in(b, a)
}

// maxOmittedDifference limits the difference between the two sides in the share of repeats that are
// left out. A larger difference causes a warning.
const maxOmittedDifference = 0.25

// omittedShare returns the share of the repeats that do not count.
func omittedShare(counted, all []*record.Trial) float64 {
	return 1 - float64(len(counted))/float64(max(len(all), 1))
}

// SameLoad returns an error that describes the first difference between the loads of two trials. If
// a trial's rate is a share of another trial's throughput, SameLoad compares the shares and not the
// rates.
func SameLoad(current, base *record.Conditions) error {
	if what, a, b := scenario.FirstDifference(&current.Load, &base.Load); what != "" {
		return fmt.Errorf("the baseline has a different load (%s in %s: %s here, %s in the baseline); compare runs of the same scenario", what, current.Name, orNone(a), orNone(b))
	}
	return nil
}

func orNone(s string) string { return cmp.Or(s, "none") }

// countedRepeats returns the usable repeats, and adds to LeftOut why the other repeats are not
// usable.
func (c *Comparison) countedRepeats(side string, trials []*record.Trial) []*record.Trial {
	var count []*record.Trial
	var order []string
	whys := map[string]int{}
	for _, t := range trials {
		reason := analyze.ExclusionReason(t)
		if reason == "" {
			count = append(count, t)
			continue
		}
		whys[reason]++
		order = analyze.AppendNew(order, reason)
	}
	if len(order) > 0 {
		parts := make([]string, 0, len(order))
		for _, why := range order {
			if len(order) > 1 {
				why = fmt.Sprintf("%d %s", whys[why], why)
			}
			parts = append(parts, why)
		}
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("%s, %d of %d (%s)", side, len(trials)-len(count), len(trials), strings.Join(parts, ", ")))
	}
	return count
}
