package analyze

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// InOrder is a run's trials in the order of the scenario, the repeats of each
// side by side.
func InOrder(run *record.Run) []*record.Trial {
	all := make([]*record.Trial, 0, len(run.Trials))
	for i := range run.Trials {
		all = append(all, &run.Trials[i])
	}
	slices.SortStableFunc(all, func(a, b *record.Trial) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Repeat, b.Repeat))
	})
	return all
}

// SameLoad refuses two trials whose load is not the same with a sentence that
// names the first difference. A rate that is a share of another trial's
// throughput, which no two runs have alike, need only be a share of the same.
func SameLoad(now, base *record.Conditions) error {
	if what, a, b := scenario.Differ(&now.Load, &base.Load); what != "" {
		return differentLoad(now.Name, what, a, b)
	}
	return nil
}

func differentLoad(trial, what, now, base string) error {
	return fmt.Errorf("the baseline was made with another load: %s in %s: %s here, %s there; compare runs of the same scenario", what, trial, orNone(now), orNone(base))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
