package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// fairnessParts reports the trials whose clients were served unevenly. If several repeats of a
// trial are uneven, it shows only the most uneven one.
func fairnessParts(out layout, rows []*analyze.Row) {
	var lines []string
	for _, r := range rows {
		worst, n := analyze.MostUneven(r)
		if worst == nil {
			continue
		}
		indent := "  "
		if len(rows) > 1 || len(r.Trials) > 1 {
			indent += analyze.Label(worst) + ": "
		}
		for i, line := range UnevennessLines(worst) {
			if i == 0 && n > 1 {
				line += fmt.Sprintf(" (the worst of %d uneven repeats; %d repeats in total)", n, len(r.Done))
			}
			lines = append(lines, indent+line)
			indent = "    "
		}
	}
	out.section("Fairness", lines)
}

// UnevennessLines describes how unevenly a trial's clients were served. It returns no lines if the
// differences may be due to chance.
func UnevennessLines(t *record.Trial) (lines []string) {
	u, ok := analyze.UnfairnessOf(t)
	if !ok {
		return nil
	}
	for _, m := range u.Members {
		lines = append(lines, fmt.Sprintf("on average, %s's %s completed %s operations each, and the clients of the other members completed %s",
			m.Name, text.Plural(uint64(m.Clients), "client"), Value(m.OperationsPerClient), Value(m.OthersPerClient)))
	}
	if u.Lagging {
		lines = append(lines, fmt.Sprintf("the slowest %d of %s completed %s of the operations (an even share would be %s)",
			u.Tenth, text.Plural(uint64(u.Clients), "client"), Value(u.TenthShare), Value(u.FairShare)))
	}
	if u.Starved > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s completed less than a tenth of the median client's operations", u.Starved, text.Plural(uint64(u.Clients), "client")))
	}
	lines[0] += "; Jain's fairness index is " + Value(u.Fairness)
	return lines
}

// fairness describes in one line how evenly a trial's clients were served. It returns an empty
// string if the trial has only one client, or if the record does not contain the operations of the
// clients.
func fairness(t *record.Trial) string {
	b := t.ByClient
	if b == nil || b.Count < 2 || b.FairnessIndex == nil {
		return ""
	}
	return fmt.Sprintf("Jain's fairness index %s for %s, each of which completed %s to %s operations (median %s)", Value(figure(t, "fairness")),
		text.Plural(uint64(b.Count), "client"), text.Count(uint64(b.Fewest)), text.Count(uint64(b.Most)), text.Count(uint64(b.Median)))
}
