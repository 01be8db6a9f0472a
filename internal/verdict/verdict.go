// Package verdict judges a trial by numbered rules, each with a limit, from the figures that the
// trial provides. It has no side effects; docs/reference/rules.md documents the rules under the
// same numbers.
package verdict

import (
	"fmt"
	"slices"
	"strings"
)

// State is how far a result can be trusted.
type State string

// The states, from the best to the worst.
const (
	Valid   State = "valid"
	Suspect State = "suspect" // use it knowing why
	Invalid State = "invalid" // do not use it
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

// Reason is one rule that was broken.
type Reason struct {
	Rule int    `json:"rule"`
	Text string `json:"text"` // a sentence with the figure and the limit
	// Figures names the affected figures, as the record's registry names them. "watch" and
	// other names without a figure of that name mean all figures with this prefix. Nil means
	// the whole trial.
	Figures []string `json:"figures,omitempty"`
}

// String returns the reason as reports print it, such as "R10 CPU steal: ...".
func (r Reason) String() string { return fmt.Sprintf("R%d %s", r.Rule, r.Text) }

// WithoutRemedy returns the text without its last part, which is what to do.
func (r *Reason) WithoutRemedy() string {
	if r.Rule < 1 || r.Rule > Rules() {
		return r.Text
	}
	_, remedy := DescribeRule(r.Rule)
	return strings.TrimSuffix(r.Text, "; "+remedy)
}

// About reports whether the reason is about a figure.
func (r *Reason) About(figure string) bool {
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

// Verdict is the judgement of a trial. The zero Verdict is none.
type Verdict struct {
	State   State    `json:"state"`
	Reasons []Reason `json:"reasons"` // never nil, the worst first, then in the rules' order
	// Notes are sentences about conditions that do not make a figure suspect.
	Notes []string `json:"notes"` // never nil
	// Effect is by how much all disturbances together may have moved each figure of the
	// headline, even if that is too little for a reason.
	Effect Effect `json:"effect"`
}

// StateOf returns the state of one figure: suspect only if a reason is about that
// figure or about the whole trial.
func (v *Verdict) StateOf(figure string) State {
	if v.State != Suspect || len(v.Reasons) == 0 {
		return v.State
	}
	for i := range v.Reasons {
		if v.Reasons[i].About(figure) {
			return Suspect
		}
	}
	if v.Effect.ForFigure(figure) > SuspectEffect {
		return Suspect
	}
	return Valid
}

// Doubts reports whether a reason names this figure of the load, which makes it less certain
// than other figures of its trial.
func (v *Verdict) Doubts(figure string) bool {
	names := effectNames(figure)
	about := func(r Reason) bool { return r.Figures != nil && r.About(figure) }
	return v.Effect.ForFigure(figure) > SuspectEffect || len(names) > 0 && slices.ContainsFunc(v.Reasons, about)
}
