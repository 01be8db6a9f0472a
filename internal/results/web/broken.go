package web

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web/chart"
)

// outages are a chart for each kind of fault, with all trials side by side.
func outages(rows []*analyze.Row) (out []chart.Chart) {
	all := analyze.Broken(rows)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].What == all[0].What {
			n++
		}
		out = append(out, chart.Outages(fmt.Sprintf("outages-%d", len(out)+1), all[:n]))
		all = all[n:]
	}
	return out
}

// broke says what the faults of a row's trials broke, and for how long.
func broke(r *analyze.Row) (all []sentence) {
	for _, text := range report.Broke(r) {
		all = append(all, sentence{About: r.First().Name, Text: text + ".", Link: "broken"})
	}
	return all
}
