package main

import (
	"math"
	"slices"
)

// Run is the result for one peer and one case in one round.
type Run struct {
	Round int    `json:"round"` // counted from 0
	Case  string `json:"case"`
	Peer  string `json:"peer"`
	Figures
}

// Results contains all successful runs.
type Results struct{ Runs []Run }

// Add adds a run.
func (r *Results) Add(run Run) { r.Runs = append(r.Runs, run) }

// Figure returns one of the figures. The value 0 means that the peer did not report the figure.
type Figure func(Figures) float64

// These functions select figures.
func perSecond(f Figures) float64  { return f.PerSecond }
func cpuPerOp(f Figures) float64   { return f.CPUPerOp }
func serviceP50(f Figures) float64 { return f.ServiceP50 }
func memory(f Figures) float64     { return float64(f.MaxRSS) }

// Values returns the values of a peer's figure in a case, one for each round. It omits rounds in
// which the peer did not report the figure.
func (r *Results) Values(caseName, name string, figure Figure) []float64 {
	var out []float64
	for _, run := range r.Runs {
		if v := figure(run.Figures); run.Case == caseName && run.Peer == name && v > 0 {
			out = append(out, v)
		}
	}
	return out
}

// Ratios returns, for each round, a figure of the peer `numerator`, divided by the same figure of
// the peer `denominator`. In a round, both peers are measured within a minute, so that other work
// on the machine affects both. Ratios omits rounds in which one of the two figures is missing.
func (r *Results) Ratios(caseName, numerator, denominator string, figure Figure) []float64 {
	var out []float64
	for _, a := range r.Runs {
		if a.Case != caseName || a.Peer != numerator {
			continue
		}
		for _, b := range r.Runs {
			if b.Case != caseName || b.Peer != denominator || b.Round != a.Round {
				continue
			}
			if q := ratio(figure(a.Figures), figure(b.Figures)); !math.IsNaN(q) {
				out = append(out, q)
			}
		}
	}
	return out
}

// passed returns the share of a peer's checks that passed, as a list with one element. The list is
// empty if the peer ran no checks.
func (r *Results) passed(caseName, name string) []float64 {
	var all, passed float64
	for _, run := range r.Runs {
		if run.Case != caseName || run.Peer != name || run.Check == nil {
			continue
		}
		if all++; run.Check.Pass {
			passed++
		}
	}
	if all == 0 {
		return nil
	}
	return []float64{passed / all}
}

// Spread describes the distribution of the values from several rounds.
type Spread struct {
	N      int     `json:"rounds"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarize describes values. Without values, N is 0. The median of an even number of values is the
// mean of the two middle values.
func Summarize(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Spread{N: n, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// Rotated returns the list rotated by the number of the round. In len(list) consecutive rounds,
// each element is in each position once.
func Rotated[T any](list []T, round int) []T {
	if len(list) == 0 {
		return nil
	}
	k := round % len(list)
	return append(slices.Clone(list[k:]), list[:k]...)
}

// ratio returns a/b, or NaN if a or b is unknown.
func ratio(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return math.NaN()
	}
	return a / b
}
