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
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Dbtester writes the output files of dbtester for a run into the folder out: CSV files for each
// trial, and a summary of all trials as CSV and as text. It also writes the text to w. Latencies
// are in milliseconds. They are service times in a closed loop and response times in an open loop.
func Dbtester(w io.Writer, run *record.Run, out string) error {
	if err := CreateEmptyFolder(out); err != nil {
		return err
	}
	var trials []*analyze.Dbtester
	for _, t := range analyze.TrialsInOrder(run) {
		if !analyze.HasFigures(t) {
			continue
		}
		d, err := analyze.DbtesterOf(t)
		if err != nil {
			return err
		}
		if err := dbtesterFiles(d, filepath.Join(out, t.Folder)); err != nil {
			return err
		}
		d.Seconds, d.Bins, d.Keys = nil, nil, analyze.KeyTable{} // free this data, which is large for a long run
		d.ServerUse.Processes, d.ServerUse.ByKey = nil, nil
		trials = append(trials, d)
	}
	if len(trials) == 0 {
		return errors.New("no trial of the run has figures, so there is nothing to write")
	}
	rows := summaryRows(trials)
	if err := writeRows(out, "summary.csv", plainRows(rows)); err != nil {
		return err
	}
	text := summaryText(rows)
	put := func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	if _, err := WriteFile(out, "summary.txt", put); err != nil {
		return err
	}
	return put(w)
}

// CreateEmptyFolder creates a folder for output. It returns an error if the folder exists and is
// not empty.
func CreateEmptyFolder(out string) error {
	entries, err := os.ReadDir(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("cannot create the folder %s: %w", out, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot use the folder %s: %w", out, err)
	case len(entries) > 0:
		return fmt.Errorf("cannot write into %s: it contains %s; choose an empty or new folder", out, entries[0].Name())
	}
	return nil
}

// WriteFile writes a text file of a report into a folder and returns the path of the file. It
// escapes unprintable characters.
func WriteFile(folder, name string, fill func(io.Writer) error) (string, error) {
	return WriteBinary(folder, name, func(w io.Writer) error {
		words := text.NewWriter(w)
		if err := fill(words); err != nil {
			return err
		}
		return words.Flush()
	})
}

// WriteBinary writes a binary file of a report into a folder and returns the path of the file.
func WriteBinary(folder, name string, fill func(io.Writer) error) (string, error) {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	_ = os.Remove(path) // removes an older report, or a link or pipe, so that nothing is written to its target
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.Write(b.Bytes())
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("cannot write %s: %w", path, err)
	}
	return path, nil
}

func writeRows(folder, name string, rows [][]string) error {
	_, err := WriteFile(folder, name, func(w io.Writer) error { return writeCSV(w, rows) })
	return err
}

// dbtesterFiles writes the files of one trial.
func dbtesterFiles(d *analyze.Dbtester, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot create the folder %s: %w", folder, err)
	}
	for name, rows := range serverFiles(d) {
		if err := writeRows(folder, name, rows); err != nil {
			return err
		}
	}
	for name, rows := range map[string][][]string{
		"client-latency-throughput-timeseries.csv":   secondRows(d.Seconds),
		"client-latency-distribution-all.csv":        binRows(d.Bins, d.Failed),
		"client-latency-distribution-percentile.csv": percentileRows(d.Trial),
		"client-latency-distribution-summary.csv":    plainRows(summaryRows([]*analyze.Dbtester{d})),
		"client-latency-by-key-number.csv":           keyRows(d.Keys),
	} {
		if err := writeRows(folder, name, rows); err != nil {
			return err
		}
	}
	return nil
}

// secondRows returns the rows of the time series. A cell is empty if no value was recorded for it.
// The mean and the maximum are also empty if an operation in that second failed.
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

// cellMS formats a time in milliseconds, or returns an empty string if it is not known.
func cellMS(v figures.Value) string {
	if !v.Known {
		return ""
	}
	return text.Milliseconds(v.Number, 6)
}

func binRows(bins []analyze.Bin, failed uint64) [][]string {
	rows := [][]string{{"LATENCY-MS", "LATENCY-MS-BELOW", "COUNT"}}
	for _, b := range bins {
		rows = append(rows, []string{strconv.FormatInt(b.From.Milliseconds(), 10), strconv.FormatInt(b.To.Milliseconds(), 10), strconv.FormatUint(b.Count, 10)})
	}
	return append(rows, []string{"failed", "", strconv.FormatUint(failed, 10)})
}

// percentiles returns the figures for all percentiles of the time that tables show: the response
// time in an open loop, and the service time in a closed loop.
func percentiles() []figures.Figure {
	return slices.DeleteFunc(figures.DistributionFigures(""), func(f figures.Figure) bool { return !strings.HasPrefix(f.Name, "p") })
}

func percentileRows(t *record.Trial) [][]string {
	rows := [][]string{{"LATENCY-PERCENTILE", "LATENCY-MS"}}
	for _, f := range percentiles() {
		rows = append(rows, []string{f.Name, summaryCell(f.Value(t), 4)})
	}
	return rows
}

