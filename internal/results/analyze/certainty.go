package analyze

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Basis is the source of a Certainty, as files spell it.
type Basis string

// The bases.
const (
	// OverRepeats is an interval of the mean of at least MinRepeats repeats.
	OverRepeats Basis = "repeats"
	// WithinRun is an interval within a single run; it does not cover the difference between
	// runs.
	WithinRun Basis = "run"
	// RangeOfRepeats is the minimum and maximum of repeats that have no interval: there are too
	// few, one is 0 or landed on a failed operation, or they are so far apart that the interval
	// of their mean reaches 0 or excludes the median shown.
	RangeOfRepeats Basis = "range"
)

// Certainty describes how precise a figure is: an interval of its mean at stats.Level, or its
// range.
type Certainty struct {
	Basis
	Low, High record.Value
	// Repeats is the number of repeats, unless the basis is WithinRun.
	Repeats int
	// Seconds is the number of seconds of a single run's interval, and Effective the number of
	// independent seconds with the same precision. Short reports whether the run is too short
	// for the variation in it.
	Seconds   int
	Effective float64
	Short     bool
}

// CertaintyOf returns the certainty of a row's figure: an interval over at least MinRepeats
// comparable repeats, the range of fewer, or, for the throughput of a single run, the interval
// within it.
func CertaintyOf(r *Row, f *record.Figure) (c Certainty, ok bool) {
	switch {
	case len(r.Done) > 1:
		return overRepeats(RepeatedOf(f, r.ComparableTrials()), f.Better, r.First().UntilPrecise())
	case len(r.Done) == 1 && f.Name == "ops":
		return withinRun(r.Done[0], f)
	}
	return c, false
}

// overRepeats returns the certainty over repeats; stopped reports that the repeats may have
// ended because they were precise enough.
func overRepeats(of Repeated, better record.Better, stopped bool) (c Certainty, ok bool) {
	all := of.Values
	if len(all) < 2 {
		return c, false
	}
	least, most := all[0], all[0]
	for _, v := range all {
		switch {
		case !v.Known && !v.Failed:
			return c, false
		case rank(v) < rank(least):
			least = v
		case rank(v) > rank(most):
			most = v
		}
	}
	c = Certainty{Basis: RangeOfRepeats, Low: least, High: most, Repeats: len(all)}
	if values, positive := of.Numbers(); positive && len(all) >= MinRepeats {
		i, known := stats.OverRepeats(values, stats.Level)
		if stopped {
			i, known = stats.UntilPrecise(values)
		}
		if median := Median(all, better).Number; known && i.Low > 0 && i.Low <= median && median <= i.High {
			c.Basis = OverRepeats
			c.bound(i, all[0])
		}
	}
	return c, true
}

func withinRun(t *record.Trial, f *record.Figure) (c Certainty, ok bool) {
	seconds := wholeSeconds(t)
	within, ok := stats.MeanWithinRun(seconds, stats.Level)
	if !ok {
		return c, false
	}
	// An interval of a positive throughput that reaches 0 means that the seconds vary too much.
	c = Certainty{Basis: WithinRun, Seconds: len(seconds), Short: within.Short || within.Low <= 0 && within.Value > 0}
	c.Effective = min(stats.EffectiveSize(seconds), float64(len(seconds)))
	if !c.Short { // otherwise the bounds are not known
		c.bound(within.Interval, f.Value(t))
	}
	return c, true
}

// bound sets the interval's bounds, in the unit of a value.
func (c *Certainty) bound(i stats.Interval, like record.Value) {
	c.Low, c.High = like, like
	c.Low.Number, c.High.Number = i.Low, i.High
}

// sayings returns the footnote for each basis in a column of a table.
func sayings(all map[*Row]*Certainty) map[Basis]string {
	least, most := math.Inf(1), 0.0
	for _, c := range all {
		if c.Basis == WithinRun {
			least, most = min(least, math.Round(c.Effective)), max(most, math.Round(c.Effective))
		}
	}
	worth := fmt.Sprint(least)
	if most > least {
		worth += fmt.Sprintf(" to %g", most)
	}
	without := ""
	for r, c := range all {
		if c.Basis != WithinRun && c.Repeats < len(r.Done) {
			without = " that are neither invalid nor interrupted nor without a worker"
		}
	}
	return map[Basis]string{
		OverRepeats:    "95 % confidence interval of the mean over the repeats" + without + ".",
		RangeOfRepeats: fmt.Sprintf("Minimum and maximum of the repeats%s. A confidence interval needs %d repeats above 0 that do not differ too much.", without, MinRepeats),
		WithinRun:      fmt.Sprintf("95 %% confidence interval within this run, without run-to-run variation; effective sample: %s s.", worth),
	}
}
