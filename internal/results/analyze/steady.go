package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// LateSteady describes a measurement window that opened before the load was steady.
type LateSteady struct {
	// FirstSecond is the time, in seconds from the start of the window, at which the throughput
	// became steady. Its resolution is five seconds.
	FirstSecond int
	// SteadyMean is the mean throughput after FirstSecond, over all repeats. OverallMean is the
	// mean throughput over all complete seconds.
	SteadyMean, OverallMean figures.Value
	// Before is the median of the one-second intervals' p99 before FirstSecond, and After is the
	// median after FirstSecond. Each is unknown if fewer than three intervals have a p99.
	Before, After measure.Figure
	// Warmup is the shortest warm-up of the repeats in seconds, or 0 if there was none.
	Warmup float64
	// TooFewRepeats is set if there were too few repeats to distinguish a warm-up from a
	// disturbance at the start.
	TooFewRepeats bool
}

// LateSteadyOf reports whether a row's windows opened too early; see stats.SteadyFrom. The windows
// must be at least 20 s long, and all complete seconds must have been recorded.
func LateSteadyOf(r *Row) (l LateSteady, late bool) {
	done := r.Done
	if len(done) > 1 { // an interrupted repeat would shorten the compared time of all repeats
		done = slices.DeleteFunc(slices.Clone(done), func(t *record.Trial) bool { return t.State == record.Interrupted })
	}
	var repeats [][]float64
	for _, t := range done {
		repeats = append(repeats, samples.WholeSeconds(t))
	}
	s, ok := stats.SteadyFrom(repeats)
	if !ok || !s.WindowTooEarly {
		return l, false
	}
	l = LateSteady{FirstSecond: s.FirstSecond, TooFewRepeats: s.TooFewRepeats, Warmup: r.First().Warmup.Seconds()}
	var before, after []float64
	for i, t := range done {
		if t.ActualWarmupSeconds != nil && (i == 0 || *t.ActualWarmupSeconds < l.Warmup) {
			l.Warmup = *t.ActualWarmupSeconds
		}
		for _, row := range samples.MeasuredRows(t) {
			switch {
			case !row.P99.Known:
			case row.Second < s.FirstSecond:
				before = append(before, row.P99.NS)
			default:
				after = append(after, row.P99.NS)
			}
		}
	}
	l.Before, l.After = medianTime(before), medianTime(after)
	rate := func(from int) figures.Value {
		sum, n := 0.0, 0
		for _, seconds := range repeats {
			for _, done := range seconds[from:] {
				sum += done
				n++
			}
		}
		return figures.Value{Number: sum / float64(n), Unit: measure.Rate, Known: true}
	}
	l.SteadyMean, l.OverallMean = rate(s.FirstSecond), rate(0)
	return l, true
}

// medianTime returns the median of the times. It is unknown if there are fewer than three.
func medianTime(all []float64) (f measure.Figure) {
	if len(all) >= 3 {
		f = measure.Figure{NS: stat.UpperMedian(all), Known: true}
	}
	return f
}

// String returns the warning about the warm-up.
func (l *LateSteady) String() string {
	words := "The load had no warm-up"
	if l.Warmup > 0 {
		words = "The warm-up of " + tenths(l.Warmup) + " was too short"
	}
	words += fmt.Sprintf(": throughput was steady only after about %d s of the window. After that, the mean was %s; in the whole window, it was %s.",
		l.FirstSecond, text.PerSecond(l.SteadyMean.Number), text.PerSecond(l.OverallMean.Number))
	if l.Before.Known && l.After.Known {
		words += fmt.Sprintf(" The median of the per-second p99 was %s before that time and %s after it.", l.Before.Text(), l.After.Text())
	}
	if l.TooFewRepeats {
		words += " Use at least three repeats, to rule out a single slow period as the reason."
	}
	return words
}

// tenths formats a time with one decimal.
func tenths(s float64) string { return text.Seconds(math.Round(10*s) / 10) }
