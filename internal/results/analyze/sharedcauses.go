package analyze

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// SharedCause is a cause and the trials that it limited.
type SharedCause struct {
	// Cause is that of the trial which is furthest beyond its limit, whose label
	// is Furthest; of a cause without a limit, of the first.
	Cause
	Furthest string
	Trials   []string // labels
	// Same says that the sentence is the same of all of them.
	Same bool
	// More is how many more findings of the kind Furthest has.
	More int
}

// TrialCauses are a trial's, and how many more findings of each one's kind it
// has.
type TrialCauses struct {
	Trial  *record.Trial
	Causes []Cause
	More   []int
}

// Shared puts the trials together that the same kind of cause limited, in the
// order in which they first come: what holds for ten trials is said once.
func Shared(all []TrialCauses) (out []SharedCause) {
	for _, of := range all {
		for k, c := range of.Causes {
			more := 0
			if k < len(of.More) {
				more = of.More[k]
			}
			i := slices.IndexFunc(out, func(s SharedCause) bool { return s.What == c.What })
			if i < 0 {
				out = append(out, SharedCause{Cause: c, Furthest: Label(of.Trial), Trials: []string{Label(of.Trial)}, Same: true, More: more})
				continue
			}
			s := &out[i]
			s.Trials, s.Same = with(s.Trials, Label(of.Trial)), s.Same && s.Text == c.Text
			if c.Limit > 0 && s.Limit > 0 && c.excess() > s.excess() {
				s.Cause, s.Furthest, s.More = c, Label(of.Trial), more
			}
		}
	}
	return out
}
