// Package benchpeers computes a comparison of peers: medians, ratios and a table from
// rounds of figures.
package main

import (
	"math"
	"slices"
)

// Run is the result of one peer for one case in one round.
type Run struct {
	Round int    `json:"round"` // from 0
	Case  string `json:"case"`
	Peer  string `json:"peer"`
	Figures
}

// Results are all successful runs.
type Results struct{ Runs []Run }

// Add adds a run.
func (r *Results) Add(run Run) { r.Runs = append(r.Runs, run) }

// Figure selects one figure; 0 means that it was not reported.
type Figure func(Figures) float64

// The figures.
func perSecond(f Figures) float64  { return f.PerSecond }
func cpuPerOp(f Figures) float64   { return f.CPUPerOp }
func serviceP50(f Figures) float64 { return f.ServiceP50 }
func memory(f Figures) float64     { return float64(f.MaxRSS) }

// Values lists a figure of a peer at a case by round, without rounds in which it was not
// reported.
func (r *Results) Values(caseName, name string, figure Figure) []float64 {
	var out []float64
	for _, run := range r.Runs {
		if v := figure(run.Figures); run.Case == caseName && run.Peer == name && v > 0 {
			out = append(out, v)
		}
	}
	return out
}

// Ratios divides a figure of one peer by another's in each round. Both were measured within
// a minute, so that other work on the machine affects both. Rounds without one of them are
// omitted.
func (r *Results) Ratios(caseName, over, under string, figure Figure) []float64 {
	var out []float64
	for _, a := range r.Runs {
		if a.Case != caseName || a.Peer != over {
			continue
		}
		for _, b := range r.Runs {
			if b.Case != caseName || b.Peer != under || b.Round != a.Round {
				continue
			}
			if q := ratio(figure(a.Figures), figure(b.Figures)); !math.IsNaN(q) {
				out = append(out, q)
			}
		}
	}
	return out
}

// passed returns a list with the share of a peer's checks that passed, or an empty list.
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

// Spread describes the values of several rounds.
type Spread struct {
	N      int     `json:"rounds"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarize describes values; without any, N is 0. The median of an even number is the mean
// of the middle two.
func Summarize(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Spread{N: n, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// Rotated returns the list rotated by the given round, so that each element has each place
// once in as many rounds as there are elements.
func Rotated[T any](list []T, round int) []T {
	if len(list) == 0 {
		return nil
	}
	k := round % len(list)
	return append(slices.Clone(list[k:]), list[:k]...)
}

// ratio returns a/b, or NaN if either is not known.
func ratio(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return math.NaN()
	}
	return a / b
}
