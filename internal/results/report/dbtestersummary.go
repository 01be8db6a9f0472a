package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// summaryRow is a figure of all trials, or a text.
type summaryRow struct {
	name  string
	cells []string
	words bool
}

// The rows of what the members' processes used.
const (
	serverCPU    = "SERVER-MAX-CPU-USAGE"
	serverMemory = "SERVER-MAX-MEMORY-USAGE"
)

// summaryRows puts the trials side by side, a row for each figure.
func summaryRows(trials []*analyze.Dbtester) []summaryRow {
	var rows []summaryRow
	add := func(name string, words bool, of func(*analyze.Dbtester) string) {
		r := summaryRow{name: name, words: words}
		for _, t := range trials {
			r.cells = append(r.cells, of(t))
		}
		rows = append(rows, r)
	}
	value := func(name string, decimals int, of func(*analyze.Dbtester) record.Value) {
		add(name, false, func(t *analyze.Dbtester) string { return summaryCell(of(t), decimals) })
	}
	figure := func(name, figure string, decimals int) {
		f := record.Registered(figure)
		value(name, decimals, func(t *analyze.Dbtester) record.Value { return f.Of(t.Trial) })
	}
	percent := func(name string, of func(*analyze.Dbtester) record.Value) {
		add(name, false, func(t *analyze.Dbtester) string {
			if v := of(t); v.Known {
				return readable.Percent(v.Number, 1)
			}
			return ""
		})
	}
	add("TRIAL", true, func(t *analyze.Dbtester) string { return analyze.Label(t.Trial) })
	add("DATABASE", true, func(t *analyze.Dbtester) string { return analyze.Store(t.Trial) })
	add("VERDICT", true, func(t *analyze.Dbtester) string { return string(t.Trial.Verdict.State) })
	figure("TOTAL-SECONDS", "seconds", 4)
	figure("TOTAL-REQUEST-NUMBER", "due", 0)
	value("MAX-THROUGHPUT", 1, func(t *analyze.Dbtester) record.Value { return t.Rates.Max })
	value("AVG-THROUGHPUT", 1, func(t *analyze.Dbtester) record.Value { return t.Rates.Mean })
	value("MIN-THROUGHPUT", 1, func(t *analyze.Dbtester) record.Value { return t.Rates.Min })
	figure("FASTEST-LATENCY-MS", "min", 4)
	figure("AVG-LATENCY-MS", "mean", 4)
	figure("SLOWEST-LATENCY-MS", "max", 4)
	for _, f := range percentiles() {
		figure("Latency "+f.Name, f.Name, 4)
	}
	figure("CLIENT-TOTAL-NETWORK-RX-SUM", "bytes-in", 0)
	figure("CLIENT-TOTAL-NETWORK-TX-SUM", "bytes-out", 0)
	percent("CLIENT-AVG-CPU-USAGE", func(t *analyze.Dbtester) record.Value { return t.ClientCPU })
	figure("CLIENT-MAX-MEMORY-USAGE", "rss", 0)
	figure("CLIENT-ERROR-COUNT", "errors", 0)
	for _, f := range record.Figures() {
		kind, ok := strings.CutPrefix(f.Name, "errors-")
		if ok && slices.ContainsFunc(trials, func(t *analyze.Dbtester) bool { return f.Of(t.Trial).Number > 0 }) {
			figure("CLIENT-ERROR-COUNT-"+strings.ToUpper(kind), f.Name, 0)
		}
	}
	// Of the figures that come from the servers' machines, only what the members'
	// processes used is recorded.
	nothing := func(*analyze.Dbtester) record.Value { return record.Value{} }
	value("SERVER-TOTAL-NETWORK-RX-DATA-SUM", 0, nothing)
	value("SERVER-TOTAL-NETWORK-TX-DATA-SUM", 0, nothing)
	percent(serverCPU, func(t *analyze.Dbtester) record.Value { return t.Servers.CPU })
	value(serverMemory, 0, func(t *analyze.Dbtester) record.Value { return t.Servers.RSS })
	for _, name := range []string{"AVG-READS-COMPLETED-DELTA-SUM", "AVG-SECTORS-READS-DELTA-SUM", "AVG-WRITES-COMPLETED-DELTA-SUM", "AVG-SECTORS-WRITTEN-DELTA-SUM", "AVG-DISK-SPACE-USAGE"} {
		value("SERVER-"+name, 0, nothing)
	}
	if slices.ContainsFunc(trials, func(t *analyze.Dbtester) bool { return t.Trial.Watch != nil }) { // dbtester has none of these
		figure("WATCH-EVENTS-PER-SECOND", "watch-events", 1)
		figure("WATCH-LATENCY-MS-P50", "watch-p50", 4)
		figure("WATCH-LATENCY-MS-P99", "watch-p99", 4)
		figure("WATCH-SLOWEST-LATENCY-MS", "watch-max", 4)
		figure("WATCH-LOST-EVENTS", "watch-lost", 0)
		figure("WATCH-DUPLICATED-EVENTS", "watch-duplicated", 0)
		figure("WATCH-REORDERED-EVENTS", "watch-reordered", 0)
	}
	return rows
}

// summaryCell is a figure, a time in milliseconds: empty if it is not known, and
// the word failed where it lands on a failed operation.
func summaryCell(v record.Value, decimals int) string {
	_, isTime := v.Unit.Time()
	switch {
	case v.Failed:
		return "failed"
	case !v.Known:
		return ""
	case isTime:
		return readable.Milliseconds(v.Number, decimals)
	}
	return strconv.FormatFloat(v.Number, 'f', decimals, 64)
}

// plainRows are the rows as CSV has them, the names first.
func plainRows(rows []summaryRow) [][]string {
	all := make([][]string, 0, len(rows))
	for _, r := range rows {
		line := append([]string{r.name}, r.cells...)
		for i := range line {
			if r.words {
				line[i] = printable.Cell(line[i])
			}
		}
		all = append(all, line)
	}
	return all
}

// summaryText writes the summary as tables of a few trials each, so that lines
// stay readable.
func summaryText(w io.Writer, rows []summaryRow) error {
	const across = 5
	var all []int
	for i := range rows[0].cells {
		all = append(all, i)
	}
	between := ""
	for some := range slices.Chunk(all, across) {
		g := grid{columns: []column{{"", true}}}
		for range some {
			g.columns = append(g.columns, column{})
		}
		for _, r := range rows {
			cells := []string{r.name}
			for _, i := range some {
				cells = append(cells, readable.OrDash(r.cells[i]))
			}
			g.add(cells...)
		}
		if _, err := io.WriteString(w, between); err != nil {
			return err
		}
		if err := g.writeRows(w); err != nil {
			return err
		}
		between = "\n"
	}
	servers := "What servers used is not part of this output."
	if slices.ContainsFunc(rows, func(r summaryRow) bool { return r.name == serverMemory && strings.Join(r.cells, "") != "" }) {
		servers = "What servers used is of all members' processes together, where they run on the generator's machine."
	}
	_, err := io.WriteString(w, strings.Join([]string{
		"", "Latencies are milliseconds, of every operation due: service times in a closed loop, response times in an open one.",
		"Throughputs are operations a second, of the whole seconds alone. A dash is not known, or not supported by the sample.",
		servers, ""}, "\n"))
	return err
}
