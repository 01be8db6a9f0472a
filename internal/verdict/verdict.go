// Package verdict judges a run: numbered rules, each with its limit, over
// figures that a trial hands over. It is pure; docs/method.md lists the rules
// for readers, with the same numbers.
package verdict

import (
	"fmt"
	"strconv"
	"strings"
)

// State is what a result is worth.
type State string

// The states, from the best to the worst.
const (
	Valid   State = "valid"
	Suspect State = "suspect" // use it knowing why
	Invalid State = "invalid" // do not use it
)

// Worse reports whether s is worse than t. What is not a state is the worst.
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

// Reason is one rule that was broken, as a sentence with the figure and the
// limit. In files and tables it is the string "R7: ...".
type Reason struct {
	Rule int
	Text string
}

// String returns the reason as files spell it.
func (r Reason) String() string { return fmt.Sprintf("R%d: %s", r.Rule, r.Text) }

// MarshalText writes String.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote; a text without a rule's number
// is kept whole, with Rule 0.
func (r *Reason) UnmarshalText(b []byte) error {
	*r = Reason{Text: string(b)}
	head, text, ok := strings.Cut(string(b), ": ")
	if !ok || !strings.HasPrefix(head, "R") {
		return nil
	}
	if n, err := strconv.Atoi(head[1:]); err == nil && n > 0 {
		*r = Reason{Rule: n, Text: text}
	}
	return nil
}

// Verdict is the judgement. The zero Verdict is none.
type Verdict struct {
	State   State    `json:"state"`
	Reasons []Reason `json:"reasons"` // never nil, the worst first, then in the rules' order
	// Notes are sentences that a reader should know and that make nothing
	// suspect.
	Notes []string `json:"notes"` // never nil
}

// Judge applies every rule to f.
func Judge(f Figures) Verdict {
	v := Verdict{State: Valid, Reasons: []Reason{}, Notes: []string{}}
	found := map[State][]Reason{}
	var noted []string
	for _, r := range rules() {
		of := r.judge(&f)
		switch {
		case of.text == "":
			continue
		case of.state == Valid:
			noted = append(noted, of.text+fmt.Sprintf(" (R%d)", r.number))
			continue
		}
		found[of.state] = append(found[of.state], Reason{Rule: r.number, Text: of.text})
		if of.state.Worse(v.State) {
			v.State = of.state
		}
	}
	// Who shows one reason alone shows the first.
	v.Reasons = append(append(v.Reasons, found[Invalid]...), found[Suspect]...)
	v.Notes = append(append(v.Notes, notes(&f)...), noted...)
	return v
}
