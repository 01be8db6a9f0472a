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
	add("number", strconv.Itoa(t.Number))
	add("name", t.Name)
	add("repeat", strconv.Itoa(t.Repeat))
	add("state", string(t.State))
	add("store", t.Store)
	add("version", t.Version)
	add("members", strconv.Itoa(t.Members))
	add("operation", t.Operation)
	add("consistency", t.Consistency)
	add("target", t.Target)
	add("connections", strconv.Itoa(t.Connections))
	add("clients", strconv.Itoa(t.Clients))
	add("arrival", t.Arrival)
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
	add("verdict", string(t.Verdict.State))
	reasons := make([]string, 0, len(t.Verdict.Reasons))
	for _, r := range t.Verdict.Reasons {
		reasons = append(reasons, r.String())
	}
	add("reasons", strings.Join(reasons, "; "))
	add("machine", machine(t))
	add("tool_version", t.Tool)
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

// Markdown writes the run as Text does, its tables as Markdown's.
func Markdown(w io.Writer, run *record.Run) error {
	var b bytes.Buffer
	all := groups(run)
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", run.Name, progress(run))
	if run.Failure != "" {
		fmt.Fprintf(&b, "%s\n\n", run.Failure)
	}
	if len(all) > 0 {
		var facts bytes.Buffer
		if err := conditions(&facts, run, all); err != nil {
			return err
		}
		b.WriteString("```\n" + facts.String() + "```\n")
		put := func(head string, g *grid) error {
			fmt.Fprintf(&b, "\n## %s\n\n", head)
			err := g.markdown(&b)
			if g.note != "" {
				lines := strings.Split(strings.TrimSuffix(g.note, "\n"), "\n")
				b.WriteString("\n" + strings.Join(lines, "\n\n") + "\n") // a paragraph each
			}
			return err
		}
		if err := eachTable(all, put); err != nil {
			return err
		}
		var late bytes.Buffer
		lateness(&late, all)
		if late.Len() > 0 {
			b.WriteString("\n```\n" + late.String() + "```\n")
		}
		if err := watchTable(all, put); err != nil {
			return err
		}
		var events bytes.Buffer
		happened(&events, run.Trials)
		if head, lines, ok := strings.Cut(strings.TrimLeft(events.String(), "\n"), "\n"); ok {
			b.WriteString("\n## " + head + "\n\n```\n" + lines + "```\n")
		}
		var lost bytes.Buffer
		lostConnections(&lost, run.Trials)
		if head, lines, ok := strings.Cut(strings.TrimLeft(lost.String(), "\n"), "\n"); ok {
			b.WriteString("\n## " + head + "\n\n```\n" + lines + "```\n")
		}
		var why bytes.Buffer
		reasons(&why, run)
		b.WriteString(markdownLists(why.String()))
	}
	if len(run.Problems) > 0 {
		var problems bytes.Buffer
		list(&problems, "Problems of the record", run.Problems)
		b.WriteString(markdownLists(problems.String()))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdownLists makes headings of the lines between lists.
func markdownLists(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, " ") {
			line = "## " + line + "\n"
		}
		b.WriteString(strings.TrimLeft(line, " ") + "\n")
	}
	return b.String()
}

// markdown writes the grid as a table of Markdown.
func (g *grid) markdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			c = strings.NewReplacer("|", `\|`, "\n", " ").Replace(strings.TrimSpace(c))
			b.WriteString("| " + c + " ")
		}
		b.WriteString("|\n")
	}
	head, rule := make([]string, 0, len(g.columns)), make([]string, 0, len(g.columns))
	for _, c := range g.columns {
		head = append(head, c.title)
		if c.left {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	line(head)
	line(rule)
	for _, row := range g.rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
