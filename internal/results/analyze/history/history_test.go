package history

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// figures returns the metrics that the tests read from run directories.
func someFigures() []figures.Figure {
	return []figures.Figure{figures.Registered("ops"), figures.Registered("p50"), figures.Registered("errors")}
}

// recordAt records a run that began `day` days after the first run. It then replaces texts in the
// run's run.json; `replace` contains pairs of an old and a new text.
func recordAt(t *testing.T, dir string, day int, slower float64, version string, replace ...string) {
	t.Helper()
	path := runs.Run{Name: fmt.Sprintf("run-%02d", day), Warmup: 1, Seconds: 3, PerSecond: 600, Seed: uint64(day + 1), Slower: slower, Day: day, Version: version}.Record(t, dir)
	name := filepath.Join(path, "run.json")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(b), replace[i]) {
			t.Fatalf("%s is not in %s", replace[i], b)
		}
	}
	if err := os.WriteFile(name, []byte(strings.NewReplacer(replace...).Replace(string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read reads all run directories of a folder.
func read(t *testing.T, dir string) (sources []*Source) {
	t.Helper()
	dirs, _, err := record.FindRuns(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		s, err := ReadRun(d, someFigures())
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	return sources
}

func build(t *testing.T, sources []*Source, o Options) *History {
	t.Helper()
	if o.Margin == 0 {
		o.Margin = stats.Margin
	}
	h, err := Build(sources, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// series returns a series of a history.
func series(t *testing.T, h *History, name string) *Series {
	t.Helper()
	for i := range h.Series {
		if h.Series[i].Name() == name {
			return &h.Series[i]
		}
	}
	t.Fatalf("there is no series %q", name)
	return nil
}

// If a metric became worse with a new version of the store, its series has one change. The change
// has the right position, size and version. It does not matter whether the runs are in the same
// folder.
func TestRunsHaveAChange(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := t.TempDir()
	for day := range 14 {
		if day < 9 {
			recordAt(t, dir, day, 0, "")
		} else {
			recordAt(t, filepath.Join(dir, "later"), day, 0.4, "3.8.0")
		}
	}
	h := build(t, read(t, dir), Options{})
	s := series(t, h, "mixed p50")
	if len(s.Points) != 14 || len(s.Changes) != 1 {
		t.Fatalf("the series has %d points with the changes %+v", len(s.Points), s.Changes)
	}
	c := s.Changes[0]
	if c.Index != 9 || c.Word != stats.Worse || c.Low > 0.4 || c.High < 0.4 || c.Confidence < 0.999 {
		t.Errorf("the change is %+v", c)
	}
	if !slices.ContainsFunc(c.ConditionChanges, func(d compare.Side) bool {
		return d.Condition == "store's version" && d.Current == "3.8.0" && d.Base == "3.7.3"
	}) {
		t.Errorf("%+v lacks the version", c.ConditionChanges)
	}
	if title := s.Points[9].Title(); title != "2026-03-10 3.8.0" {
		t.Errorf("the point is called %q", title)
	}
	if worse := h.Worsened(); len(worse) != 1 || !strings.HasPrefix(worse[0], "mixed p50 (+") {
		t.Errorf("worse are %q", worse)
	}
	if e := series(t, h, "mixed errors"); len(e.Changes) > 0 || e.CountUsable() != 0 || e.Points[0].ExclusionReason != "0" {
		t.Errorf("errors of 0 are %+v", e)
	}
	if err := h.Unjudged(); err == nil || !strings.Contains(err.Error(), "mixed errors") {
		t.Errorf("Unjudged returns %v", err)
	}
	h.Select(runs.Noon.AddDate(0, 0, 20), 0)
	if len(s.Changes) != 0 || len(h.Worsened()) != 0 {
		t.Error("a change before the day is kept")
	}
}

// Invalid runs do not count. Runs of another load are left out, and a note says so.
func TestRunsThatCannotBeCompared(t *testing.T) {
	dir := t.TempDir()
	recordAt(t, dir, 0, 0, "", `"value-size": 256`, `"value-size": 128`)
	recordAt(t, dir, 1, 0, "", `"state": "valid"`, `"state": "invalid"`)
	recordAt(t, dir, 2, 0, "")
	h := build(t, read(t, dir), Options{Trials: []string{"MIXED"}, Metrics: []string{"OPS"}})
	if len(h.Series) != 1 || len(h.Series[0].Points) != 2 || h.Series[0].CountUsable() != 1 || h.Series[0].Points[0].ExclusionReason != "invalid" {
		t.Fatalf("the series are %+v", h.Series)
	}
	if len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "mixed: 1 run is left out because its load or store differs (the value's size in bytes: 128, but 256 in the newest run).") {
		t.Errorf("the notes are %q", h.Notes)
	}
}

// Versions are sorted by their numbers. A version with a suffix comes before its release.
func TestVersionsAreInOrder(t *testing.T) {
	want := []string{"", "3.5.9", "3.5.35", "3.6.0-rc.1", "3.6.0-rc.2", "3.6.0", "3.6.0.1", "3.10.0", "10.0", "v2"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareVersions)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	points := []Point{{Version: "3.10.0"}, {Version: "3.9.0", Label: "b"}, {Version: "3.9.0", Label: "a"}, {Version: "3.9.0", Label: "b", Name: "again"}}
	s := Series{Points: slices.Clone(points)}
	s.sort(ByVersion)
	if s.Points[0].Label != "b" || s.Points[3].Version != "3.10.0" {
		t.Errorf("the points sorted by version are %+v", s.Points)
	}
	s = Series{Points: slices.Clone(points)}
	s.sort(ByLabel)
	if s.Points[2].Name != "again" || s.Points[3].Label != "a" {
		t.Errorf("the points sorted by label are %+v", s.Points)
	}
}

const perfdashFile = `{"version":"v1","dataItems":[
 {"data":{"Perc50":10.5,"Perc90":14,"Perc999":null},"labels":{"Operation":"PUT","Size":"1k"},"unit":"ms"},
 {"data":{"Throughput":12000},"labels":{},"unit":"ops/s"},
 {"data":{"Memory":0},"labels":{"Pod":"etcd"},"unit":"MB"}]}`

func TestReadPerfdash(t *testing.T) {
	s := readText(t, "EtcdAPI_benchmark_put_2026-11-29T03:04:05Z.json", perfdashFile)
	if s.Time.Format(time.RFC3339) != "2026-11-29T03:04:05Z" {
		t.Errorf("the time is %v", s.Time)
	}
	got := summary(s)
	want := []string{"PUT 1k p50 10500000 ns less", "PUT 1k p90 14000000 ns less", "all Throughput 12000 ops/s more", "etcd Memory 0 MB neither left out: 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

const goBenchFile = `commit: 0123456789abcdef0123456789abcdef01234567
commit-time: 2026-10-01T12:00:00Z
goos: linux
Unit score better=higher
Unit p50-ns better=lower
BenchmarkPut/size=1k-8   	1000000	 1000 ns/op	 64 B/op	 3 score
BenchmarkPut/size=1k-8   	1000000	 1100 ns/op	 64 B/op	 4 score
BenchmarkPut/size=1k-8   	1000000	 1200 ns/op	 64 B/op	 5 score
BenchmarkPut/size=1k-8   	1000000	 1050 ns/op	 64 B/op	 5 score
BenchmarkPut/size=1k-8   	1000000	 1150 ns/op	 64 B/op	 5 score
BenchmarkGet/trial=get 	 500	5e-6 p50-sec	 900 ops/s	 +Inf p99-sec
BenchmarkBroken
--- BENCH: BenchmarkPut-8
PASS
ok  	go.etcd.io/etcd	1.2s
`

func TestReadGoBench(t *testing.T) {
	s := readText(t, "bench.txt", goBenchFile)
	if s.Time.Format(time.DateOnly) != "2026-10-01" {
		t.Errorf("the time is %v", s.Time)
	}
	got := summary(s)
	want := []string{"Put/size=1k ns/op 1100 ns less", "Put/size=1k B/op 64 B less", "Put/size=1k score 5 score more", "Get/trial=get p50 5000 ns less",
		"Get/trial=get ops 900 1/s more", "Get/trial=get p99 0 ns less left out: failed"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	p := s.samples[0].point
	if p.Label != "0123456789ab" || p.Repeats != 5 || !p.Interval || p.Low > 1100 || p.High < 1100 {
		t.Errorf("the point is %+v", p)
	}
}

// If all files have a time, they are in the order of their times. If one file has none, all files
// stay in the given order.
func TestFilesAreInOrder(t *testing.T) {
	file := func(name string, ns int) *Source {
		return readText(t, name, fmt.Sprintf("BenchmarkPut-8 1 %d ns/op\n", ns))
	}
	names := func(h *History) (all []string) {
		for _, p := range h.Series[0].Points {
			all = append(all, p.Name)
		}
		return all
	}
	h := build(t, []*Source{file("b-20261102T000000Z.txt", 1), file("a-2026-11-01.txt", 1)}, Options{})
	if got := names(h); got[0] != "a-2026-11-01.txt" || h.First.IsZero() || len(h.Notes) != 0 {
		t.Errorf("%q, %q", got, h.Notes)
	}
	h = build(t, []*Source{file("b-20261102T000000Z.txt", 1), file("a-2026-11-01.txt", 1), file("c.txt", 1)}, Options{})
	if got := names(h); got[0] != "b-20261102T000000Z.txt" || !h.First.IsZero() || len(h.Notes) != 1 {
		t.Errorf("%q, %q", got, h.Notes)
	}
}

// An error names the unreadable file, or the unknown trial or metric and the available ones.
func TestErrorsOfHistory(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, contents, want string }{
		{"a.txt", "nothing\n", "the file has no benchmark results; give a run directory, perfdash JSON or output of go test -bench"},
		{"a.json", "{}", `the file is not perfdash JSON, because it has no "dataItems"`},
		{"b.json", "{", "the file is not perfdash JSON: unexpected end of JSON input"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.contents), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	one := []*Source{readText(t, "x.txt", "BenchmarkPut-8 1 5 ns/op\n")}
	for want, o := range map[string]Options{
		`no run has a trial "Get"; available trials: Put`:        {Trials: []string{"Get"}},
		`no run has the metric "B/op"; available metrics: ns/op`: {Metrics: []string{"B/op"}},
		"no run has a trial with figures; a run has figures":     {},
	} {
		sources := one
		if o.Trials == nil && o.Metrics == nil {
			sources = []*Source{{Path: "empty"}}
		}
		if _, err := Build(sources, o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// If a series ends with a drift and with points far from it, these points are compared with the
// last point before them, even if the drift includes them.
func TestUnconfirmedPointsAfterDrift(t *testing.T) {
	for _, c := range []struct {
		logs        []float64
		unconfirmed int
	}{
		{[]float64{-0.01, 0.04, -0.01, 0, -0.01, 0.02, 0, 0.01, 0.01, 0.2, 0.35, 0.59, 0.74, 0.94, 1.11, 1.32, 3.91, 6.56}, 5},
		{[]float64{0.014, -0.018, -0.022, -0.012, -0.002, -0.008, 0.002, 0.019, 0.075, 0.131, 0.179, 0.236, 0.248, 4.189, 1.056}, 2},
	} {
		s := Series{}
		for _, x := range c.logs {
			s.Points = append(s.Points, Point{Value: math.Exp(x)})
		}
		s.findChanges(stats.Margin)
		n := len(c.logs) - c.unconfirmed
		if len(s.Changes) != 1 || s.Unconfirmed != c.unconfirmed || s.Changes[0].LastDriftIndex < n {
			t.Fatalf("%d points are unconfirmed after the changes %+v; want %d points and a drift that includes point %d", s.Unconfirmed, s.Changes, c.unconfirmed, n)
		}
		mean := 0.0
		for _, x := range c.logs[n:] {
			mean += x / float64(c.unconfirmed)
		}
		if want := math.Expm1(mean - c.logs[n-1]); math.Abs(s.UnconfirmedShare-want) > 1e-9*want {
			t.Errorf("the unconfirmed points differ by %v from the level before them, want %v", s.UnconfirmedShare, want)
		}
	}
}

// A series whose changes cancel each other is not worse. A series that recovered only partly is
// worse.
func TestWorsenedSumsChanges(t *testing.T) {
	s := func(words []stats.Word, shares ...float64) *History {
		h := &History{Margin: 0.03, Series: []Series{{Trial: "put", Metric: Metric{Name: "ops", Direction: figures.HigherIsBetter}, Points: make([]Point, 1)}}}
		for i, share := range shares {
			h.Series[0].Changes = append(h.Series[0].Changes, Change{Share: share, Word: words[i]})
		}
		return h
	}
	for _, c := range []struct {
		h     *History
		worse bool
	}{
		{s([]stats.Word{stats.Worse}, -0.2), true},
		{s([]stats.Word{stats.Better}, 0.2), false},
		{s([]stats.Word{stats.Worse, stats.Better}, -0.2, 0.25), false},
		{s([]stats.Word{stats.Worse, stats.Better}, -0.2, 0.1), true},
		{s([]stats.Word{stats.Better, stats.Worse}, 0.3, -0.1), true},
		{s([]stats.Word{stats.Same}, -0.02), false},
	} {
		if got := c.h.Worsened(); (len(got) > 0) != c.worse {
			t.Errorf("%+v: %q", c.h.Series[0].Changes, got)
		}
	}
}

// readText reads a file with the given name and contents.
func readText(t testing.TB, name, contents string) *Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// summary describes the samples of a source.
func summary(s *Source) (all []string) {
	for i := range s.samples {
		one := &s.samples[i]
		text := fmt.Sprintf("%s %s %.0f %s %s", one.trial, one.metric.Name, one.point.Value, one.metric.UnitName(), [...]string{"neither", "less", "more"}[one.metric.Direction])
		if one.point.ExclusionReason != "" {
			text += " left out: " + one.point.ExclusionReason
		}
		all = append(all, text)
	}
	return all
}

// For any file contents, reading returns an error, or finite figures with printable names.
func FuzzReadFile(f *testing.F) {
	f.Add([]byte(perfdashFile))
	f.Add([]byte(goBenchFile))
	f.Add([]byte(`{"dataItems":[{"data":{"a":1e308,"b":-1},"unit":"s"}]}`))
	f.Add([]byte("BenchmarkA-8 1 NaN ns/op -Inf B/op 1e999 x\nUnit\nUnit x better=\ncommit:\n"))
	f.Fuzz(func(t *testing.T, contents []byte) {
		s := &Source{}
		var err error
		if len(contents) > 0 && contents[0] == '{' {
			err = s.readPerfdash(contents)
		} else {
			err = s.readGoBench(contents)
		}
		if err != nil {
			return
		}
		h, err := Build([]*Source{s, s, s}, Options{Margin: 0.03})
		if err != nil {
			return
		}
		for i := range h.Series {
			for _, p := range h.Series[i].Points {
				if p.ExclusionReason == "" && !(p.Value > 0 && p.Value <= math.MaxFloat64) {
					t.Errorf("the point %+v is not excluded, although its value is impossible", p)
				}
			}
		}
	})
}