// keysHead returns the heading of the column with the numbers of keys. If the table's buckets are
// larger than the default, the heading includes their size.
func keysHead(table analyze.KeyTable) string {
	if table.Bucket == analyze.KeyBucket {
		return "KEYS"
	}
	return "KEYS-IN-BUCKETS-OF-" + strconv.FormatUint(table.Bucket, 10)
}

func keyRows(table analyze.KeyTable) [][]string {
	rows := [][]string{{keysHead(table), "MIN-LATENCY-MS", "AVG-LATENCY-MS", "MAX-LATENCY-MS", "COUNT", "ERRORS"}}
	for _, r := range table.Rows {
		times := []string{"", "", ""}
		if r.Count > 0 {
			times = []string{text.Milliseconds(r.Min, 6), text.Milliseconds(r.Mean, 6), text.Milliseconds(r.Max, 6)}
		}
		rows = append(rows, append(append([]string{strconv.FormatUint(r.Keys, 10)}, times...), strconv.FormatUint(r.Count, 10), strconv.FormatUint(r.Errors, 10)))
	}
	return rows
}

// summaryRow is a row of the summary. It has one cell per trial.
type summaryRow struct {
	name  string
	cells []string
	words bool
}

// Names of rows with figures of the members' processes.
const (
	serverCPU    = "SERVER-MAX-CPU-USAGE"
	serverMemory = "SERVER-MAX-MEMORY-USAGE"
)

// summary shows trials side by side: one column per trial, one row per figure.
type summary struct {
	trials []*analyze.Dbtester
	rows   []summaryRow
}

func (s *summary) add(name string, words bool, describe func(*analyze.Dbtester) string) {
	r := summaryRow{name: name, words: words}
	for _, t := range s.trials {
		r.cells = append(r.cells, describe(t))
	}
	s.rows = append(s.rows, r)
}

func (s *summary) value(name string, decimals int, read func(*analyze.Dbtester) figures.Value) {
	s.add(name, false, func(t *analyze.Dbtester) string { return summaryCell(read(t), decimals) })
}

func (s *summary) figure(name, figure string, decimals int) {
	f := figures.Registered(figure)
	s.value(name, decimals, func(t *analyze.Dbtester) figures.Value { return f.Value(t.Trial) })
}

func (s *summary) percent(name string, value func(*analyze.Dbtester) figures.Value) {
	s.add(name, false, func(t *analyze.Dbtester) string {
		if v := value(t); v.Known {
			return text.Percent(v.Number, 1)
		}
		return ""
	})
}

func (s *summary) anyTrial(has func(*analyze.Dbtester) bool) bool {
	return slices.ContainsFunc(s.trials, has)
}

// summaryRows returns all rows of the summary.
func summaryRows(trials []*analyze.Dbtester) []summaryRow {
	s := &summary{trials: trials}
	s.addClients()
	s.addServers()
	if s.anyTrial(func(t *analyze.Dbtester) bool { return t.Trial.Watch != nil }) { // dbtester has no watch events
		s.figure("WATCH-EVENTS-PER-SECOND", "watch-events", 1)
		s.figure("WATCH-LATENCY-MS-P50", "watch-p50", 4)
		s.figure("WATCH-LATENCY-MS-P99", "watch-p99", 4)
		s.figure("WATCH-SLOWEST-LATENCY-MS", "watch-max", 4)
		s.figure("WATCH-LOST-EVENTS", "watch-lost", 0)
		s.figure("WATCH-DUPLICATED-EVENTS", "watch-duplicated", 0)
		s.figure("WATCH-REORDERED-EVENTS", "watch-reordered", 0)
	}
	return s.rows
}

// addClients adds the rows that describe the trials, and the figures of the clients.
func (s *summary) addClients() {
	s.add("TRIAL", true, func(t *analyze.Dbtester) string { return analyze.Label(t.Trial) })
	s.add("DATABASE", true, func(t *analyze.Dbtester) string { return analyze.Store(t.Trial) })
	s.add("VERDICT", true, func(t *analyze.Dbtester) string { return string(t.Trial.Verdict.State) })
	s.figure("TOTAL-SECONDS", "seconds", 4)
	s.figure("TOTAL-REQUEST-NUMBER", "due", 0)
	s.value("MAX-THROUGHPUT", 1, func(t *analyze.Dbtester) figures.Value { return t.Rates.Max })
	s.value("AVG-THROUGHPUT", 1, func(t *analyze.Dbtester) figures.Value { return t.Rates.Mean })
	s.value("MIN-THROUGHPUT", 1, func(t *analyze.Dbtester) figures.Value { return t.Rates.Min })
	s.figure("FASTEST-LATENCY-MS", "min", 4)
	s.figure("AVG-LATENCY-MS", "mean", 4)
	s.figure("SLOWEST-LATENCY-MS", "max", 4)
	for _, f := range percentiles() {
		s.figure("Latency "+f.Name, f.Name, 4)
	}
	s.figure("CLIENT-TOTAL-NETWORK-RX-SUM", "bytes-in", 0)
	s.figure("CLIENT-TOTAL-NETWORK-TX-SUM", "bytes-out", 0)
	s.percent("CLIENT-AVG-CPU-USAGE", func(t *analyze.Dbtester) figures.Value { return t.ClientCPU })
	s.figure("CLIENT-MAX-MEMORY-USAGE", "rss", 0)
	s.figure("CLIENT-ERROR-COUNT", "errors", 0)
	for _, f := range figures.All() {
		kind, ok := strings.CutPrefix(f.Name, "errors-")
		if ok && s.anyTrial(func(t *analyze.Dbtester) bool { return f.Value(t.Trial).Number > 0 }) {
			s.figure("CLIENT-ERROR-COUNT-"+strings.ToUpper(kind), f.Name, 0)
		}
	}
}

