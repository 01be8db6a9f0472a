// Package verdictbench measures how often the verdict is wrong.
//
// Each trial runs twice: first on a quiet machine, and then with a known disturbance of the load
// generator. The figures of the first run are the truth. The package compares the deviation of each
// figure in the second run with the verdict on that figure. The package's tests run the trials in
// simulated time (simulated_test.go), and tools/verdictbench runs them on real machines.
package verdictbench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Kind is a way to disturb the load generator.
type Kind string

// These are the kinds of disturbances.
const (
	Quiet       Kind = "quiet"             // no disturbance
	Stopped     Kind = "stopped"           // stopped for 5 to 200 ms, at random times
	Regular     Kind = "stopped regularly" // stopped for 10 to 300 ms, at the same time in each period
	BusyLoop    Kind = "busy loop"         // a busy loop on the generator's CPU
	LowPriority Kind = "low priority"      // a program with a higher priority takes the generator's CPU
	RealTime    Kind = "real-time program" // a program with real-time priority takes the generator's CPU
	Quota       Kind = "quota"             // a CPU quota of the generator's control group
	Steal       Kind = "steal"             // CPU steal
)

// Kinds lists all kinds except Quiet.
func Kinds() []Kind {
	return []Kind{Stopped, Regular, BusyLoop, LowPriority, RealTime, Quota, Steal}
}

// Outcome describes a disturbed trial: how far each printed figure deviates from the truth, and the
// verdict on each figure.
type Outcome struct {
	Kind    Kind
	Seed    uint64
	What    string // description of the trial and its disturbance
	Figures []Deviation
	Verdict verdict.Verdict
}

// Deviation describes a disturbed figure: its relative deviation from the undisturbed figure, and
// the verdict on it.
type Deviation struct {
	Figure string
	Off    float64
	State  verdict.State
}

// Judge compares the figures of the disturbed trial `got` with the true figures, and stores the
// result in o.
func (o *Outcome) Judge(truth, got *record.Trial) {
	o.Verdict = got.Verdict
	o.Figures = Deviations(truth, got)
}

// Deviations returns the deviation of each printed figure that is known in both trials.
func Deviations(truth, got *record.Trial) (all []Deviation) {
	for _, name := range verdict.PrintedFigures() {
		f := figures.Registered(name)
		was, is := f.Value(truth), f.Value(got)
		if was.Known && is.Known && was.Number > 0 {
			all = append(all, Deviation{name, is.Number/was.Number - 1, got.Verdict.FigureState(name)})
		}
	}
	return all
}

// KeepFigures removes all figures except the named ones. It is for outcomes in which the true
// values of the other figures are unknown.
func (o *Outcome) KeepFigures(names []string) {
	o.Figures = slices.DeleteFunc(o.Figures, func(d Deviation) bool { return !slices.Contains(names, d.Figure) })
}

// IsFalseNegative reports whether a figure is valid according to the verdict although it is far
// from the truth.
func (d *Deviation) IsFalseNegative() bool { return d.isFar() && d.State == verdict.Valid }

// IsFalseAlarm reports whether a figure is not valid according to the verdict although it is close
// to the truth.
func (d *Deviation) IsFalseAlarm() bool { return d.isNear() && d.State != verdict.Valid }

func (d *Deviation) isFar() bool  { return max(d.Off, -d.Off) > FarOff }
func (d *Deviation) isNear() bool { return max(d.Off, -d.Off) <= NearBy }

// HasWrongVerdict reports whether the verdict on any figure is wrong.
func (o *Outcome) HasWrongVerdict() bool {
	for i := range o.Figures {
		if o.Figures[i].IsFalseNegative() || o.Figures[i].IsFalseAlarm() {
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
		case d.IsFalseNegative():
			wrong = " (missed)"
		case d.IsFalseAlarm():
			wrong = " (false alarm)"
		}
		figures = append(figures, fmt.Sprintf("%s %+.1f %% of claimed %.1f %%%s", d.Figure, 100*d.Off, 100*o.Verdict.Effect.ForFigure(d.Figure), wrong))
	}
	return fmt.Sprintf("%s, seed %d: %s: off by %s; the verdict is %s %v", o.Kind, o.Seed, o.What, strings.Join(figures, ", "), o.Verdict.State, o.Verdict.Reasons)
}
