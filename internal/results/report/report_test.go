package report

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares the text with testdata/<name>.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update accepts it):\n%s", name, diff)
	}
}

// textOf renders parts of a report as wide text.
func textOf(parts func(layout)) string {
	to := textLayout{wide: true}
	parts(&to)
	return to.String()
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// made describes a made-up trial.
type made struct {
	number          int
	repeat, repeats int
	name            string
	kind            kv.Kind
	level           kv.Consistency
	target          string
	perSecond       int
	p50             float64 // ns
	timeouts        int
	clients         int // 1,000 unless given
	store           *record.StoreUsage
	rate            float64
	lost            []string
}

func (m made) trial() record.Trial {
	shared, p99 := true, int64(3_410_000)
	target, err := kv.ParseTarget(m.target)
	if err != nil {
		panic(err)
	}
	c := record.Conditions{
		Number: m.number, Name: m.name, Repeat: max(m.repeat, 1), Repeats: max(m.repeats, 1), Store: "etcd", Version: "3.7.3",
		Operation: m.kind.String(), Consistency: m.level.String(), Members: 3,
		Endpoints: []string{"127.0.0.1:2379", "127.0.0.1:2381", "127.0.0.1:2383"},
		Load: scenario.Load{
			Mix: []scenario.Operation{{Kind: m.kind, Consistency: m.level, Weight: 1}}, Target: target,
			Connections: 100, Clients: stdcmp.Or(m.clients, 1000), Duration: 5 * time.Second, Warmup: 2 * time.Second, Timeout: 10 * time.Second,
			KeySize: 8, ValueSize: 256, KeySpace: 10_000, Distribution: scenario.Distribution{Name: scenario.Uniform}, Preload: true, Seed: 42,
		},
		Loops:         2,
		Cluster:       "c1",
		Durability:    &measure.Durability{FdatasyncP50NS: 1_203_000, FdatasyncP99NS: &p99, Fdatasyncs: 1000, FileSystem: "ext4", Synced: true},
		Machine:       &measure.Machine{Name: "box", System: "linux", Kernel: "6.12.0", Architecture: "amd64", CPU: "Xeon", CPUs: 2, MemoryBytes: 8 << 30},
		SharesMachine: &shared, Tool: "0.1.0",
	}
	if m.rate > 0 {
		c.Arrival, c.Rate, c.MaxInFlight = scenario.Constant, &m.rate, 100_000
	}
	o := record.Observed{Store: m.store,
		Started: noon, Opened: noon.Add(2 * time.Second), CPUSeconds: float64(m.perSecond) * 5 * 6.3e-6, MaxRSSBytes: 48 << 20,
		LostMembers: m.lost,
	}
	return record.NewTrial(c, o, m.totals(), nil, record.RoleHistory{{Member: 1, Name: "m1", Term: 2, Role: "leader"}})
}

func (m made) totals() *measure.Totals {
	n := m.perSecond * 5
	t := &measure.Totals{Seconds: 5, LongestGap: 0.012, Slices: 1000, RunDelay: 1e6, LoopCPU: 1e9, Tally: measure.Tally{Done: uint64(n)}}
	leader := &measure.Cell{Series: measure.Series{Kind: m.kind, Consistency: m.level, Member: 1, Term: 2}}
	follower := &measure.Cell{Series: measure.Series{Kind: m.kind, Consistency: m.level, Member: 2, Term: 2}}
	t.Cells = []*measure.Cell{leader}
	if m.target == "all" {
		t.Cells = append(t.Cells, follower)
	}
	for _, c := range t.Cells {
		c.Response, c.Service = measure.NewHistogram(), measure.NewHistogram()
	}
	// The times of the operations grow linearly from 0.5 to 1.5 times the median.
	for i := range n {
		c := t.Cells[i%len(t.Cells)]
		ns := int64(m.p50 * (0.5 + float64(i)/float64(n)))
		measure.Record(c.Response, ns)
		measure.Record(c.Service, ns)
	}
	if m.rate > 0 {
		t.Lateness = measure.NewHistogram()
		for i := range n {
			measure.Record(t.Lateness, int64(i*200_000/n))
		}
	}
	if m.timeouts > 0 {
		failed := &measure.Cell{Series: measure.Series{Kind: m.kind, Consistency: m.level}}
		h := measure.NewHistogram()
		for range m.timeouts {
			measure.Record(h, 10e9)
		}
		failed.Failed[measure.ErrorIndex(kv.TimedOut)] = h
		t.Cells = append(t.Cells, failed)
		t.ErrorTexts = map[kv.Outcome]string{kv.TimedOut: "no response within 10 s"}
	}
	t.Outcomes[kv.OK], t.Outcomes[kv.TimedOut] = uint64(n), uint64(m.timeouts)
	t.Due = uint64(n + m.timeouts)
	return t
}

func run(state record.State, all ...made) *record.Run {
	r := &record.Run{
		Schema: record.RunSchema, State: state, Name: "quick", Started: noon, Seed: 42, Planned: len(all),
		Tool: record.Tool{Version: "0.1.0"},
	}
	for _, m := range all {
		r.Trials = append(r.Trials, m.trial())
	}
	return r
}

// quick returns the run that most tests use. The resource use of the store is known only for some
// trials of this run.
func quick() *record.Run {
	used := func(cpuSeconds float64) *record.StoreUsage {
		return &record.StoreUsage{CPUSeconds: cpuSeconds, MaxRSSBytes: 312 << 20}
	}
	return run(record.Complete,
		made{number: 1, name: "put-leader", kind: kv.Put, target: "leader", perSecond: 18_612, p50: 53.7e6, store: used(4.2)},
		made{number: 2, name: "put-all", kind: kv.Put, target: "all", perSecond: 17_020, p50: 58.7e6, store: used(4.4)},
		made{number: 3, name: "get-linearizable-leader", kind: kv.Get, level: kv.Linearizable, target: "leader", perSecond: 44_610, p50: 22.4e6, store: used(3.9)},
		made{number: 5, name: "get-local-leader", kind: kv.Get, level: kv.Local, target: "leader", perSecond: 57_700, p50: 17.3e6},
		made{number: 7, name: "put-open", kind: kv.Put, target: "leader", perSecond: 9306, p50: 3.2e6, rate: 9306},
	)
}

func renderText(t *testing.T, r *record.Run) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, Run(r, nil, "runs/20260301T120000Z-quick"), false); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > text.ScreenWidth {
			t.Errorf("the line has %d columns: %s", n, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("the line ends in blanks: %q", line)
		}
	}
	return b.String()
}