// addServers adds the rows with the figures of the members' processes and machines.
func (s *summary) addServers() {
	server := func(name string, value func(*analyze.Servers) figures.Value) {
		s.value("SERVER-"+name, 0, func(t *analyze.Dbtester) figures.Value { return value(&t.ServerUse) })
	}
	server("TOTAL-NETWORK-RX-DATA-SUM", func(s *analyze.Servers) figures.Value { return s.Received })
	server("TOTAL-NETWORK-TX-DATA-SUM", func(s *analyze.Servers) figures.Value { return s.Sent })
	s.percent(serverCPU, func(t *analyze.Dbtester) figures.Value { return t.ServerUse.CPU })
	s.value(serverMemory, 0, func(t *analyze.Dbtester) figures.Value { return t.ServerUse.RSS })
	server("AVG-READS-COMPLETED-DELTA-SUM", func(s *analyze.Servers) figures.Value { return s.Reads })
	server("AVG-SECTORS-READS-DELTA-SUM", func(s *analyze.Servers) figures.Value { return s.ReadSectors })
	server("AVG-WRITES-COMPLETED-DELTA-SUM", func(s *analyze.Servers) figures.Value { return s.Writes })
	server("AVG-SECTORS-WRITTEN-DELTA-SUM", func(s *analyze.Servers) figures.Value { return s.WrittenSectors })
	server("AVG-DISK-SPACE-USAGE", func(s *analyze.Servers) figures.Value { return s.DiskSpace })
}

// summaryCell formats a figure, with times in milliseconds. It returns an empty string if the
// figure is not known, and "failed" if the figure is the time of a failed operation.
func summaryCell(v figures.Value, decimals int) string {
	_, isTime := v.Unit.Time()
	switch {
	case v.Failed:
		return "failed"
	case !v.Known:
		return ""
	case isTime:
		return text.Milliseconds(v.Number, decimals)
	}
	return strconv.FormatFloat(v.Number, 'f', decimals, 64)
}

// plainRows returns the rows for CSV. The first column contains the names of the rows.
func plainRows(rows []summaryRow) [][]string {
	all := make([][]string, 0, len(rows))
	for _, r := range rows {
		line := append([]string{r.name}, r.cells...)
		for i := range line {
			if r.words {
				line[i] = text.Cell(line[i])
			}
		}
		all = append(all, line)
	}
	return all
}

// summaryText formats the summary as several tables. Each table contains only a few trials, so that
// lines are at most text.ScreenWidth columns wide. A table with a single trial may be wider.
func summaryText(rows []summaryRow) string {
	var parts []string
	for from, to := 0, 0; from < len(rows[0].cells); from = to {
		to = min(from+5, len(rows[0].cells))
		table := summaryTable(rows, from, to)
		for to > from+1 && isWide(table) {
			to--
			table = summaryTable(rows, from, to)
		}
		parts = append(parts, table)
	}
	servers := "The resource use of the servers is not known."
	if slices.ContainsFunc(rows, func(r summaryRow) bool { return r.name == serverMemory && strings.Join(r.cells, "") != "" }) {
		servers = "CPU and memory use are the highest sums over the processes of all members in one second. " +
			"Bytes on connections are sums over all members. Reads, writes and sectors are means over all disks of the members' machines. " +
			"Disk space is the mean size of a member's data folder at the end."
	}
	var notes []string
	for _, note := range []string{
		"Latencies are service times in a closed loop and response times in an open loop, in milliseconds. They include every operation that was due.",
		"Throughputs are operations per second, counted in whole seconds. A dash means unknown, or too few samples.",
		servers,
	} {
		notes = append(notes, text.Wrap(note, text.ScreenWidth, 0)...)
	}
	return strings.Join(append(parts, strings.Join(notes, "\n")+"\n"), "\n")
}

// summaryTable formats a part of the summary: the trials [from, to).
func summaryTable(rows []summaryRow, from, to int) string {
	t := Table{Columns: make([]analyze.Column, 1+len(rows[0].cells[from:to]))}
	t.Columns[0].LeftAligned = true
	for _, r := range rows {
		cells := []string{r.name}
		for _, words := range r.cells[from:to] {
			cells = append(cells, text.OrDash(words))
		}
		t.add(cells...)
	}
	return t.aligned(t.Rows)
}

// isWide reports whether a line of a table is wider than the screen.
func isWide(table string) bool {
	return slices.ContainsFunc(strings.Split(table, "\n"), func(line string) bool { return utf8.RuneCountInString(line) > text.ScreenWidth })
}
