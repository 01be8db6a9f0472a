package compare

import (
	"math"

	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// Run is one peer's work on one case in one round.
type Run struct {
	Round int    `json:"round"` // from 0
	Case  string `json:"case"`
	Peer  string `json:"peer"`
	peer.Figures
}

// Results are all runs that succeeded.
type Results struct{ Runs []Run }

// Add adds a run.
func (r *Results) Add(run Run) { r.Runs = append(r.Runs, run) }

// Figure takes one figure; 0 is one that was not reported.
type Figure func(peer.Figures) float64

// The figures.
func perSecond(f peer.Figures) float64  { return f.PerSecond }
func cpuPerOp(f peer.Figures) float64   { return f.CPUPerOp }
func serviceP50(f peer.Figures) float64 { return f.ServiceP50 }
func memory(f peer.Figures) float64     { return float64(f.MaxRSS) }

// Values lists a figure of a peer at a case, round by round. Rounds in which
// it was not reported are missing.
func (r *Results) Values(caseName, name string, figure Figure) []float64 {
	var out []float64
	for _, run := range r.Runs {
		if v := figure(run.Figures); run.Case == caseName && run.Peer == name && v > 0 {
			out = append(out, v)
		}
	}
	return out
}

// Ratios divides a figure of one peer by another's, round by round: both were
// measured within a minute of each other, so that what else went on on the
// machine weighs on both. Rounds that lack one of them are missing.
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

// passed is the share of a peer's checks that passed, as a list of one, or none.
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
