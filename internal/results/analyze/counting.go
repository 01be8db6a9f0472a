package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// ExclusionReason returns the reason why the figures of a repeat cannot be compared, or an empty
// string if they can. An invalid figure does not measure the store. If a window was interrupted or
// had fewer workers, it measured a different load. Suspect repeats can be compared, because the
// interval includes the possible effect of the disturbance.
func ExclusionReason(t *record.Trial) string {
	switch {
	case t.State == record.Interrupted:
		return "interrupted"
	case !HasFigures(t):
		return string(t.State)
	}
	invalid := t.Verdict.State == verdict.Invalid
	var rules []string
	for _, r := range t.Verdict.Reasons {
		if invalid || verdict.MeansOtherLoad(r.Rule) {
			rules = AppendNew(rules, fmt.Sprintf("R%d", r.Rule))
		}
	}
	if !invalid && len(rules) == 0 {
		return ""
	}
	return strings.TrimSpace(string(t.Verdict.State) + " " + strings.Join(rules, " "))
}

// ComparableTrials returns the trials in a run whose figures another program may compare, including
// suspect trials. The result `leftOut` lists the other trials, each with the reason why its figures
// cannot be compared.
func ComparableTrials(run *record.Run) (count []*record.Trial, leftOut []string) {
	for _, t := range TrialsInOrder(run) {
		if reason := ExclusionReason(t); reason != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s (%s)", Label(t), reason))
			continue
		}
		count = append(count, t)
	}
	return count, leftOut
}

// NamedTrials holds the trials in a run by name. Order lists the names in the order of the
// scenario.
type NamedTrials struct {
	Order  []string
	ByName map[string][]*record.Trial
}

// TrialsByName groups the trials in a run by name.
func TrialsByName(run *record.Run) NamedTrials { return GroupByName(TrialsInOrder(run)) }

// GroupByName groups trials by name. The names are in the order of their first trial.
func GroupByName(trials []*record.Trial) NamedTrials {
	n := NamedTrials{ByName: map[string][]*record.Trial{}}
	for _, t := range trials {
		if n.ByName[t.Name] == nil {
			n.Order = append(n.Order, t.Name)
		}
		n.ByName[t.Name] = append(n.ByName[t.Name], t)
	}
	return n
}

// ComparableTrials returns the repeats that are used for figures, intervals and comparisons: the
// repeats that ExclusionReason accepts. If it accepts none, ComparableTrials returns all repeats
// that have figures.
func (r *Row) ComparableTrials() []*record.Trial {
	count := slices.DeleteFunc(slices.Clone(r.Done), func(t *record.Trial) bool { return ExclusionReason(t) != "" })
	if len(count) == 0 {
		return r.Done
	}
	return count
}
