package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Forest lists the changes of one metric in all trials, for a forest plot.
type Forest struct {
	Metric string
	// Baseline identifies the baseline (see Labels.Baseline). It is empty if all comparisons have
	// the same baseline.
	Baseline string
	Better   figures.Direction
	Rows     []ForestRow
	// Margin is the largest change that does not matter, as a share.
	Margin float64
	// Times is set if the metric is a percentile of the times that tables show first.
	Times bool
}

// ForestRow is the ratio of a metric to the baseline in one trial.
type ForestRow struct {
	Name string
	// Ratio is 1 plus the change. Low and High are the ends of its 95 % confidence interval.
	// CorrectedLow and CorrectedHigh are the ends of the wider interval that determines Word. The
	// intervals are set only if Interval is set.
	Ratio                       float64
	Low, High                   float64
	CorrectedLow, CorrectedHigh float64
	Interval                    bool
	Word                        stats.Word
	Now, Base                   figures.Value
	Change                      analyze.Change
}

// Labels distinguishes a comparison from the other comparisons in a report.
type Labels struct {
	// Run is the unique name of the run (see record.UniqueNames). It is empty if there is only one
	// comparison.
	Run string
	// Baseline is the unique name of the baseline, or WithinRun if the baselines are trials of the
	// run itself. It is empty if all comparisons have the same baseline.
	Baseline string
}

// WithinRun is the label of baselines that are trials of the compared run.
const WithinRun = "in the same run"

// LabelComparisons returns the labels of each comparison.
func LabelComparisons(all []*Comparison) []Labels {
	labels := make([]Labels, len(all))
	if len(all) < 2 {
		return labels
	}
	names := nameRuns(all)
	var baselines []string
	for i, c := range all {
		labels[i] = Labels{Run: names[c.Run], Baseline: names[c.Base]}
		if c.Run == c.Base {
			labels[i].Baseline = WithinRun
		}
		baselines = analyze.AppendNew(baselines, labels[i].Baseline)
	}
	if len(baselines) == 1 {
		for i := range labels {
			labels[i].Baseline = ""
		}
	}
	return labels
}

// nameRuns returns a unique name for each run and each baseline. A part of a joined run and the run
// that it copies get the same name.
func nameRuns(all []*Comparison) map[*record.Run]string {
	var runs []*record.Run // one for each folder
	index := map[*record.Run]int{}
	for _, c := range slices.Backward(all) { // runs come after parts, whose names are already unique
		for _, r := range []*record.Run{c.Run, c.Base} {
			i := slices.IndexFunc(runs, func(other *record.Run) bool { return other == r || r.Dir != "" && other.Dir == r.Dir })
			if i < 0 {
				i = len(runs)
				runs = append(runs, r)
			}
			index[r] = i
		}
	}
	unique, _ := record.UniqueNames(runs) // the folders differ
	names := map[*record.Run]string{}
	for r, i := range index {
		names[r] = unique[i]
	}
	return names
}

// Forests returns the forest plots of the comparisons: one for each metric and each baseline. It
// omits metrics without a known change. If there are several comparisons, the name of a row
// includes the name of the run.
func Forests(all []*Comparison) (out []Forest) {
	labels := LabelComparisons(all)
	for k, c := range all {
		run := labels[k].Run
		for i := range c.Pairs {
			for j := range c.Pairs[i].Figures {
				f := &c.Pairs[i].Figures[j]
				if !f.Change.Known {
					continue
				}
				row := newForestRow(c.Pairs[i].Name, f)
				if run != "" && !strings.HasSuffix(row.Name, " of "+run) { // parts may have such names
					row.Name = fmt.Sprintf("%s (%s)", row.Name, run)
				}
				forest := findForest(&out, f, labels[k].Baseline, c.Margin)
				forest.Rows = append(forest.Rows, row)
			}
		}
	}
	return out
}

