package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Dbtester writes the client's side of dbtester's outputs of the run in dir
// into the folder out: a set of CSV files for each trial, and the summary of
// all side by side as CSV and text, which it also writes to w. Latencies are
// milliseconds: service times in a closed loop, response times in an open one.
func Dbtester(w io.Writer, run *record.Run, dir, out string) error {
	if err := EmptyFolder(out); err != nil {
		return err
	}
	var columns []summaryColumn
	for _, t := range analyze.InOrder(run) {
		if !analyze.Measured(t) {
			continue
		}
		c, err := dbtesterTrial(t, dir, out)
		if err != nil {
			return err
		}
		columns = append(columns, c)
	}
	if len(columns) == 0 {
		return errors.New("no trial of the run has figures, so there is nothing to write")
	}
	rows := summaryRows(columns)
	if err := writeFile(out, "summary.csv", func(w io.Writer) error { return writeCSV(w, plainRows(rows)) }); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := summaryText(&text, rows); err != nil {
		return err
	}
	if err := writeFile(out, "summary.txt", func(w io.Writer) error { _, err := w.Write(text.Bytes()); return err }); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

// EmptyFolder makes a folder for output, which must be empty or absent.
func EmptyFolder(out string) error {
	entries, err := os.ReadDir(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("the folder %s cannot be made: %w", out, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("the folder %s cannot be used: %w", out, err)
	case len(entries) > 0:
		return fmt.Errorf("cannot write into %s: it holds %s; choose a folder that is empty or not there yet", out, entries[0].Name())
	}
	return nil
}

// WriteFile writes a file of a report into a folder, printable, and returns its
// path.
func WriteFile(folder, name string, fill func(io.Writer) error) (string, error) {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, printable.Bytes(b.Bytes()), 0o644); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", path, err)
	}
	return path, nil
}

func writeFile(folder, name string, fill func(io.Writer) error) error {
	_, err := WriteFile(folder, name, fill)
	return err
}

// dbtesterTrial writes one trial's files.
func dbtesterTrial(t *record.Trial, dir, out string) (summaryColumn, error) {
	column := summaryColumn{trial: t}
	keys := &analyze.Keys{}
	whole := measure.NewHistogram()
	failed := uint64(0)
	series := [][]string{{"UNIX-SECOND", "CONTROL-CLIENT-NUM", "MIN-LATENCY-MS", "AVG-LATENCY-MS", "MAX-LATENCY-MS", "AVG-THROUGHPUT",
		"ERRORS", "SUCCESS-AVG-LATENCY-MS", "SUCCESS-MAX-LATENCY-MS"}}
	err := analyze.EachSecond(dir, t, func(s *analyze.Second) error {
		keys.Add(s)
		column.rates.Add(s)
		whole = measure.Add(whole, s.Times)
		failed += s.Errors
		series = append(series, secondRow(s))
		return nil
	})
	if err != nil {
		return column, err
	}
	if column.used, err = analyze.ServersOf(dir, t); err != nil {
		return column, err
	}
	if got := uint64(whole.TotalCount()); t.State == record.Complete && (got != t.Operations || failed != t.Errors) {
		return column, fmt.Errorf("the seconds of %s hold %d operations and %d errors, and its result %d and %d; the record is damaged", t.Folder, got, failed, t.Operations, t.Errors)
	}
	folder := filepath.Join(out, t.Folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return column, fmt.Errorf("the folder %s cannot be made: %w", folder, err)
	}
	for name, rows := range map[string][][]string{
		"client-latency-throughput-timeseries.csv":   series,
		"client-latency-distribution-all.csv":        binRows(whole, failed),
		"client-latency-distribution-percentile.csv": percentileRows(t),
		"client-latency-distribution-summary.csv":    plainRows(summaryRows([]summaryColumn{column})),
		"client-latency-by-key-number.csv":           keyRows(keys.Table()),
	} {
		if err := writeFile(folder, name, func(w io.Writer) error { return writeCSV(w, rows) }); err != nil {
			return column, err
		}
	}
	return column, nil
}

// secondRow is a second of the time series. What is not recorded is empty, and
// so is a mean or a maximum that an error takes part in.
func secondRow(s *analyze.Second) []string {
	row := []string{strconv.FormatInt(s.Time.Unix(), 10), "", "", "", "", "", "", "", ""}
	if s.Missing {
		return row
	}
	if s.Clients > 0 {
		row[1] = strconv.Itoa(s.Clients)
	}
	all, succeeded := s.Summary(), measure.Summarize(s.Times, 0)
	row[2], row[3], row[4] = cellMS(all.Min), cellMS(all.Mean), cellMS(all.Max)
	if rate, ok := s.PerSecond(); ok {
		row[5] = strconv.FormatFloat(rate, 'f', 1, 64)
	}
	row[6] = strconv.FormatUint(s.Errors, 10)
	row[7], row[8] = cellMS(succeeded.Mean), cellMS(succeeded.Max)
	return row
}

// cellMS is a figure in milliseconds, or empty.
func cellMS(f measure.Figure) string {
	if !f.Known {
		return ""
	}
	return strconv.FormatFloat(f.NS/1e6, 'f', 6, 64)
}

func binRows(whole *measure.Histogram, failed uint64) [][]string {
	bins := analyze.Bins(whole)
	rows := [][]string{{"LATENCY-MS", "LATENCY-MS-BELOW", "COUNT"}}
	for _, b := range bins {
		rows = append(rows, []string{strconv.FormatInt(b.From.Milliseconds(), 10), strconv.FormatInt(b.To.Milliseconds(), 10), strconv.FormatUint(b.Count, 10)})
	}
	return append(rows, []string{"failed", "", strconv.FormatUint(failed, 10)})
}

func percentileRows(t *record.Trial) [][]string {
	rows := [][]string{{"LATENCY-PERCENTILE", "LATENCY-MS"}}
	for _, p := range measure.Percentiles {
		rows = append(rows, []string{fmt.Sprintf("p%g", p), summaryMS(t.Headline().At(p))})
	}
	return rows
}

// keyRows names the bucket in the head of its first column when it has grown.
func keyRows(table analyze.KeyTable) [][]string {
	head := "KEYS"
	if table.Bucket != analyze.KeyBucket {
		head += "-IN-BUCKETS-OF-" + strconv.FormatUint(table.Bucket, 10)
	}
	rows := [][]string{{head, "MIN-LATENCY-MS", "AVG-LATENCY-MS", "MAX-LATENCY-MS", "COUNT", "ERRORS"}}
	for _, r := range table.Rows {
		of := func(ns float64) string { return cellMS(measure.Figure{NS: ns, Known: r.Count > 0}) }
		rows = append(rows, []string{strconv.FormatUint(r.Keys, 10), of(r.Min), of(r.Mean), of(r.Max),
			strconv.FormatUint(r.Count, 10), strconv.FormatUint(r.Errors, 10)})
	}
	return rows
}

// summaryText writes the summary as tables of a few trials each, so that lines
// stay readable.
func summaryText(w io.Writer, rows []summaryRow) error {
	const across = 5
	for from := 0; from < len(rows[0].cells); from += across {
		to := min(from+across, len(rows[0].cells))
		g := grid{columns: []column{{"", true}}}
		for range to - from {
			g.columns = append(g.columns, column{})
		}
		for _, r := range rows {
			cells := []string{r.name}
			for _, c := range r.cells[from:to] {
				cells = append(cells, readable.OrDash(c))
			}
			g.add(cells...)
		}
		if from > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := g.writeRows(w); err != nil {
			return err
		}
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
