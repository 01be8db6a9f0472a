package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// counting is the repeats whose figures a comparison takes, and says of the
// others, which are those of the trial named so, why it does not.
func (c *Comparison) counting(of string, trials []*record.Trial) []*record.Trial {
	var count []*record.Trial
	var order []string
	whys := map[string]int{}
	for _, t := range trials {
		why := whyNot(t)
		if why == "" {
			count = append(count, t)
			continue
		}
		if whys[why]++; whys[why] == 1 {
			order = append(order, why)
		}
	}
	if len(order) > 0 {
		parts := make([]string, 0, len(order))
		for _, why := range order {
			if len(order) > 1 {
				why = fmt.Sprintf("%d %s", whys[why], why)
			}
			parts = append(parts, why)
		}
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("%s, %d of %d (%s)", of, len(trials)-len(count), len(trials), strings.Join(parts, ", ")))
	}
	return count
}

// whyNot says why a repeat's figures are not to be compared; empty if they are.
// What is invalid is no figure of the store, and what was interrupted is one of
// another load.
func whyNot(t *record.Trial) string {
	switch {
	case t.State == record.Interrupted:
		return "interrupted"
	case !Measured(t):
		return string(t.State)
	case t.Verdict.State != verdict.Invalid:
		return ""
	}
	var rules []string
	for _, r := range t.Verdict.Reasons {
		if rule := fmt.Sprintf("R%d", r.Rule); !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return strings.TrimSpace("invalid " + strings.Join(rules, " "))
}

// shareCluster reports whether any two of a run's trials ran on one cluster.
func shareCluster(run *record.Run, trials []*record.Trial) bool {
	for i, a := range trials {
		for _, b := range trials[:i] {
			if a.Cluster == b.Cluster || attachedTo(run, a, b) {
				return true
			}
		}
	}
	return false
}

// attachedTo reports whether two trials attached to one cluster. A run gives it
// another name each time that it comes back to it.
func attachedTo(run *record.Run, a, b *record.Trial) bool {
	if clusterOf(run, a).Started || clusterOf(run, b).Started {
		return false
	}
	return slices.ContainsFunc(a.Endpoints, func(e string) bool { return slices.Contains(b.Endpoints, e) })
}

// Tests is how many intervals the comparison has, each of them a test at 5 %,
// and how many of those are to be expected, at most, to show a difference by
// chance where there is none.
func (c *Comparison) Tests() (made int, byChance float64) {
	for i := range c.Pairs {
		for _, f := range c.Pairs[i].Figures {
			if f.Change.Interval {
				made++
			}
		}
	}
	return made, float64(made) / (1 / alpha) // exactly 20, which alpha is not: 12 tests are 0.6, and not 0.6000000000000001
}
