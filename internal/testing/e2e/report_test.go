//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// changedRun copies a recorded run into the world. The run measured puts in a closed loop. The
// function `change` receives the run's trials and may modify them.
func (w *world) changedRun(t *testing.T, name string, change func(trials []map[string]any) []map[string]any) string {
	t.Helper()
	if err := os.Rename(runs.Unpack(t, w.path(), "repeats"), w.path(name)); err != nil {
		t.Fatal(err)
	}
	var run map[string]json.RawMessage
	var trials []map[string]any
	text, err := os.ReadFile(w.path(name, "run.json"))
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	if err == nil {
		err = json.Unmarshal(run["trials"], &trials)
	}
	if err == nil {
		trials = change(trials)
		run["trials"], err = json.Marshal(trials)
		run["planned_trials"], run["scenario"] = json.RawMessage(fmt.Sprint(len(trials))), json.RawMessage(`""`)
	}
	if err == nil {
		text, err = json.Marshal(run)
	}
	if err == nil {
		err = os.WriteFile(w.path(name, "run.json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.path(name)
}

// repeated returns a function that creates n repeats from the first trial. Each repeat is a little
// faster than the previous repeat. The function `change` may modify each repeat.
func repeated(n int, change func(repeat int, trial map[string]any)) func([]map[string]any) []map[string]any {
	return func(trials []map[string]any) (all []map[string]any) {
		for repeat := 1; repeat <= n; repeat++ {
			trial := map[string]any{}
			for name, value := range trials[0] {
				trial[name] = value
			}
			delete(trial, "baseline_of")
			trial["name"], trial["repeat"], trial["repeats"], trial["operations_per_second"] = "put", repeat, n, 4900+10*repeat
			trial["verdict"] = map[string]any{"state": "valid", "reasons": []any{}, "notes": []any{}}
			change(repeat, trial)
			all = append(all, trial)
		}
		return all
	}
}

func holds(t *testing.T, p *startedProgram, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("quorumbench %s does not print %q:\n%s", p.args, want, p.stdout.String())
		}
	}
}

// The p99 of only 100 fdatasync calls would be the second largest time, so the report omits it.
func TestReportOmitsP99OfAHundredSyncs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.changedRun(t, "run", repeated(2, func(_ int, trial map[string]any) {
		trial["durability"] = map[string]any{"fdatasync_p50_ns": 1_000_000, "fdatasync_p99_ns": 9_000_000, "fdatasync_writes": 100, "file_system": "ext4", "synced": true}
	}))
	holds(t, w.run(t, "report", dir).exits(t, exitDone), "fdatasync p50 1.00 ms, p99 - (100 writes) on ext4")
}

// With one failure in three million operations, the report must not round the first failed
// percentile up to 100.
func TestReportNamesAPercentileBelow100(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.changedRun(t, "run", repeated(1, func(_ int, trial map[string]any) {
		trial["due"], trial["operations"], trial["errors"] = 3_000_000, 2_999_999, 1
		trial["failed_from_percentile"] = 100 * 2_999_999.0 / 3_000_000
	}))
	holds(t, w.run(t, "report", dir).exits(t, exitDone), "percentiles above 99.9999667 failed")
}

// A comparison excludes invalid and interrupted repeats from its medians. It reports the number of
// repeats that it excluded and the number of changes that it tested together. It also warns that
// repeats on one cluster are not independent.
func TestComparisonIgnoresInvalidRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.changedRun(t, "now", repeated(6, func(repeat int, trial map[string]any) {
		if repeat == 6 {
			trial["operations_per_second"] = 1_000_000
			trial["verdict"] = map[string]any{"state": "invalid", "reasons": []map[string]any{{"rule": 3, "text": "1 answer was wrong"}}, "notes": []string{}}
		}
	}))
	base := w.changedRun(t, "base", repeated(7, func(repeat int, trial map[string]any) {
		if repeat > 5 {
			trial["operations_per_second"], trial["state"] = 1, "interrupted"
		}
	}))
	p := w.run(t, "compare", base, now).exits(t, exitDone)
	holds(t, p, "4,930/s   4,930/s  +0.0 %",
		"Not used: put here, 1 of 6 (invalid R3); put in the baseline, 2 of 7 (interrupted).",
		"Holm's correction widened the intervals, because 3 changes were tested together: if nothing differs, the chance that any change is called better or worse is 5 %.",
		"share its state, so they are not independent")
}

// The table marks linearizable reads that are weaker than their name guarantees, and a footnote
// explains the mark. The members of the null servers are called m1, m2 and m3, and each operation
// is attributed to one of them.
func TestTableMarksWeakerReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bench := func(store string) *startedProgram {
		endpoints := w.nullServer(t, "--protocol", store, "--members", "3", "--script", "delay=1ms")
		p := w.run(t, "bench", "get", "--store", store, "--endpoints", endpoints, "--target", "all", "--consistency", "linearizable",
			"--conns", "6", "--clients", "12", "--total", "2000", "--warmup", "100ms", "--key-space-size", "100", "--repeats", "2", "--out", w.path(store))
		return p.end(t) // the verdict does not matter
	}
	holds(t, bench("zookeeper"), "linearizable¹", "\n¹ linearizable reads of zookeeper: sync, then getData: no quorum confirms the leader")
	if p := bench("etcd"); strings.Contains(p.stdout.String(), "linearizable¹") {
		t.Errorf("the report marks etcd's linearizable reads as weaker:\n%s", p.stdout.String())
	}
	run, err := record.Open(w.path("zookeeper"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Trials {
		trial := &run.Trials[i]
		names, operations := []string{}, uint64(0)
		for _, b := range trial.ByMember {
			names, operations = append(names, b.Name), operations+b.Operations
		}
		if strings.Join(names, " ") != "m1 m2 m3" || operations != trial.Operations {
			t.Errorf("the members served %d operations, want %d; the members are %q", operations, trial.Operations, names)
		}
	}
}
