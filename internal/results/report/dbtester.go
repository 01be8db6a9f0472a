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
	var trials []*analyze.Dbtester
	for _, t := range analyze.InOrder(run) {
		if !analyze.Measured(t) {
			continue
		}
		d, err := analyze.DbtesterOf(dir, t)
		if err != nil {
			return err
		}
		if err := dbtesterFiles(d, filepath.Join(out, t.Folder)); err != nil {
			return err
		}
		d.Seconds, d.Bins, d.Keys = nil, nil, analyze.KeyTable{} // of a long run they are large
		trials = append(trials, d)
	}
	if len(trials) == 0 {
		return errors.New("no trial of the run has figures, so there is nothing to write")
	}
	rows := summaryRows(trials)
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

// dbtesterFiles writes one trial's files.
func dbtesterFiles(d *analyze.Dbtester, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("the folder %s cannot be made: %w", folder, err)
	}
	for name, rows := range map[string][][]string{
		"client-latency-throughput-timeseries.csv":   secondRows(d.Seconds),
		"client-latency-distribution-all.csv":        binRows(d.Bins, d.Failed),
		"client-latency-distribution-percentile.csv": percentileRows(d.Trial),
		"client-latency-distribution-summary.csv":    plainRows(summaryRows([]*analyze.Dbtester{d})),
		"client-latency-by-key-number.csv":           keyRows(d.Keys),
	} {
		if err := writeFile(folder, name, func(w io.Writer) error { return writeCSV(w, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// secondRows are the time series. What is not recorded is empty, and so is a
// mean or a maximum that an error takes part in.
func secondRows(seconds []analyze.DbtesterSecond) [][]string {
	rows := [][]string{{"UNIX-SECOND", "CONTROL-CLIENT-NUM", "MIN-LATENCY-MS", "AVG-LATENCY-MS", "MAX-LATENCY-MS", "AVG-THROUGHPUT",
		"ERRORS", "SUCCESS-AVG-LATENCY-MS", "SUCCESS-MAX-LATENCY-MS"}}
	for _, s := range seconds {
		row := []string{strconv.FormatInt(s.Unix, 10), "", "", "", "", "", "", "", ""}
		if !s.Missing {
			if s.Clients > 0 {
				row[1] = strconv.Itoa(s.Clients)
			}
			row[2], row[3], row[4] = cellMS(s.Min), cellMS(s.Mean), cellMS(s.Max)
			row[5] = summaryCell(s.PerSecond, 1)
			row[6] = strconv.FormatUint(s.Errors, 10)
			row[7], row[8] = cellMS(s.SuccessMean), cellMS(s.SuccessMax)
		}
		rows = append(rows, row)
	}
	return rows
}

// cellMS is a time in milliseconds, or empty.
func cellMS(v record.Value) string {
	if !v.Known {
		return ""
	}
	return readable.Milliseconds(v.Number, 6)
}

func binRows(bins []analyze.Bin, failed uint64) [][]string {
	rows := [][]string{{"LATENCY-MS", "LATENCY-MS-BELOW", "COUNT"}}
	for _, b := range bins {
		rows = append(rows, []string{strconv.FormatInt(b.From.Milliseconds(), 10), strconv.FormatInt(b.To.Milliseconds(), 10), strconv.FormatUint(b.Count, 10)})
	}
	return append(rows, []string{"failed", "", strconv.FormatUint(failed, 10)})
}

// percentiles are those of the loop's own time.
func percentiles() []record.Figure {
	return slices.DeleteFunc(record.Points(""), func(f record.Figure) bool { return !strings.HasPrefix(f.Name, "p") })
}

func percentileRows(t *record.Trial) [][]string {
	rows := [][]string{{"LATENCY-PERCENTILE", "LATENCY-MS"}}
	for _, f := range percentiles() {
		rows = append(rows, []string{f.Name, summaryCell(f.Of(t), 4)})
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
		times := []string{"", "", ""}
		if r.Count > 0 {
			times = []string{readable.Milliseconds(r.Min, 6), readable.Milliseconds(r.Mean, 6), readable.Milliseconds(r.Max, 6)}
		}
		rows = append(rows, append(append([]string{strconv.FormatUint(r.Keys, 10)}, times...), strconv.FormatUint(r.Count, 10), strconv.FormatUint(r.Errors, 10)))
	}
	return rows
}