func TestTable(t *testing.T) { golden(t, "quick.txt", renderText(t, quick())) }

func TestTableOfRepeats(t *testing.T) {
	settle.SkipUnderRace(t)
	var all []made
	for repeat, perSecond := range []int{1000, 1100, 900} {
		all = append(all,
			made{number: 1, repeat: repeat + 1, repeats: 3, name: "put", kind: kv.Put, target: "leader", perSecond: perSecond, p50: 1e12 / float64(perSecond)},
			made{number: 2, repeat: repeat + 1, repeats: 3, name: "get", kind: kv.Get, level: kv.Local, target: "all", perSecond: perSecond, p50: 1e12 / float64(perSecond),
				timeouts: 60 * repeat, lost: []string{"m2"}})
	}
	golden(t, "repeats.txt", renderText(t, run(record.Complete, all...)))
}

// TestIntervals checks that the report states the basis of each interval (repeats, repeats on one
// cluster, or a single run), and that all formats contain the intervals.
func TestIntervals(t *testing.T) {
	settle.SkipUnderRace(t)
	var all []made
	for i, perSecond := range []int{1000, 1100, 900, 1010, 990, 1040} {
		for n, name := range []string{"own", "shared"} {
			all = append(all, made{number: n + 1, repeat: i + 1, repeats: 6, name: name, kind: kv.Put, target: "leader", perSecond: perSecond, p50: 1e12 / float64(perSecond)})
		}
	}
	all = append(all, made{number: 3, name: "once", kind: kv.Put, target: "leader", perSecond: 1000, p50: 1e9})
	r := run(record.Complete, all...)
	for i := range r.Trials {
		trial := &r.Trials[i]
		trial.Cluster = strconv.Itoa(i)
		r.Clusters = append(r.Clusters, record.Cluster{ID: trial.Cluster, Started: true})
		if trial.Name == "shared" {
			trial.Cluster = "1"
		}
		trial.Seconds = 12
		for second := range 12 {
			trial.Timeline = append(trial.Timeline, record.Row{Phase: measure.Measured.String(), Second: second, Done: uint64(970 + 20*(second%4))})
		}
	}
	golden(t, "intervals.txt", renderText(t, r))
	var b strings.Builder
	for _, write := range []func() error{
		func() error { return Markdown(&b, Run(r, nil, "")) }, func() error { return CSV(&b, Trials(r, scenario.Parameters(nil))) }, func() error { return JSON(&b, Run(r, nil, "")) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"1,000/s | 938–1,076/s¹ |", "\n¹ 95 % confidence interval of the mean over the repeats.\n",
		",operations_per_second_median,operations_per_second_interval,operations_per_second_low,operations_per_second_high,effective_seconds,p99_median_ns,p99_interval,p99_low_ns,p99_high_ns,",
		`"operations_per_second_interval": "repeats"`, `"operations_per_second_interval": "run"`, `"operations_per_second_low": 93`, `"effective_seconds": 11.`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := Text(&b, Trial(&r.Trials[12], ""), true); err != nil || !strings.Contains(b.String(), "95 % CI within this run, without run-to-run variation: 98") {
		t.Errorf("%v in\n%s", err, b.String())
	}
}

func TestTableOfSteps(t *testing.T) {
	r := run(record.Interrupted,
		made{number: 1, name: "put-10", kind: kv.Put, target: "leader", perSecond: 1000, p50: 1e6},
		made{number: 2, name: "put-100", kind: kv.Put, target: "leader", perSecond: 100, p50: 1e6},
		made{number: 3, name: "put-1000", kind: kv.Put, target: "leader", perSecond: 100, p50: 1e6},
		made{number: 4, name: "put-1000-again", kind: kv.Put, target: "leader", perSecond: 100, p50: 1e6})
	for i := range r.Trials {
		r.Trials[i].Clients = []int{10, 100, 1000, 1000}[i]
		r.Trials[i].ValueSize = []int{8, 8, 8, 8 << 10}[i]
	}
	r.Trials[2].State, r.Trials[2].Failure = record.Failed, "Member m1 did not start."
	r.Trials[3].State, r.Trials[3].ValueSize = record.Incomplete, 8
	r.Trials[1].Durability = nil
	r.Planned, r.Problems = 9, []string{"The last line of trial-04-x/timeline.csv is incomplete."}
	golden(t, "steps.txt", renderText(t, r))
}

func TestRunWithoutTrials(t *testing.T) {
	r := run(record.Failed)
	r.Failure, r.Planned = "The cluster did not start within 30 s.", 7
	golden(t, "none.txt", renderText(t, r))
}

func TestSummary(t *testing.T) {
	for name, m := range map[string]made{
		"closed.txt": {number: 1, name: "get", kind: kv.Get, level: kv.Local, target: "all", perSecond: 2010, p50: 500e6, timeouts: 300, lost: []string{"m3"}},
		"open.txt":   {number: 1, name: "put", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1.5e6, rate: 2010, store: &record.StoreUsage{CPUSeconds: 1.5, MaxRSSBytes: 200 << 20}},
	} {
		trial := m.trial()
		var b strings.Builder
		if err := Text(&b, Trial(&trial, "runs/x"), true); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}

func TestSummaryOfATrialWithoutFigures(t *testing.T) {
	trial := made{number: 1, name: "put", kind: kv.Put, target: "leader", perSecond: 10, p50: 1e6}.trial()
	trial.State, trial.Failure = record.Failed, "127.0.0.1:1 does not answer."
	var b strings.Builder
	if err := Text(&b, Trial(&trial, ""), true); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "does not answer") || strings.Contains(s, "throughput") || strings.Contains(s, "Run directory") {
		t.Errorf("got %s", s)
	}
}

func TestJSONIsOneObject(t *testing.T) {
	trial := made{number: 1, name: "put", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6, timeouts: 300}.trial()
	var b bytes.Buffer
	if err := JSON(&b, Trial(&trial, "")); err != nil {
		t.Fatal(err)
	}
	golden(t, "trial.json", b.String())
	d := json.NewDecoder(&b)
	var back record.Trial
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(&back); err != io.EOF {
		t.Errorf("there is more than one object: %v", err)
	}
	// A trial that is read back from JSON has the same report.
	var again bytes.Buffer
	if err := JSON(&again, Trial(&back, "")); err != nil {
		t.Fatal(err)
	}
	golden(t, "trial.json", again.String())
	if f := back.ResponseTime.Percentile(99); !f.Failed || f.Text() != "failed" {
		t.Errorf("p99 prints as %s", f.Text())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

func TestOutputErrorsAreReturned(t *testing.T) {
	settle.SkipUnderRace(t)
	trial := made{number: 1, name: "put", kind: kv.Put, target: "leader", perSecond: 10, p50: 1e6}.trial()
	for what, err := range map[string]error{
		"Text": Text(broken{}, Run(quick(), nil, ""), false), "Summary": Text(broken{}, Trial(&trial, ""), true), "JSON": JSON(broken{}, Trial(&trial, "")),
	} {
		if err == nil {
			t.Errorf("%s returned no error for a failed write", what)
		}
	}
}

// TestPercentilesThatFailedAreBelow100 checks that one failure among millions of operations is not
// rounded to "percentiles above 100".
func TestPercentilesThatFailedAreBelow100(t *testing.T) {
	for errors, want := range map[uint64]string{1: "above 99.9999667 failed", 1500: "above 99.95 failed", 3_000_000: "all percentiles failed"} {
		trial := made{number: 1, name: "put", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6}.trial()
		trial.Due, trial.Errors, trial.Operations = 3_000_000, errors, 3_000_000-errors
		if p, ok := measure.FirstFailedPercentile(trial.Operations, trial.Errors); ok {
			trial.FailedFrom = &p
		}
		var b strings.Builder
		if err := Text(&b, Trial(&trial, ""), true); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("with %d errors, the report lacks %q:\n%s", errors, want, b.String())
		}
	}
}
