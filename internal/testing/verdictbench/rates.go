package verdictbench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/quorumbench/quorumbench/internal/verdict"
)

// A figure that deviates by more than FarOff must not be valid. A figure that deviates by at most
// NearBy must be valid.
const (
	FarOff = 0.10
	NearBy = 0.02
)

// Rates counts the verdicts on figures whose true values are known.
type Rates struct {
	Trials int
	Far    int // figures that deviate by more than FarOff
	Caught int // figures in Far that are not valid according to the verdict
	Near   int // figures that deviate by at most NearBy
	Passed int // figures in Near that are valid according to the verdict
}

// Add counts one figure.
func (r *Rates) Add(d *Deviation) {
	switch {
	case d.isFar():
		r.Far++
		if !d.IsFalseNegative() {
			r.Caught++
		}
	case d.isNear():
		r.Near++
		if !d.IsFalseAlarm() {
			r.Passed++
		}
	}
}

// Share returns part/whole, or 1 if whole is 0.
func Share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// Table contains the rates of each kind of disturbance, of each figure, and of all trials.
type Table struct {
	kinds  []Kind
	by     map[Kind]*Rates
	figure map[string]*Rates
	all    Rates
}

// Add counts one trial.
func (t *Table) Add(o *Outcome) {
	if t.by == nil {
		t.by, t.figure = map[Kind]*Rates{}, map[string]*Rates{}
	}
	if t.by[o.Kind] == nil {
		t.by[o.Kind] = &Rates{}
		t.kinds = append(t.kinds, o.Kind)
	}
	t.by[o.Kind].Trials++
	t.all.Trials++
	for i := range o.Figures {
		d := &o.Figures[i]
		if t.figure[d.Figure] == nil {
			t.figure[d.Figure] = &Rates{}
		}
		t.figure[d.Figure].Trials++
		for _, r := range []*Rates{t.by[o.Kind], t.figure[d.Figure], &t.all} {
			r.Add(d)
		}
	}
}

// KindRates returns the rates of one kind.
func (t *Table) KindRates(k Kind) Rates {
	if r := t.by[k]; r != nil {
		return *r
	}
	return Rates{}
}

// FigureRates returns the rates of one figure.
func (t *Table) FigureRates(name string) Rates {
	if r := t.figure[name]; r != nil {
		return *r
	}
	return Rates{}
}

// AllRates returns the rates of all kinds together.
func (t *Table) AllRates() Rates { return t.all }

// Write writes the rates as two Markdown tables: by kind, and by figure.
func (t *Table) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	row := func(name string, r Rates) {
		_, _ = fmt.Fprintf(tw, "| %s\t| %d\t| %d\t| %.1f %%\t| %d\t| %.1f %%\t|\n", name, r.Trials,
			r.Far, 100*Share(r.Caught, r.Far), r.Near, 100*Share(r.Passed, r.Near))
	}
	head := func(of string) {
		_, _ = fmt.Fprintf(tw, "| %s\t| trials\t| figures off by over %.0f %%\t| of those not valid\t| figures within %.0f %%\t| of those valid\t|\n", of, 100*FarOff, 100*NearBy)
		_, _ = fmt.Fprintln(tw, "|---\t|---\t|---\t|---\t|---\t|---\t|")
	}
	head("disturbance")
	for _, k := range t.kinds {
		row(string(k), *t.by[k])
	}
	row("all", t.all)
	_, _ = fmt.Fprintln(tw)
	head("figure")
	for _, name := range slices.DeleteFunc(verdict.PrintedFigures(), func(name string) bool { return t.figure[name] == nil }) {
		row(name, *t.figure[name])
	}
	return tw.Flush()
}
