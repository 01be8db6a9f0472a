package web

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// outages returns a chart for each kind of fault. Each chart shows all trials side by side.
func outages(rows []*analyze.Row) (out []chart.Chart) {
	all := faults.FindEffects(rows)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Description == all[0].Description {
			n++
		}
		out = append(out, chart.Outages(fmt.Sprintf("outages-%d", len(out)+1), all[:n]))
		all = all[n:]
	}
	return out
}

// outageSentences returns sentences about the outages in the trials of a row.
func outageSentences(r *analyze.Row) (all []sentence) {
	for _, text := range report.OutageSentences(r) {
		all = append(all, sentence{Subject: r.First().Name, Text: text + ".", Link: "broken"})
	}
	return all
}

// maxViolations limits how many violations of a trial are drawn. It is larger than the number of
// violations that a verification records.
const maxViolations = 60

// violations returns a chart for each recorded violation of a trial.
func violations(t *record.Trial) (out []chart.Chart) {
	if t.Verification == nil {
		return nil
	}
	for i := range t.Verification.Violations {
		if i == maxViolations {
			break
		}
		if c, ok := chart.Violation(fmt.Sprintf("violation-%d", i+1), &t.Verification.Violations[i]); ok {
			out = append(out, c)
		}
	}
	return out
}
