// Package verdictbench measures how often the verdict is wrong.
//
// A trial is run twice in a simulated world: once on a quiet machine, and once
// with the generator disturbed in a known way. How far the figures of the second
// are from those of the first is the truth; what the verdict says of the second
// is right or not. The package's test does that (simulated_test.go);
// tools/verdictbench does the same with real machines.
package verdictbench

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Kind is a way of disturbing the generator.
type Kind string

// The kinds.
const (
	Quiet       Kind = "quiet"        // not at all
	Stopped     Kind = "stopped"      // for 5 to 200 ms, again and again
	BusyLoop    Kind = "busy loop"    // beside it on its processor
	LowPriority Kind = "low priority" // a program of a higher one takes its processor
	Quota       Kind = "quota"        // of its control group
	Steal       Kind = "steal"        // by the host
)

// Kinds lists those that disturb.
func Kinds() []Kind { return []Kind{Stopped, BusyLoop, LowPriority, Quota, Steal} }

// Outcome is one disturbed trial: how far its figures are from the truth, and
// what the verdict says.
type Outcome struct {
	Kind Kind
	Seed uint64
	What string // the trial and its disturbance
	// Off is the greatest deviation of throughput, p50 and p99, as a share of
	// the figure on the quiet machine.
	Off     float64
	Verdict verdict.Verdict
	Figures [3]float64 // off by: throughput, p50, p99, signed
	Effect  verdict.Effect
}

// Judge compares a result with the truth.
func (o *Outcome) Judge(truth, got *record.Trial) {
	o.Verdict = got.Verdict
	if got.Overhead != nil {
		o.Effect = got.Overhead.Effect
	}
	o.Figures = Deviations(truth, got)
	for _, off := range o.Figures {
		o.Off = max(o.Off, math.Abs(off))
	}
}

// Deviations are how far throughput, p50 and p99 of the headline are off, as
// shares of the truth.
func Deviations(truth, got *record.Trial) [3]float64 {
	of := func(t *record.Trial) [3]float64 {
		h := t.ServiceTime
		if t.Open() {
			h = t.ResponseTime
		}
		return [3]float64{t.PerSecond, h.At(50).NS, h.At(99).NS}
	}
	is, was := of(got), of(truth)
	for i := range is {
		if is[i] <= 0 || was[i] <= 0 { // the sample does not support it
			is[i] = 0
			continue
		}
		is[i] = is[i]/was[i] - 1
	}
	return is
}
