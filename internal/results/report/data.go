package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// CSV writes a row for each trial and repeat, in the scenario's order, with the
// names of the trial's JSON object. What is not known, or lands on a failed
// operation, is empty.
func CSV(w io.Writer, run *record.Run) error {
	var rows [][]string
	for _, t := range analyze.InOrder(run) {
		var head, row []string
		add := func(name, text string) { head, row = append(head, name), append(row, text) }
		trialCells(t, add)
		if rows == nil {
			rows = append(rows, head)
		}
		rows = append(rows, row)
	}
	return writeCSV(w, rows)
}

// trialCells hands over a trial's columns; which they are does not depend on
// the trial.
func trialCells(t *record.Trial, add func(name, text string)) {
	u := func(n uint64) string { return strconv.FormatUint(n, 10) }
	f := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	word := func(name, text string) { add(name, printable.Cell(text)) }
	add("number", strconv.Itoa(t.Number))
	word("name", t.Name)
	add("repeat", strconv.Itoa(t.Repeat))
	word("state", string(t.State))
	word("store", t.Store)
	word("version", t.Version)
	add("members", strconv.Itoa(t.Members))
	word("operation", t.Operation)
	word("consistency", t.Consistency)
	word("target", t.Target.String())
	add("connections", strconv.Itoa(t.Connections))
	add("clients", strconv.Itoa(t.Clients))
	word("arrival", t.Arrival.String())
	add("rate", orEmptyCell(t.Rate))
	add("key_size", strconv.Itoa(t.KeySize))
	add("value_size", strconv.Itoa(t.ValueSize))
	add("key_space", u(t.KeySpace))
	add("seconds", f(t.Seconds))
	add("due", u(t.Due))
	add("operations", u(t.Operations))
	add("errors", u(t.Errors))
	add("conflicts", u(t.Conflicts))
	add("misses", u(t.Misses))
	add("stale", u(t.Stale))
	add("unverifiable", u(t.Unverifiable))
	read := ""
	if t.KeysRead != nil {
		read = u(*t.KeysRead)
	}
	add("keys_read", read)
	add("operations_per_second", f(t.PerSecond))
	add("longest_gap_seconds", f(t.LongestGap))
	for _, d := range []struct {
		name  string
		times record.Times
	}{{"response_time", t.ResponseTime}, {"service_time", t.ServiceTime}} {
		add(d.name+"_min_ns", cellNS(d.times.Min))
		add(d.name+"_mean_ns", cellNS(d.times.Mean))
		add(d.name+"_stddev_ns", cellNS(d.times.Stddev))
		for _, p := range measure.Percentiles {
			add(fmt.Sprintf("%s_p%s_ns", d.name, strings.ReplaceAll(f(p), ".", "_")), cellNS(d.times.At(p)))
		}
		add(d.name+"_max_ns", cellNS(d.times.Max))
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		add("errors_"+o.String(), u(t.ErrorsByKind[o.String()]))
	}
	add("client_cpu_ns_per_operation", orEmptyCell(t.CPUPerOp))
	add("client_max_rss_bytes", strconv.FormatInt(t.MaxRSSBytes, 10))
	add("store_cpu_ns_per_operation", orEmptyCell(t.StoreCPUPerOp))
	rss := ""
	if t.StoreMaxRSSBytes != nil {
		rss = strconv.FormatInt(*t.StoreMaxRSSBytes, 10)
	}
	add("store_max_rss_bytes", rss)
	add("bytes_in", u(t.BytesIn))
	add("bytes_out", u(t.BytesOut))
	word("verdict", string(t.Verdict.State))
	reasons := make([]string, 0, len(t.Verdict.Reasons))
	for _, r := range t.Verdict.Reasons {
		reasons = append(reasons, r.String())
	}
	word("reasons", strings.Join(reasons, "; "))
	word("machine", machine(t))
	word("tool_version", t.Tool)
	add("seed", u(t.Seed))
	add("started", t.Started.UTC().Format(time.RFC3339Nano))
	watchCells(t, add)
}

// cellNS is a figure in nanoseconds, or empty.
func cellNS(f measure.Figure) string {
	if !f.Known {
		return ""
	}
	return strconv.FormatFloat(f.NS, 'f', 0, 64)
}

func writeCSV(w io.Writer, rows [][]string) error {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
