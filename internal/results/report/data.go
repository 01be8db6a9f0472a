package report

import (
	"encoding/csv"
	"io"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CSV writes a row for each trial and repeat, in the scenario's order, with the
// names of the trial's JSON object: every condition and every figure. What is
// not known, or lands on a failed operation, is empty. Rows of joined runs end
// with the run's name.
func CSV(w io.Writer, run *record.Run) error {
	var rows [][]string
	certain := map[int][]named{} // by the trial's number
	for _, r := range analyze.Rows(run) {
		certain[r.First().Number] = certainties(r)
	}
	for _, t := range analyze.InOrder(run) {
		names, cells := inPlace(trialCells(t))
		for _, c := range certain[t.Number] {
			names, cells = append(names, c.name), append(cells, c.cell())
		}
		if len(run.Parts) > 0 {
			names, cells = append(names, "run"), append(cells, text.Cell(run.Of(t).Name))
		}
		if rows == nil {
			rows = append(rows, names)
		}
		rows = append(rows, cells)
	}
	return writeCSV(w, rows)
}

// certainties returns a trial's figures over its repeats that count, and how sure they are. Which they
// are does not depend on the trial.
func certainties(r *analyze.Row) (all []named) {
	for _, f := range analyze.CertainFigures() {
		c, ok := analyze.CertaintyOf(r, &f)
		name, isTime := strings.CutSuffix(f.Key(), "_ns")
		unit := ""
		if isTime {
			unit = "_ns"
		}
		basis := string(c.Basis)
		if r.Dependent && c.Basis == analyze.OverRepeats {
			basis = "repeats_on_one_cluster"
		}
		median, _ := r.Figure(&f)
		all = append(all, named{name + "_median" + unit, known(analyze.InFile(median), median.Known)}, named{name + "_interval", basis},
			named{name + "_low" + unit, known(analyze.InFile(c.Low), ok && c.Low.Known)}, named{name + "_high" + unit, known(analyze.InFile(c.High), ok && c.High.Known)})
		if f.Name == "ops" {
			all = append(all, named{"effective_seconds", known(c.Effective, c.Basis == analyze.WithinRun)})
		}
	}
	return all
}

// trialCells are a trial's columns; which they are does not depend on the trial.
func trialCells(t *record.Trial) (names, cells []string) {
	word := func(name, words string) { names, cells = append(names, name), append(cells, text.Cell(words)) }
	conditions := func(all []record.ConditionCell) {
		for _, c := range all {
			if c.Word {
				c.Text = text.Cell(c.Text)
			}
			names, cells = append(names, c.Name), append(cells, c.Text)
		}
	}
	conditions(t.Cells())
	word("state", string(t.State))
	word("verdict", string(t.Verdict.State))
	reasons := make([]string, 0, len(t.Verdict.Reasons))
	for _, r := range t.Verdict.Reasons {
		reasons = append(reasons, r.String())
	}
	word("reasons", strings.Join(reasons, "; "))
	word("machine", analyze.Machine(t))
	word("started", t.Started.UTC().Format(time.RFC3339Nano))
	for _, f := range record.Figures() {
		if f.Column != "" {
			names, cells = append(names, f.Column), append(cells, f.Cell(t))
		}
	}
	conditions(t.LaterCells())
	return names, cells
}

// firstColumns had these places when files had no others, and keep them; an
// asterisk stands for all that begin so. What came later stands behind them.
const firstColumns = `number name repeat state store version members operation consistency target connections clients arrival rate
	key_size value_size key_space seconds due operations errors conflicts misses stale unverifiable keys_read
	operations_per_second longest_gap_seconds response_time_* service_time_* errors_* client_cpu_ns_per_operation client_max_rss_bytes
	store_cpu_ns_per_operation store_max_rss_bytes bytes_in bytes_out verdict reasons machine tool_version seed started
	watchers watch_events_per_second watch_expected_events watch_delivered_events watch_lost_events watch_duplicated_events
	watch_reordered_events
	watch_from_due_p50_ns watch_from_due_p90_ns watch_from_due_p99_ns watch_from_due_p99_9_ns watch_from_due_max_ns
	watch_from_sent_p50_ns watch_from_sent_p90_ns watch_from_sent_p99_ns watch_from_sent_p99_9_ns watch_from_sent_max_ns`

// inPlace puts columns in the order of a file.
func inPlace(names, cells []string) (orderedNames, orderedCells []string) {
	placed := make([]bool, len(names))
	place := func(fits func(name string) bool) {
		for i, name := range names {
			if !placed[i] && fits(name) {
				placed[i] = true
				orderedNames, orderedCells = append(orderedNames, name), append(orderedCells, cells[i])
			}
		}
	}
	for _, first := range strings.Fields(firstColumns) {
		prefix, several := strings.CutSuffix(first, "*")
		place(func(name string) bool { return name == first || several && strings.HasPrefix(name, prefix) })
	}
	place(func(string) bool { return true })
	return orderedNames, orderedCells
}

func writeCSV(w io.Writer, rows [][]string) error { return csv.NewWriter(w).WriteAll(rows) }
