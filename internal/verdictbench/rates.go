package verdictbench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/quorumbench/quorumbench/internal/verdict"
)

// A result whose figures are off by more than FarOff must not be valid; one
// whose figures are all within NearBy must be.
const (
	FarOff = 0.10
	NearBy = 0.02
)

// Rates counts verdicts over trials of which the truth is known.
type Rates struct {
	Trials int
	Far    int // figures off by more than FarOff
	Caught int // of those: not valid
	Near   int // all figures within NearBy
	Passed int // of those: valid
}

// Add counts one.
func (r *Rates) Add(o Outcome) {
	valid := o.Verdict.State == verdict.Valid
	r.Trials++
	switch {
	case o.Off > FarOff:
		r.Far++
		if !valid {
			r.Caught++
		}
	case o.Off <= NearBy:
		r.Near++
		if valid {
			r.Passed++
		}
	}
}

// Wrong reports whether the verdict on a trial is one that the rates count as
// wrong.
func (o *Outcome) Wrong() bool {
	valid := o.Verdict.State == verdict.Valid
	return o.Off > FarOff && valid || o.Off <= NearBy && !valid
}

func (o *Outcome) String() string {
	return fmt.Sprintf("%s, seed %d: %s: throughput off by %+.1f %%, p50 %+.1f %%, p99 %+.1f %%, and the verdict is %s %v (effect %+v)",
		o.Kind, o.Seed, o.What, 100*o.Figures[0], 100*o.Figures[1], 100*o.Figures[2], o.Verdict.State, o.Verdict.Reasons, o.Effect)
}

// Share is a part of a whole, 1 of nothing.
func Share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// Table is the rates by kind, in the kinds' order, and all together.
type Table struct {
	kinds []Kind
	by    map[Kind]*Rates
}

// Add counts one.
func (t *Table) Add(o Outcome) {
	if t.by == nil {
		t.by = map[Kind]*Rates{}
	}
	if t.by[o.Kind] == nil {
		t.by[o.Kind] = &Rates{}
		t.kinds = append(t.kinds, o.Kind)
	}
	t.by[o.Kind].Add(o)
}

// Of is the rates of one kind.
func (t *Table) Of(k Kind) Rates {
	if r := t.by[k]; r != nil {
		return *r
	}
	return Rates{}
}

// All is the rates of all kinds together.
func (t *Table) All() (all Rates) {
	for _, r := range t.by {
		all.Trials += r.Trials
		all.Far += r.Far
		all.Caught += r.Caught
		all.Near += r.Near
		all.Passed += r.Passed
	}
	return all
}

// Write writes the rates as a Markdown table.
func (t *Table) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	row := func(name string, r Rates) {
		_, _ = fmt.Fprintf(tw, "| %s\t| %d\t| %d\t| %.1f %%\t| %d\t| %.1f %%\t|\n", name, r.Trials,
			r.Far, 100*Share(r.Caught, r.Far), r.Near, 100*Share(r.Passed, r.Near))
	}
	_, _ = fmt.Fprintf(tw, "| disturbance\t| trials\t| off by over %.0f %%\t| of those not valid\t| within %.0f %%\t| of those valid\t|\n", 100*FarOff, 100*NearBy)
	_, _ = fmt.Fprintln(tw, "|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, k := range t.kinds {
		row(string(k), *t.by[k])
	}
	row("all", t.All())
	return tw.Flush()
}
