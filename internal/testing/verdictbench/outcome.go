// Package verdictbench measures how often the verdict is wrong.
//
// A trial runs twice in a simulated world: once on a quiet machine, and once with the
// generator disturbed in a known way. The deviation of the second run's figures from the
// first run's is the truth, against which the verdict on each figure is compared. The
// package's test does that (simulated_test.go); tools/verdictbench does the same with real
// machines.
package verdictbench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Kind is a way of disturbing the generator.
type Kind string

// The kinds.
const (
	Quiet       Kind = "quiet"             // no disturbance
	Stopped     Kind = "stopped"           // for 5 to 200 ms, repeatedly
	Regular     Kind = "stopped regularly" // for 10 to 300 ms, at the same time of each period
	BusyLoop    Kind = "busy loop"         // on its CPU
	LowPriority Kind = "low priority"      // a program of higher priority takes its CPU
	RealTime    Kind = "real-time program" // a program of real-time priority takes its CPU
	Quota       Kind = "quota"             // of its control group
	Steal       Kind = "steal"             // CPU steal
)

// Kinds lists the kinds that disturb.
func Kinds() []Kind {
	return []Kind{Stopped, Regular, BusyLoop, LowPriority, RealTime, Quota, Steal}
}

// Outcome is a disturbed trial: the deviation of each of its printed figures from the
// truth, and the verdict on it.
type Outcome struct {
	Kind    Kind
	Seed    uint64
	What    string // the trial and its disturbance
	Figures []Deviation
	Verdict verdict.Verdict
}

// Deviation is how far a figure is off, as a share of the figure on the quiet machine, and
// the verdict on it.
type Deviation struct {
	Figure string
	Off    float64
	State  verdict.State
}

// Judge compares a result with the truth.
func (o *Outcome) Judge(truth, got *record.Trial) {
	o.Verdict = got.Verdict
	o.Figures = Deviations(truth, got)
}

// Deviations returns the deviations of the printed figures that both trials have.
func Deviations(truth, got *record.Trial) (all []Deviation) {
	for _, name := range verdict.Printed() {
		f := record.Registered(name)
		was, is := f.Value(truth), f.Value(got)
		if was.Known && is.Known && was.Number > 0 {
			all = append(all, Deviation{name, is.Number/was.Number - 1, got.Verdict.StateOf(name)})
		}
	}
	return all
}

// Keep removes the figures that are not named, because their true values are not known.
func (o *Outcome) Keep(names []string) {
	o.Figures = slices.DeleteFunc(o.Figures, func(d Deviation) bool { return !slices.Contains(names, d.Figure) })
}

// Missed reports whether a figure that is far off is valid.
func (d *Deviation) Missed() bool { return d.far() && d.State == verdict.Valid }

// Alarmed reports whether a correct figure is not valid.
func (d *Deviation) Alarmed() bool { return d.near() && d.State != verdict.Valid }

func (d *Deviation) far() bool  { return max(d.Off, -d.Off) > FarOff }
func (d *Deviation) near() bool { return max(d.Off, -d.Off) <= NearBy }

// Wrong reports whether the rates count the verdict on some figure as wrong.
func (o *Outcome) Wrong() bool {
	for i := range o.Figures {
		if o.Figures[i].Missed() || o.Figures[i].Alarmed() {
			return true
		}
	}
	return false
}

func (o *Outcome) String() string {
	var figures []string
	for i := range o.Figures {
		d := &o.Figures[i]
		wrong := ""
		switch {
		case d.Missed():
			wrong = " (missed)"
		case d.Alarmed():
			wrong = " (false alarm)"
		}
		figures = append(figures, fmt.Sprintf("%s %+.1f %% of claimed %.1f %%%s", d.Figure, 100*d.Off, 100*o.Verdict.Effect.ForFigure(d.Figure), wrong))
	}
	return fmt.Sprintf("%s, seed %d: %s: off by %s; the verdict is %s %v", o.Kind, o.Seed, o.What, strings.Join(figures, ", "), o.Verdict.State, o.Verdict.Reasons)
}
