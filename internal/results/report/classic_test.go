package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// classicTrial returns a closed loop with a window of two seconds and the given numbers of reads
// and writes. The operations take 1 ms, 2 ms and so on. The parameter `timeouts` is the number of
// writes that time out.
func classicTrial(reads, writes, timeouts int) (*record.Trial, *record.Files) {
	opened := time.Unix(1_700_000_000, 0).UTC()
	t := &record.Trial{State: record.Complete, Opened: &opened, Seconds: 2, Counts: record.Counts{ErrorTexts: map[string]string{"timeout": "no response within 1s"}}}
	files := &record.Files{}
	add := func(tag record.Tag, second, n int) {
		h := measure.NewHistogram()
		for i := range n {
			_ = h.RecordValue(int64(i+1) * 1e6)
		}
		files.Intervals = append(files.Intervals, record.Interval{Tag: tag, Start: opened.Add(time.Duration(second) * time.Second), Steps: measure.NonEmptySteps(h)})
	}
	for second := range 2 {
		for kind, n := range map[kv.Kind]int{kv.Get: reads / 2, kv.Put: writes / 2} {
			series := measure.Series{Kind: kind}
			add(record.Tag{Phase: measure.Measured, Time: record.Service, Series: series}, second, n)
			add(record.Tag{Phase: measure.Measured, Time: record.Response, Series: series}, second, n)
			add(record.Tag{Phase: measure.Warmup, Time: record.Service, Series: series}, second, n)
		}
	}
	add(record.Tag{Phase: measure.Measured, Time: record.ErrorTime, Series: measure.Series{Kind: kv.Put}, Error: kv.TimedOut}, 0, timeouts)
	return t, files
}

func TestClassicHasTheLinesThatScriptsParse(t *testing.T) {
	trial, files := classicTrial(0, 200, 50)
	var b strings.Builder
	if err := (Classic{Sample: true}).Write(&b, trial, files); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nSummary:\n  Total:\t2.000000 secs.\n  Slowest:\t0.100",
		"\n  Fastest:\t0.00", "\n  Average:\t0.050", "\n  Stddev:\t0.028", "\n  Requests/sec:\t100.0000\n", "\nResponse time histogram:\n  0.00",
		"\nLatency distribution:\n  10% in 0.0", "\n  75% in 0.0",
		"\n  90% in failed.\n", "\nSample in one second (unix latency throughput):\nUNIX-SECOND,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS,AVG-THROUGHPUT\n1700000000,",
		"\nError distribution:\n  [50]\tno response within 1s\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
	if !strings.Contains(b.String(), "  99.9% in failed.\n") {
		t.Errorf("p99.9 has a value, although lower percentiles failed:\n%s", b.String())
	}
}

func TestClassicSeparatesReadsFromWrites(t *testing.T) {
	trial, files := classicTrial(300, 100, 0)
	var b strings.Builder
	if err := (Classic{}).Write(&b, trial, files); err != nil {
		t.Fatal(err)
	}
	reads, writes, _ := strings.Cut(b.String(), "\nTotal Write Ops: 100\nDetails:\nSummary:\n")
	if !strings.HasPrefix(reads, "\nTotal Read Ops: 300\nDetails:\nSummary:\n") || !strings.Contains(reads, "Requests/sec:\t150.0000") ||
		!strings.Contains(writes, "Requests/sec:\t50.0000") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestPerfdash(t *testing.T) {
	trial, files := classicTrial(0, 200, 0)
	dir := filepath.Join(t.TempDir(), "artifacts")
	path, err := Classic{}.WritePerfdash(dir, "put", trial, files, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "EtcdAPI_benchmark_put_1970-01-01T00:00:00Z.json"); path != want {
		t.Errorf("the file is %s, not %s", path, want)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"version": "v1"`, `"Perc50": 50.`, `"Perc90": 90.`, `"Perc99": null`, `"Operation": "PUT"`, `"unit": "ms"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the file lacks %s:\n%s", want, b)
		}
	}
}

// TestClassicHasSectionsForWatchers checks that a load with watchers has separate sections, each
// with its own times, and that the latency distribution counts a lost event as slower than any
// other event.
func TestClassicHasSectionsForWatchers(t *testing.T) {
	trial, files := classicTrial(0, 200, 0)
	trial.Watch = &record.Watched{WatchCounts: measure.WatchCounts{Lost: 40}, CreationSeconds: 4}
	trial.Load.Watch = &scenario.Watch{Watchers: 2, Streams: 1}
	add := func(phase measure.Phase, time record.Time, n int) {
		h := measure.NewHistogram()
		for i := range n {
			_ = h.RecordValue(int64(i+1) * 1e6)
		}
		files.Intervals = append(files.Intervals, record.Interval{Tag: record.Tag{Phase: phase, Time: time}, Start: *trial.Opened, Steps: measure.NonEmptySteps(h)})
	}
	add(measure.Warmup, record.WatchCreation, 100)
	add(measure.Measured, record.WatchSent, 200)
	add(measure.Warmup, record.WatchSent, 1000)
	c := Classic{Created: &Section{Heading: "Made:", Label: "make"}, Operations: &Section{Heading: "Puts:", Label: "put"}, Events: &Section{Heading: "Events:", Label: "watch"}}
	var b strings.Builder
	if err := c.Write(&b, trial, files); err != nil {
		t.Fatal(err)
	}
	made, rest, _ := strings.Cut(b.String(), "\nPuts:\n\nSummary:\n")
	puts, events, _ := strings.Cut(rest, "\nEvents:\n\nSummary:\n")
	if !strings.HasPrefix(made, "\nMade:\n\nSummary:\n") || !strings.Contains(made, "Requests/sec:\t25.0000") ||
		!strings.Contains(puts, "Requests/sec:\t100.0000") || !strings.Contains(events, "Requests/sec:\t100.0000") ||
		!strings.Contains(events, "  95% in failed.") || !strings.Contains(events, "\nError distribution:\n  [40]\tlost: ") ||
		strings.Contains(puts, "failed") {
		t.Errorf("got\n%s", b.String())
	}
	path, err := c.WritePerfdash(t.TempDir(), "watch", trial, files, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), `"WATCH-MAKE"`) || !strings.Contains(string(b), `"WATCH-WATCH"`) {
		t.Errorf("%v\n%s", err, b)
	}
}
