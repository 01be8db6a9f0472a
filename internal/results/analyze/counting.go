package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// WhyNotCounted explains why a repeat's figures cannot be compared; empty if they can. An
// invalid figure does not measure the store, and an interrupted window or one with fewer workers
// measures another load. Suspect repeats count, because the interval covers the possible effect
// of a disturbance.
func WhyNotCounted(t *record.Trial) string {
	switch {
	case t.State == record.Interrupted:
		return "interrupted"
	case !HasFigures(t):
		return string(t.State)
	}
	invalid := t.Verdict.State == verdict.Invalid
	var rules []string
	for _, r := range t.Verdict.Reasons {
		if invalid || verdict.FoundAnotherLoad(r.Rule) {
			rules = AppendNew(rules, fmt.Sprintf("R%d", r.Rule))
		}
	}
	if !invalid && len(rules) == 0 {
		return ""
	}
	return strings.TrimSpace(string(t.Verdict.State) + " " + strings.Join(rules, " "))
}

// ComparableTrials returns the trials of a run whose figures another program may compare, including
// suspect ones, and the reasons for those left out.
func ComparableTrials(run *record.Run) (count []*record.Trial, leftOut []string) {
	for _, t := range InOrder(run) {
		if why := WhyNotCounted(t); why != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s (%s)", Label(t), why))
			continue
		}
		count = append(count, t)
	}
	return count, leftOut
}

// NamedTrials holds a run's trials by name, in the order of the scenario.
type NamedTrials struct {
	Order []string
	Of    map[string][]*record.Trial
}

// TrialsByName groups the trials of a run by name.
func TrialsByName(run *record.Run) NamedTrials { return GroupByName(InOrder(run)) }

// GroupByName groups trials by name, in the order of each name's first trial.
func GroupByName(trials []*record.Trial) NamedTrials {
	n := NamedTrials{Of: map[string][]*record.Trial{}}
	for _, t := range trials {
		if n.Of[t.Name] == nil {
			n.Order = append(n.Order, t.Name)
		}
		n.Of[t.Name] = append(n.Of[t.Name], t)
	}
	return n
}

// ComparableTrials returns the repeats that figures, intervals and comparisons use: those that
// WhyNotCounted accepts, or all if it accepts none.
func (r *Row) ComparableTrials() []*record.Trial {
	count := slices.DeleteFunc(slices.Clone(r.Done), func(t *record.Trial) bool { return WhyNotCounted(t) != "" })
	if len(count) == 0 {
		return r.Done
	}
	return count
}
