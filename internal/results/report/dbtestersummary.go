package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// summaryColumn is a trial in dbtester's summary.
type summaryColumn struct {
	trial *record.Trial
	rates analyze.Throughputs
	used  analyze.Servers
}

// summaryRow is a figure of all trials, or a text.
type summaryRow struct {
	name  string
	cells []string
	words bool
}

// serverRows are the figures that come from the servers' machines, in their
// places. Only what the members' processes used is recorded.
func serverRows() []string {
	return []string{
		"SERVER-TOTAL-NETWORK-RX-DATA-SUM", "SERVER-TOTAL-NETWORK-TX-DATA-SUM", serverCPU, serverMemory,
		"SERVER-AVG-READS-COMPLETED-DELTA-SUM", "SERVER-AVG-SECTORS-READS-DELTA-SUM",
		"SERVER-AVG-WRITES-COMPLETED-DELTA-SUM", "SERVER-AVG-SECTORS-WRITTEN-DELTA-SUM", "SERVER-AVG-DISK-SPACE-USAGE",
	}
}

const (
	serverCPU    = "SERVER-MAX-CPU-USAGE"
	serverMemory = "SERVER-MAX-MEMORY-USAGE"
)

// used is a figure of the members' processes; empty if it is not known.
func used(name string, s analyze.Servers) string {
	switch {
	case name == serverCPU && s.CPU.Known:
		return fmt.Sprintf("%.1f %%", 100*s.CPU.Number)
	case name == serverMemory && s.RSS.Known:
		return strconv.FormatFloat(s.RSS.Number, 'f', 0, 64)
	}
	return ""
}

// summaryRows puts the trials side by side, a row for each figure.
func summaryRows(columns []summaryColumn) []summaryRow {
	var rows []summaryRow
	add := func(name string, of func(*summaryColumn) string) {
		r := summaryRow{name: name}
		for i := range columns {
			r.cells = append(r.cells, of(&columns[i]))
		}
		rows = append(rows, r)
	}
	trial := func(name string, of func(*record.Trial) string) {
		add(name, func(c *summaryColumn) string { return of(c.trial) })
	}
	trial("TRIAL", analyze.Label)
	trial("DATABASE", analyze.Store)
	trial("VERDICT", func(t *record.Trial) string { return string(t.Verdict.State) })
	for i := range rows {
		rows[i].words = true
	}
	trial("TOTAL-SECONDS", func(t *record.Trial) string { return strconv.FormatFloat(t.Seconds, 'f', 4, 64) })
	trial("TOTAL-REQUEST-NUMBER", func(t *record.Trial) string { return strconv.FormatUint(t.Due, 10) })
	rate := func(name string, of func(analyze.Throughputs) record.Value) {
		add(name, func(c *summaryColumn) string {
			f := of(c.rates)
			if !f.Known {
				return ""
			}
			return strconv.FormatFloat(f.Number, 'f', 1, 64)
		})
	}
	rate("MAX-THROUGHPUT", func(r analyze.Throughputs) record.Value { return r.Max })
	rate("AVG-THROUGHPUT", func(r analyze.Throughputs) record.Value { return r.Mean })
	rate("MIN-THROUGHPUT", func(r analyze.Throughputs) record.Value { return r.Min })
	times := func(name string, of func(record.Times) measure.Figure) {
		trial(name, func(t *record.Trial) string { return summaryMS(of(t.Headline())) })
	}
	times("FASTEST-LATENCY-MS", func(t record.Times) measure.Figure { return t.Min })
	times("AVG-LATENCY-MS", func(t record.Times) measure.Figure { return t.Mean })
	times("SLOWEST-LATENCY-MS", func(t record.Times) measure.Figure { return t.Max })
	for _, p := range measure.Percentiles {
		times(fmt.Sprintf("Latency p%g", p), func(t record.Times) measure.Figure { return t.At(p) })
	}
	trial("CLIENT-TOTAL-NETWORK-RX-SUM", func(t *record.Trial) string { return strconv.FormatUint(t.BytesIn, 10) })
	trial("CLIENT-TOTAL-NETWORK-TX-SUM", func(t *record.Trial) string { return strconv.FormatUint(t.BytesOut, 10) })
	trial("CLIENT-AVG-CPU-USAGE", func(t *record.Trial) string {
		if t.Seconds <= 0 {
			return ""
		}
		return fmt.Sprintf("%.1f %%", 100*t.CPUSeconds/t.Seconds)
	})
	trial("CLIENT-MAX-MEMORY-USAGE", func(t *record.Trial) string { return strconv.FormatInt(t.MaxRSSBytes, 10) })
	trial("CLIENT-ERROR-COUNT", func(t *record.Trial) string { return strconv.FormatUint(t.Errors, 10) })
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		kind := o.String()
		seen := false
		for i := range columns {
			seen = seen || columns[i].trial.ErrorsByKind[kind] > 0
		}
		if seen {
			trial("CLIENT-ERROR-COUNT-"+strings.ToUpper(strings.ReplaceAll(kind, "_", "-")),
				func(t *record.Trial) string { return strconv.FormatUint(t.ErrorsByKind[kind], 10) })
		}
	}
	for _, name := range serverRows() {
		add(name, func(c *summaryColumn) string { return used(name, c.used) })
	}
	for i := range columns {
		if columns[i].trial.Watch != nil {
			watchRows(trial)
			break
		}
	}
	return rows
}

// summaryMS is a figure in milliseconds: empty if it is not known, and the word
// failed where it lands on a failed operation.
func summaryMS(f measure.Figure) string {
	if f.Failed {
		return "failed"
	}
	if !f.Known {
		return ""
	}
	return strconv.FormatFloat(f.NS/1e6, 'f', 4, 64)
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
