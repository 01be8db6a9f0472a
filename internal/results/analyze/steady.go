package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// LateSteady is a window that opened before its load was steady.
type LateSteady struct {
	// From is the second of the window since which throughput was steady, to five seconds.
	From int
	// Steady is the throughput since From, and AllSeconds that of all whole seconds: the mean over
	// the repeats.
	Steady, AllSeconds record.Value
	// Before and After are the median of the seconds' p99, before From and since; unknown if fewer
	// than three seconds have one.
	Before, After measure.Figure
	// Warmup is the shortest warm-up of the repeats, in seconds; 0 for none.
	Warmup float64
	// Alone reports that there were too few repeats to distinguish a warm-up from a disturbance
	// at the start.
	Alone bool
}

// LateSteadyOf reports whether a row's windows opened too early (stats.SteadyFrom). It needs
// windows of 20 s with every whole second recorded.
func LateSteadyOf(r *Row) (l LateSteady, late bool) {
	done := r.Done
	if len(done) > 1 { // an interrupted repeat would shorten them all
		done = slices.DeleteFunc(slices.Clone(done), func(t *record.Trial) bool { return t.State == record.Interrupted })
	}
	var repeats [][]float64
	for _, t := range done {
		repeats = append(repeats, wholeSeconds(t))
	}
	s, ok := stats.SteadyFrom(repeats)
	if !ok || !s.Late {
		return l, false
	}
	l = LateSteady{From: s.From, Alone: s.Alone, Warmup: r.First().Warmup.Seconds()}
	var before, after []float64
	for i, t := range done {
		if t.WarmupRun != nil && (i == 0 || *t.WarmupRun < l.Warmup) {
			l.Warmup = *t.WarmupRun
		}
		for _, row := range measuredRows(t) {
			switch {
			case !row.P99.Known:
			case row.Second < s.From:
				before = append(before, row.P99.NS)
			default:
				after = append(after, row.P99.NS)
			}
		}
	}
	l.Before, l.After = middleTime(before), middleTime(after)
	rate := func(from int) record.Value {
		sum, n := 0.0, 0
		for _, seconds := range repeats {
			for _, done := range seconds[from:] {
				sum += done
				n++
			}
		}
		return record.Value{Number: sum / float64(n), Unit: measure.Rate, Known: true}
	}
	l.Steady, l.AllSeconds = rate(s.From), rate(0)
	return l, true
}

// middleTime returns the median of times.
func middleTime(all []float64) (f measure.Figure) {
	if len(all) >= 3 {
		f = measure.Figure{NS: middle(all), Known: true}
	}
	return f
}

// String returns the warning.
func (l *LateSteady) String() string {
	words := "There was no warm-up"
	if l.Warmup > 0 {
		words = "The warm-up of " + tenths(l.Warmup) + " was too short"
	}
	words += fmt.Sprintf(": throughput was steady only after about %d s of the window, at %s (whole window: %s).",
		l.From, text.PerSecond(l.Steady.Number), text.PerSecond(l.AllSeconds.Number))
	if l.Before.Known && l.After.Known {
		words += fmt.Sprintf(" The median p99 of a second was %s before and %s after.", l.Before.Text(), l.After.Text())
	}
	if l.Alone {
		words += " Use three repeats to exclude a single slow period."
	}
	return words
}

// tenths formats a time to 0.1 s.
func tenths(s float64) string { return text.Seconds(math.Round(10*s) / 10) }
