package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// WhyNotCounted says why a repeat's figures are not to be compared; empty if they are. An
// invalid figure is none of the store's, and one of a window that was interrupted or
// Of fewer workers is of another load. Suspect repeats count: how far a disturbance can
// have moved a figure is in its interval.
func WhyNotCounted(t *record.Trial) string {
	switch {
	case t.State == record.Interrupted:
		return "interrupted"
	case !Measured(t):
		return string(t.State)
	}
	invalid := t.Verdict.State == verdict.Invalid
	var rules []string
	for _, r := range t.Verdict.Reasons {
		if invalid || verdict.OfAnotherLoad(r.Rule) {
			rules = AppendNew(rules, fmt.Sprintf("R%d", r.Rule))
		}
	}
	if !invalid && len(rules) == 0 {
		return ""
	}
	return strings.TrimSpace(string(t.Verdict.State) + " " + strings.Join(rules, " "))
}

// Counting is the trials of a run whose figures another program may compare,
// suspect ones among them, and says which it must not have, and why.
func Counting(run *record.Run) (count []*record.Trial, leftOut []string) {
	for _, t := range InOrder(run) {
		if why := WhyNotCounted(t); why != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s (%s)", Label(t), why))
			continue
		}
		count = append(count, t)
	}
	return count, leftOut
}

// ValuesOf returns a figure of each repeat, not known where it cannot be distinguished
// from 0.
func ValuesOf(f *record.Figure, trials []*record.Trial) []record.Value {
	all := make([]record.Value, 0, len(trials))
	for _, t := range trials {
		v := f.Of(t)
		if v.Number < f.Below {
			v = record.Value{}
		}
		all = append(all, v)
	}
	return all
}

// ShareCluster reports whether any two of a run's trials ran on one cluster. A run
// gives one that it attaches to another name each time that it comes back to it.
func ShareCluster(run *record.Run, trials []*record.Trial) bool {
	seen := map[string]bool{}
	for _, t := range trials {
		names := []string{"name " + t.Cluster}
		if !ClusterOf(run, t).Started {
			for _, e := range t.Endpoints {
				names = append(names, "endpoint "+e)
			}
		}
		if slices.ContainsFunc(names, func(name string) bool { return seen[name] }) {
			return true
		}
		for _, name := range names {
			seen[name] = true
		}
	}
	return false
}

// ClusterOf returns what a trial ran on, as far as the run knows.
func ClusterOf(run *record.Run, t *record.Trial) record.Cluster {
	for i := range run.Clusters {
		if run.Clusters[i].ID == t.Cluster {
			return run.Clusters[i]
		}
	}
	return record.Cluster{}
}

// NamedTrials holds a run's trials by name, in the order of the scenario.
type NamedTrials struct {
	Order []string
	Of    map[string][]*record.Trial
}

// TrialsByName returns the trials of a run by name.
func TrialsByName(run *record.Run) NamedTrials { return GroupByName(InOrder(run)) }

// GroupByName returns trials by name, in the order in which the names come first.
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