// findForest returns the forest plot for a metric and a baseline. It adds the plot if it does not
// exist.
func findForest(all *[]Forest, f *Compared, baseline string, margin float64) *Forest {
	for i := range *all {
		if x := &(*all)[i]; x.Metric == f.Title && x.Baseline == baseline {
			return x
		}
	}
	*all = append(*all, Forest{Metric: f.Title, Baseline: baseline, Better: f.Figure.Direction, Margin: margin, Times: f.Figure.Times != nil && f.Figure.Times.Prefix == ""})
	return &(*all)[len(*all)-1]
}

func newForestRow(name string, f *Compared) ForestRow {
	c := &f.Change
	row := ForestRow{Name: name, Ratio: 1 + c.Share, Interval: c.Interval, Word: c.Judgement.Word, Now: f.Current, Base: f.Base, Change: *c}
	if c.Interval {
		row.Low, row.High = 1+c.Low, 1+c.High
		row.CorrectedLow, row.CorrectedHigh = 1+c.CorrectedLow, 1+c.CorrectedHigh
	}
	return row
}

// Bounds returns the lowest and the highest ratio that a plot must show: the ratios, their 95 %
// intervals, and the margin. It limits them to MaxRatio and its inverse.
func (f *Forest) Bounds() (low, high float64) {
	low, high = 1/(1+f.Margin), 1+f.Margin
	for i := range f.Rows {
		r := &f.Rows[i]
		low, high = math.Min(low, r.Ratio), math.Max(high, r.Ratio)
		if r.Interval {
			low, high = math.Min(low, r.Low), math.Max(high, r.High)
		}
	}
	return math.Max(low, 1/MaxRatio), math.Min(high, MaxRatio)
}

// MaxRatio is the largest ratio that a forest plot shows. Longer intervals end at the edge.
const MaxRatio = 20

// ratioTicks lists the ratios that an axis may mark, from the finest list to the coarsest. Each
// list also contains the inverse ratios and 1.
var ratioTicks = [][]float64{
	{1.01, 1.02, 1.03, 1.04, 1.05, 1.06},
	{1.02, 1.04, 1.06, 1.08, 1.1, 1.12},
	{1.05, 1.1, 1.15, 1.2, 1.25, 1.3},
	{1.1, 1.25, 1.5, 1.75, 2},
	{1.25, 1.5, 2, 2.5, 3, 4},
	{1.5, 2, 3, 5, 10},
	{2, 5, 20},
}

// maxRatioTicks is the maximum number of ticks on each side of 1. More labels do not fit the
// screen of a phone.
const maxRatioTicks = 3

// Ticks returns the ratios that the axis marks between two ratios, in ascending order. The label of
// a tick below 1 is rounded to two digits.
func Ticks(low, high float64) (all []float64) {
	for _, list := range ratioTicks {
		below, above := []float64{}, []float64{}
		for _, r := range list {
			if r <= high {
				above = append(above, r)
			}
			if 1/r >= low {
				below = append([]float64{math.Round(100/r) / 100}, below...)
			}
		}
		all = append(append(below, 1), above...)
		if len(above) <= maxRatioTicks && len(below) <= maxRatioTicks {
			break
		}
	}
	return all
}

// Counts summarizes the changes of the comparisons in words, such as "2 better, 1 worse, 3
// unclear". It returns an empty string if nothing was compared.
func Counts(all []*Comparison) string {
	counts := map[stats.Word]int{}
	for _, c := range all {
		for i := range c.Pairs {
			for _, f := range c.Pairs[i].Figures {
				counts[f.Change.Judgement.Word]++
			}
		}
	}
	words := ""
	for _, w := range []stats.Word{stats.Better, stats.Worse, stats.Same, stats.Unclear} {
		if counts[w] > 0 {
			if words != "" {
				words += ", "
			}
			words += text.Count(uint64(counts[w])) + " " + string(w)
		}
	}
	return words
}
