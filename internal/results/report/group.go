package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// group is one row of the table: a trial and its repeats.
type group struct {
	trials []*record.Trial // at least one
	done   []*record.Trial // those that have figures
}

// groups puts the repeats of each trial together, in the order in which the
// scenario has them.
func groups(run *record.Run) []*group {
	var all []*group
	byNumber := map[int]*group{}
	for i := range run.Trials {
		t := &run.Trials[i]
		g := byNumber[t.Number]
		if g == nil {
			g = &group{}
			byNumber[t.Number] = g
			all = append(all, g)
		}
		g.trials = append(g.trials, t)
		if measured(t) {
			g.done = append(g.done, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int { return cmp.Compare(a.first().Number, b.first().Number) })
	return all
}

// measured reports whether a trial came to have figures.
func measured(t *record.Trial) bool { return analyze.Measured(t) }

func (g *group) first() *record.Trial { return g.trials[0] }

// figures collects one figure of every repeat.
func (g *group) figures(of func(*record.Trial) measure.Figure) []measure.Figure {
	all := make([]measure.Figure, 0, len(g.done))
	for _, t := range g.done {
		all = append(all, of(t))
	}
	return all
}

// middle is a kind of median of the repeats' figures.
type middle func([]measure.Figure) measure.Figure

func slower(all []measure.Figure, better record.Better) measure.Figure {
	values := make([]record.Value, 0, len(all))
	for _, f := range all {
		values = append(values, record.TimeValue(f))
	}
	v := analyze.Median(values, better)
	return measure.Figure{NS: v.Number, Known: v.Known, Failed: v.Failed}
}

func medianTime(all []measure.Figure) measure.Figure { return slower(all, record.Less) }
func medianRate(all []measure.Figure) measure.Figure { return slower(all, record.More) }

// spread is how far the farthest repeat is from the median, as a share of it.
func spread(all []measure.Figure, median middle) string {
	middle := median(all)
	if len(all) < 2 || !middle.Known || middle.NS == 0 {
		return Dash
	}
	farthest := 0.0
	for _, f := range all {
		if f.Failed {
			return Dash
		}
		farthest = max(farthest, math.Abs(f.NS-middle.NS))
	}
	if math.IsInf(farthest, 1) {
		return Dash
	}
	return fmt.Sprintf("±%.0f %%", 100*farthest/middle.NS)
}

// errors is the operations that failed in all repeats, with their share.
func (g *group) errors() string {
	var failed, due uint64
	for _, t := range g.done {
		failed += t.Errors
		due += t.Due
	}
	switch {
	case len(g.done) == 0:
		return Dash
	case failed == 0:
		return "0"
	}
	return Count(failed) + " (" + measure.Percent(float64(failed)/float64(due)) + ")"
}

// verdict is the worst of the repeats' with the numbers of the rules broken,
// or how far the trial came.
func (g *group) verdict() string {
	worst, rules := verdict.Valid, []int{}
	for _, t := range g.trials {
		if !measured(t) {
			return string(t.State)
		}
		if t.Verdict.State.Worse(worst) {
			worst = t.Verdict.State
		}
		for _, r := range t.Verdict.Reasons {
			rules = append(rules, r.Rule)
		}
	}
	slices.Sort(rules)
	var b strings.Builder
	b.WriteString(string(worst))
	for _, r := range slices.Compact(rules) {
		fmt.Fprintf(&b, " R%d", r)
	}
	return b.String()
}

func throughput(t *record.Trial) measure.Figure {
	return measure.Figure{NS: t.PerSecond, Known: true}
}

func cpuPerOp(t *record.Trial) measure.Figure { return figureOf(t.CPUPerOp) }

// figureOf is a figure that is not known where it is null.
func figureOf(x *float64) measure.Figure {
	if x == nil {
		return measure.Figure{}
	}
	return measure.Figure{NS: *x, Known: true}
}

func storeCPUPerOp(t *record.Trial) measure.Figure { return figureOf(t.StoreCPUPerOp) }

// storeRSS is in bytes.
func storeRSS(t *record.Trial) measure.Figure {
	if t.StoreMaxRSSBytes == nil {
		return measure.Figure{}
	}
	return measure.Figure{NS: float64(*t.StoreMaxRSSBytes), Known: true}
}

// storeRSS is what the members' processes held at most.
func (g *group) storeRSS() string {
	if f := medianTime(g.figures(storeRSS)); f.Known {
		return Bytes(uint64(f.NS))
	}
	return Dash
}

// longestGap is told to the millisecond, so that 0 says only that it was shorter.
func longestGap(t *record.Trial) measure.Figure {
	if t.LongestGap == 0 {
		return measure.Figure{}
	}
	return measure.Figure{NS: 1e9 * t.LongestGap, Known: true}
}
