package report

import (
	"bytes"
	"encoding/csv"
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
)

// twoStores records a run of two stores: etcd over three seconds and a bit with an
// idle second, and zookeeper with failures.
func twoStores(t *testing.T) (*record.Run, string) {
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
		total := &measure.Totals{Seconds: 3.5, ErrorTexts: map[kv.Outcome]string{}, BytesIn: 1000, BytesOut: 2000}
		steps := []error{tw.Begin(measure.Measured, noon)}
		tw.End(measure.Measured, noon.Add(3500*time.Millisecond))
		for second, n := range []int{1000, 0, 2000, 600} {
			cell := &measure.Cell{Series: measure.Series{Kind: kv.Put, Member: 1}, Response: measure.NewHistogram(), Service: measure.NewHistogram()}
			s := &measure.Second{Index: second, Phase: measure.Measured, Clients: 100, Cells: []*measure.Cell{cell}}
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
	return run, w.Dir()
}

func TestDbtester(t *testing.T) {
	run, dir := twoStores(t)
	out := filepath.Join(t.TempDir(), "out")
	var b bytes.Buffer
	if err := Dbtester(&b, run, dir, out); err != nil {
		t.Fatal(err)
	}
	golden(t, "dbtester.txt", b.String())
	read := func(names ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{out}, names...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read("summary.txt") != b.String() {
		t.Error("summary.txt is not what is printed")
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
				t.Errorf("%s of %s sums to %d of %d due", file, folder, got, want)
			}
		}
	}
	err := Dbtester(&b, run, dir, out)
	if err == nil || !strings.Contains(err.Error(), "choose a folder that is empty") {
		t.Errorf("a folder in use: %v", err)
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

// A record whose seconds are not its result is refused.
func TestDbtesterOfDamagedRecord(t *testing.T) {
	run, dir := twoStores(t)
	run.Trials[0].Operations++
	if err := Dbtester(&bytes.Buffer{}, run, dir, filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(), "the record is damaged") {
		t.Errorf("got %v", err)
	}
}

func TestMarkdownAndCSV(t *testing.T) {
	var b bytes.Buffer
	r := quick()
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "quick.md", b.String())
	b.Reset()
	if err := CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll() // which refuses rows of different lengths
	if err != nil || len(rows) != 1+len(r.Trials) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
