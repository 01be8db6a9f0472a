package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// goBench writes a run in the Go benchmark format.
func goBench(t testing.TB, r *record.Run) string {
	t.Helper()
	var b bytes.Buffer
	count, leftOut := analyze.ComparableTrials(r)
	if err := GoBench(&b, r, count, leftOut); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGoBench(t *testing.T) {
	settle.SkipUnderRace(t)
	r := run(record.Complete,
		made{number: 1, repeat: 1, repeats: 3, name: "put-64", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6, clients: 2, store: &record.StoreUsage{CPUSeconds: 1.5, MaxRSSBytes: 200 << 20}},
		made{number: 1, repeat: 2, repeats: 3, name: "put-64", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6, timeouts: 300},
		made{number: 1, repeat: 3, repeats: 3, name: "put-64", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6, clients: 2},
		made{number: 2, name: "get open", kind: kv.Get, level: kv.Linearizable, target: "all", perSecond: 2, p50: 1e6, rate: 1.5})
	r.Trials[2].Verdict = verdict.Verdict{State: verdict.Invalid, Reasons: []verdict.Reason{{Rule: 8, Text: "answers were wrong"}}}
	golden(t, "gobench.txt", goBench(t, r))
}

// goResults reads the Go benchmark format with benchstat's library.
func goResults(t testing.TB, text string) (all []*benchfmt.Result) {
	t.Helper()
	r := benchfmt.NewReader(strings.NewReader(text), "ours")
	for r.Scan() {
		switch x := r.Result().(type) {
		case *benchfmt.Result:
			all = append(all, x.Clone())
		case *benchfmt.SyntaxError:
			t.Errorf("%v in\n%s", x, text)
		}
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	return all
}

// TestGoBenchIsRead checks that benchfmt reads every known figure of a trial with the correct unit.
// A percentile whose operation failed must be infinite.
func TestGoBenchIsRead(t *testing.T) {
	r := run(record.Complete,
		made{number: 1, name: "put-64", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6, timeouts: 300, store: &record.StoreUsage{CPUSeconds: 1.5, MaxRSSBytes: 200 << 20}})
	trial := &r.Trials[0]
	results := goResults(t, goBench(t, r))
	if len(results) != 1 || uint64(results[0].Iters) != trial.Operations {
		t.Fatalf("read %d results", len(results))
	}
	for _, want := range []struct {
		unit  string
		value float64
	}{
		{"p50-sec", trial.ServiceTime.Percentile(50).NS / 1e9}, {"p99-sec", math.Inf(1)}, {"ops/s", trial.PerSecond}, {"errors/op", float64(trial.Errors) / float64(trial.Due)},
		{"gen-cpu-sec/op", *trial.CPUPerOp / 1e9}, {"store-cpu-sec/op", *trial.StoreCPUPerOp / 1e9}, {"store-rss-B", 200 << 20},
	} {
		if got, ok := results[0].Value(want.unit); !ok || got != want.value && math.Abs(got/want.value-1) > 1e-6 {
			t.Errorf("%s is %v, not %v", want.unit, got, want.value)
		}
	}
	if got := results[0].GetConfig("goos"); got != "linux" {
		t.Errorf("goos is %q", got)
	}
}

// FuzzGoBench checks that, for any trial name, benchfmt parses the line of the trial as one result
// with the complete name.
func FuzzGoBench(f *testing.F) {
	for _, text := range []string{"", "put", "put-64", "a b/c=d", "\n\x00", "\u2028\u00a0", "\xff", "Unit x", "k: v"} {
		f.Add(text)
	}
	r := matrix(1, 1)
	f.Fuzz(func(t *testing.T, name string) {
		now := *r
		now.Trials = append([]record.Trial{}, r.Trials...)
		machine := measure.Machine{System: name, Architecture: name, CPU: name}
		now.Name, now.Tool.Version = name, name
		for i := range now.Trials {
			c := &now.Trials[i]
			c.Name, c.Operation, c.Consistency, c.Store, c.Version, c.Machine = name, name, name, name, name, &machine
		}
		results := goResults(t, goBench(t, &now))
		if len(results) != 2 {
			t.Fatalf("%d results of two trials:\n%s", len(results), goBench(t, &now))
		}
		if _, parts := results[0].Name.Parts(); len(parts) != 8 || !strings.HasSuffix(string(results[0].Name), "/loop=closed") {
			t.Errorf("the name is %q", results[0].Name)
		}
	})
}

// TestBenchstatReadsIt runs benchstat on two runs. benchstat must print the medians of the repeats,
// and report that the times doubled.
func TestBenchstatReadsIt(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i := range 2 {
		factor := float64(1 + i)
		var all []made
		for repeat := range 7 { // an odd number, so the median is one of the values
			all = append(all, made{number: 1, repeat: repeat + 1, repeats: 7, name: "put-64", kind: kv.Put, target: "leader",
				perSecond: 2010 / (i + 1), clients: 2, p50: 1e6 * factor * (1 + 0.005*float64((3*repeat)%7))})
		}
		r := run(record.Complete, all...)
		for k := range r.Trials { // a different version of the store, with doubled times
			r.Trials[k].Version = fmt.Sprintf("3.7.%d", i)
		}
		file := filepath.Join(dir, fmt.Sprintf("run%d.txt", i))
		if err := os.WriteFile(file, []byte(goBench(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	c := exec.Command("go", append([]string{"tool", "benchstat", "-format", "csv"}, files...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("benchstat: %v\n%s", err, &stderr)
	}
	row := map[string][]string{} // cells of the trial's line, by unit
	unit := ""
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		switch {
		case len(cells) > 1 && cells[0] == "" && !strings.Contains(cells[1], "run0"):
			unit = cells[1]
		case strings.HasPrefix(cells[0], "Put/trial=put-64/"):
			row[unit] = cells
		}
	}
	middle := made{number: 1, name: "put-64", kind: kv.Put, target: "leader", perSecond: 2010, p50: 1e6 * 1.015, clients: 2}.trial()
	for unit, want := range map[string]float64{"p50-sec": middle.ServiceTime.Percentile(50).NS / 1e9, "p99-sec": middle.ServiceTime.Percentile(99).NS / 1e9, "ops/s": middle.PerSecond} {
		cells := row[unit]
		var got float64
		if len(cells) < 6 {
			t.Fatalf("benchstat printed no %s:\n%s", unit, out)
		}
		if _, err := fmt.Sscan(cells[1], &got); err != nil || math.Abs(got/want-1) > 1e-6 {
			t.Errorf("the median of %s is %s, not %v", unit, cells[1], want)
		}
		change := "+100.00%"
		if unit == "ops/s" {
			change = "-50.00%"
		}
		if !strings.HasPrefix(change, cells[5][:2]) { // compares only the first characters, because percentiles are rounded to steps of the histogram
			t.Errorf("%s changes by %s, not %s", unit, cells[5], change)
		}
	}
}
