// Package verdictbench measures how often the verdict is wrong.
//
// A trial is run twice in a simulated world: once on a quiet machine, and once
// with the generator disturbed in a known way. How far the figures of the second
// are from those of the first is the truth; what the verdict says of each figure of
// the second is right or not. The package's test does that (simulated_test.go);
// tools/verdictbench does the same with real machines.
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
	Quiet       Kind = "quiet"             // not at all
	Stopped     Kind = "stopped"           // for 5 to 200 ms, again and again
	Regular     Kind = "stopped regularly" // for 10 to 300 ms, at the same time of each period
	BusyLoop    Kind = "busy loop"         // concurrently on its processor
	LowPriority Kind = "low priority"      // a program of a higher one takes its processor
	RealTime    Kind = "real-time program" // a program of a real-time priority takes its processor
	Quota       Kind = "quota"             // of its control group
	Steal       Kind = "steal"             // by the host
)

// Kinds lists those that disturb.
func Kinds() []Kind {
	return []Kind{Stopped, Regular, BusyLoop, LowPriority, RealTime, Quota, Steal}
}

// Outcome is one disturbed trial: how far each of its printed figures is from the
// truth, and what the verdict says of it.
type Outcome struct {
	Kind    Kind
	Seed    uint64
	What    string // the trial and its disturbance
	Figures []Deviation
	Verdict verdict.Verdict
}

// Deviation is how far a figure is off, as a share of the figure on the quiet
// machine, and how the verdict judges it.
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

// Deviations returns how far each printed figure is off that both trials have.
func Deviations(truth, got *record.Trial) (all []Deviation) {
	for _, name := range verdict.Printed() {
		f := record.Registered(name)
		was, is := f.Of(truth), f.Of(got)
		if was.Known && is.Known && was.Number > 0 {
			all = append(all, Deviation{name, is.Number/was.Number - 1, got.Verdict.StateOf(name)})
		}
	}
	return all
}

// Keep leaves out the figures that are not named: their truth is not known.
func (o *Outcome) Keep(names []string) {
	o.Figures = slices.DeleteFunc(o.Figures, func(d Deviation) bool { return !slices.Contains(names, d.Figure) })
}

// Missed reports whether a figure that is far off is valid.
func (d *Deviation) Missed() bool { return d.far() && d.State == verdict.Valid }

// Alarmed reports whether a figure that is right is not valid.
func (d *Deviation) Alarmed() bool { return d.near() && d.State != verdict.Valid }

func (d *Deviation) far() bool  { return max(d.Off, -d.Off) > FarOff }
func (d *Deviation) near() bool { return max(d.Off, -d.Off) <= NearBy }

// Wrong reports whether the verdict on some figure is one that the rates count as
// wrong.
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
		figures = append(figures, fmt.Sprintf("%s %+.1f %% of claimed %.1f %%%s", d.Figure, 100*d.Off, 100*o.Verdict.Effect.Of(d.Figure), wrong))
	}
	return fmt.Sprintf("%s, seed %d: %s: off by %s; the verdict is %s %v", o.Kind, o.Seed, o.What, strings.Join(figures, ", "), o.Verdict.State, o.Verdict.Reasons)
}
