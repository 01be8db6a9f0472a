// Package verdict judges a trial with numbered rules. The rules use only the fields of Figures and
// have no side effects. docs/reference/rules.md documents the rules under the same numbers.
package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// State is the degree to which a result can be trusted.
type State string

// The states, from best to worst.
const (
	Valid   State = "valid"
	Suspect State = "suspect" // use the result only together with the reasons
	Invalid State = "invalid" // do not use the result
)

// Worse reports whether s is worse than t. An unknown state is the worst.
func (s State) Worse(t State) bool { return s.rank() > t.rank() }

func (s State) rank() int {
	switch s {
	case Valid:
		return 0
	case Suspect:
		return 1
	case Invalid:
		return 2
	}
	return 3
}

// Reason describes a problem that a rule found.
type Reason struct {
	Rule int    `json:"rule"`
	Text string `json:"text"` // a sentence that includes the measured value and its limit
	// Figures lists the affected figures by their names in the registry of package record. A name
	// that is not a figure, such as "watch", means all figures whose names start with it. Nil means
	// the whole trial.
	Figures []string `json:"figures,omitempty"`
}

// String returns the reason as reports print it, such as "R10 CPU steal: ...".
func (r Reason) String() string { return fmt.Sprintf("R%d %s", r.Rule, r.Text) }

// Name returns the number and the name of the rule, such as "R10 CPU steal". For a rule that a
// later version has added, it returns only the number.
func (r *Reason) Name() string {
	name, _ := DescribeRule(r.Rule)
	return strings.TrimSpace(fmt.Sprintf("R%d %s", r.Rule, name))
}

// WithoutRemedy returns the text without the remedy at its end.
func (r *Reason) WithoutRemedy() string {
	_, remedy := DescribeRule(r.Rule)
	return strings.TrimSuffix(r.Text, "; "+remedy)
}

// Affects reports whether the reason makes a figure suspect.
func (r *Reason) Affects(figure string) bool {
	if r.Figures == nil {
		return true
	}
	for _, name := range append(effectNames(figure), figure) {
		for _, of := range r.Figures {
			if name == of || strings.HasPrefix(name, of+"-") {
				return true
			}
		}
	}
	return false
}

// Verdict is the result of judging a trial. The zero Verdict means that the trial was not judged.
type Verdict struct {
	State   State    `json:"state"`
	Reasons []Reason `json:"reasons"` // never nil; sorted by state (worst first), then by rule
	// Notes are sentences about conditions that do not make a figure suspect.
	Notes []string `json:"notes"` // never nil
	// Effect is how far all disturbances together may have moved each printed figure, even if the
	// effect is too small for a reason.
	Effect Effect `json:"effect"`
}

// FigureState returns the state of one figure. In a suspect trial, the figure is suspect only if a
// reason affects the figure or the whole trial, or if the effect on the figure is above
// SuspectEffect.
func (v *Verdict) FigureState(figure string) State {
	if v.State != Suspect || len(v.Reasons) == 0 {
		return v.State
	}
	for i := range v.Reasons {
		if v.Reasons[i].Affects(figure) {
			return Suspect
		}
	}
	if v.Effect.ForFigure(figure) > SuspectEffect {
		return Suspect
	}
	return Valid
}

// IsFigureDoubtful reports whether a reason or an effect concerns this figure and not the whole
// trial. Such a figure is less certain than other figures of the same trial.
func (v *Verdict) IsFigureDoubtful(figure string) bool {
	names := effectNames(figure)
	about := func(r Reason) bool { return r.Figures != nil && r.Affects(figure) }
	return v.Effect.ForFigure(figure) > SuspectEffect || len(names) > 0 && slices.ContainsFunc(v.Reasons, about)
}
