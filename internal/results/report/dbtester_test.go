package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
)

// twoStores returns a run of two stores. Each trial takes 3.5 s, and in one of these seconds, no
// operation is due. The trial of ZooKeeper has failed operations.
func twoStores(t *testing.T) *record.Run {
	t.Helper()
	w, err := record.Create(t.TempDir(), "write", noon, record.Run{Name: "write", Planned: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"etcd", "zookeeper"} {
		c := record.Conditions{Number: i + 1, Name: name + "-write", Repeat: 1, Repeats: 1, Store: name, Version: "3.5", Operation: "put",
			Members: 3, Load: scenario.Load{Clients: 100, Connections: 10, KeySize: 256, ValueSize: 1024, Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}}}
		tw, err := w.Trial(c, noon)
		if err != nil {
			t.Fatal(err)
		}
		total := &measure.Totals{Seconds: 3.5, ErrorTexts: map[kv.Outcome]string{}, Tally: measure.Tally{Counts: measure.Counts{BytesIn: 1000, BytesOut: 2000}}}
		steps := []error{tw.Begin(measure.Measured, noon)}
		tw.End(measure.Measured, noon.Add(3500*time.Millisecond))
		for second, n := range []int{1000, 0, 2000, 600} {
			cell := &measure.Cell{Series: measure.Series{Kind: kv.Put, Member: 1}, Response: measure.NewHistogram(), Service: measure.NewHistogram()}
			s := &measure.Second{Index: second, Phase: measure.Measured, Clients: 100, Tally: measure.Tally{Cells: []*measure.Cell{cell}}}
			for op := range n {
				s.Due++
				if name == "zookeeper" && second == 2 && op < 100 {
					s.Outcomes[kv.TimedOut]++
					if cell.Failed[measure.ErrorIndex(kv.TimedOut)] == nil {
						cell.Failed[measure.ErrorIndex(kv.TimedOut)] = measure.NewHistogram()
					}
					measure.Record(cell.Failed[measure.ErrorIndex(kv.TimedOut)], 10e9)
					continue
				}
				s.Outcomes[kv.OK]++
				s.Done++
				measure.Record(cell.Response, int64(1+op%40)*1e6)
				measure.Record(cell.Service, int64(1+op%40)*1e6)
			}
			total.Due, total.Done = total.Due+s.Due, total.Done+s.Done
			for o := range s.Outcomes {
				total.Outcomes[o] += s.Outcomes[o]
			}
			total.Cells = measure.MergeCells(total.Cells, s.Cells)
			steps = append(steps, tw.Second(s))
		}
		steps = append(steps, tw.Finish(record.NewTrial(c, record.Observed{Started: noon, Opened: noon, CPUSeconds: 0.7, MaxRSSBytes: 48 << 20}, total, nil, nil)))
		for _, err := range steps {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(record.Complete, "", noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// writeDbtester writes the dbtester files for a run into the folder out. It returns the printed
// summary, and a function that returns the text of a file in the folder.
func writeDbtester(t *testing.T, run *record.Run) (out, printed string, read func(names ...string) string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "out")
	var b bytes.Buffer
	if err := Dbtester(&b, run, out); err != nil {
		t.Fatal(err)
	}
	return out, b.String(), func(names ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{out}, names...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestDbtester(t *testing.T) {
	run := twoStores(t)
	out, printed, read := writeDbtester(t, run)
	golden(t, "dbtester.txt", printed)
	if read("summary.txt") != printed {
		t.Error("summary.txt differs from the printed summary")
	}
	golden(t, "dbtester-summary.csv", read("summary.csv"))
	zk := "trial-02-zookeeper-write"
	golden(t, "dbtester-timeseries.csv", read(zk, "client-latency-throughput-timeseries.csv"))
	golden(t, "dbtester-keys.csv", read(zk, "client-latency-by-key-number.csv"))
	golden(t, "dbtester-distribution.csv", read(zk, "client-latency-distribution-all.csv"))
	golden(t, "dbtester-percentile.csv", read(zk, "client-latency-distribution-percentile.csv"))

	for _, folder := range []string{"trial-01-etcd-write", zk} {
		trial := run.Trials[0]
		if folder == zk {
			trial = run.Trials[1]
		}
		for file, want := range map[string]uint64{"client-latency-distribution-all.csv": trial.Due, "client-latency-by-key-number.csv": trial.Due} {
			if got := sumCounts(t, read(folder, file)); got != want {
				t.Errorf("the counts in %s of %s add up to %d, want %d", file, folder, got, want)
			}
		}
	}
	err := Dbtester(io.Discard, run, out)
	if err == nil || !strings.Contains(err.Error(), "choose an empty or new folder") {
		t.Errorf("a folder in use: %v", err)
	}
}

// TestDbtesterLinesFit checks that the lines of the summary fit on the screen, and that the summary
// has all trials.
func TestDbtesterLinesFit(t *testing.T) {
	for _, width := range []int{8, 24} {
		rows := []summaryRow{{name: "TRIAL"}, {name: serverMemory}, {name: "SERVER-AVG-SECTORS-WRITTEN-DELTA-SUM"}}
		for i := range rows {
			for trial := range 7 {
				rows[i].cells = append(rows[i].cells, fmt.Sprintf("%0*d", width, trial))
			}
		}
		summary := summaryText(rows)
		for line := range strings.Lines(summary) {
			if n := len(strings.TrimSuffix(line, "\n")); n > text.ScreenWidth {
				t.Errorf("with cells of %d columns, a line has %d columns, want at most %d: %s", width, n, text.ScreenWidth, line)
			}
		}
		for trial := range 7 {
			if cell := fmt.Sprintf("%0*d", width, trial); strings.Count(summary, cell) != len(rows) {
				t.Errorf("the cell %s occurs %d times, want %d times, in\n%s", cell, strings.Count(summary, cell), len(rows), summary)
			}
		}
	}
}

// sumCounts adds up the columns COUNT and ERRORS.
func sumCounts(t *testing.T, text string) (sum uint64) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		for i, cell := range row {
			if rows[0][i] == "COUNT" || rows[0][i] == "ERRORS" {
				n, err := strconv.ParseUint(cell, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}

// TestDbtesterOfDamagedRecord checks that Dbtester refuses a record if the sums over its seconds do
// not match the trial's result.
func TestDbtesterOfDamagedRecord(t *testing.T) {
	run := twoStores(t)
	run.Trials[0].Operations++
	if err := Dbtester(&bytes.Buffer{}, run, filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(), "the record is damaged") {
		t.Errorf("got %v", err)
	}
}

func TestMarkdownAndCSV(t *testing.T) {
	settle.SkipUnderRace(t)
	var b bytes.Buffer
	r := quick()
	if err := Markdown(&b, Run(r, nil, "")); err != nil {
		t.Fatal(err)
	}
	golden(t, "quick.md", b.String())
	b.Reset()
	if err := CSV(&b, Trials(r, scenario.Parameters(nil))); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll() // fails if the rows have different lengths
	if err != nil || len(rows) != 1+len(r.Trials) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	seen := map[string]bool{}
	for _, name := range rows[0] {
		if name == "" || seen[name] {
			t.Errorf("the column name %q is empty or occurs twice: %v", name, rows[0])
		}
		seen[name] = true
	}
}

// TestCSVHasEveryCondition checks that a row contains every condition of its trial, so that trials
// with different conditions have different rows.
func TestCSVHasEveryCondition(t *testing.T) {
	trial := made{number: 1, name: "plain", kind: kv.Put, target: "all", perSecond: 400, p50: 2e6}.trial()
	trial.Mix = []scenario.Operation{{Kind: kv.Get, Consistency: kv.Linearizable, Weight: 3}, {Kind: kv.Put, Weight: 0.5}}
	trial.Operation, trial.Distribution = record.Mixed, scenario.Distribution{Name: scenario.Zipfian, Theta: 0.99}
	trial.STM, trial.Env = &scenario.STM{Isolation: kv.SerializableSnapshot}, map[string]string{"B": "2", "A": "1"}
	trial.Load.Watch = &scenario.Watch{Watchers: 5, Streams: 2}
	trial.Notes = []string{"=one", "two"}
	var b bytes.Buffer
	if err := CSV(&b, Trials(&record.Run{Trials: []record.Trial{trial}}, scenario.Parameters(nil))); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"operation": "mixed", "mix": "get linearizable 3, put 0.5", "distribution": "zipfian", "distribution_theta": "0.99",
		"durability_file_system": "ext4", "durability_fdatasync_p50_ns": "1203000", "durability_synced": "true", "members_share_machine": "true",
		"stm_isolation": "ss", "env": "A=1, B=2", "watchers": "5", "watching_streams": "2", "scaled_factor": "", "new_connection": "false",
		"notes": "'=one, two", "timeout_seconds": "10", "endpoints": "127.0.0.1:2379, 127.0.0.1:2381, 127.0.0.1:2383",
		"machine": "box, Xeon, 2 CPUs, 8.00 GiB, linux 6.12.0 amd64; shared by load generator and members",
	}
	for i, name := range rows[0] {
		if text, ok := want[name]; ok && rows[1][i] != text {
			t.Errorf("%s is %q, not %q", name, rows[1][i], text)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("the columns %v are missing from %v", want, rows[0])
	}
}
