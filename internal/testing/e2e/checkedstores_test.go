//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const checkedOfAll = `
name: checked
defaults: {STORE, connections: 6, clients: 24, key-space: 100, target: all, timeout: 4s, warmup: 0s, verify: true}
trials:
  - {name: broken, mix: MIX, duration: DURATION, faults: [FAULTS]WATCH}
`

// checkedWatch returns the setting for watchers, or an empty string if the store has no watches.
func checkedWatch(can kv.Capabilities) string {
	if can.Operations[kv.Watch] == "" {
		return ""
	}
	return ", watch: {watchers: 20, streams: 4, connections: 4}"
}

// checkedMix returns a mix of all operations that the store supports and verification can check.
func checkedMix(can kv.Capabilities) string {
	weights := []string{
		"{operation: put, weight: 30}", "{operation: cas, weight: 20}", "{operation: get, weight: 20, consistency: linearizable}",
		"{operation: get, weight: 20, consistency: local}",
	}
	if can.Reads[kv.LeaderLease] != "" {
		weights = append(weights, "{operation: get, weight: 5, consistency: lease}")
	}
	if can.Operations[kv.Delete] != "" {
		weights = append(weights, "{operation: delete, weight: 8}")
	}
	if can.Operations[kv.Exists] != "" {
		weights = append(weights, "{operation: exists, weight: 4, consistency: linearizable}")
	}
	if can.Operations[kv.Ephemeral] != "" {
		weights = append(weights, "{operation: ephemeral, weight: 6}")
	}
	return "[" + strings.Join(weights, ", ") + "]"
}

// manyChecked is the environment variable that sets how often each checked scenario runs on real
// stores. If it is set, the runs are longer and have more faults than in CI.
const manyChecked = "QUORUMBENCH_CHECKED"

// manyFaults lists the faults of a checked scenario in a long test.
const manyFaults = "kill leader at 4s for 1s, pause leader at 12s for 3s, kill follower at 20s for 2s"

// window returns replacements for the words DURATION and FAULTS in a checked scenario: `duration`
// and `faults` in CI, `long` and `more` in a long test.
func window(duration, faults, long, more string) []string {
	if os.Getenv(manyChecked) != "" {
		duration, faults = long, more
	}
	return []string{"DURATION", duration, "FAULTS", faults}
}

// checkedRuns runs a scenario on real stores, passes each run to the function `check`, and verifies
// each run's history a second time.
func checkedRuns(t *testing.T, suits func(store.Store) bool, text func(store.Store) string, check func(t *testing.T, st store.Store, dir string, run *record.Run)) {
	t.Helper()
	times := settle.Count(t, manyChecked)
	eachStore(t, suits, func(t *testing.T, st store.Store, exec string) {
		w := newWorld(t)
		for n := range times {
			dir := w.path(fmt.Sprint("run", n))
			w.run(t, "run", w.file(t, "checked.yaml", withStore(text(st), st, exec)), "--seed", fmt.Sprint(n), "--out", dir).exits(t, exitDone)
			check(t, st, dir, openRun(t, dir, record.Complete))
			w.run(t, "verify", dir).exits(t, exitDone)
		}
	})
}

// unaccused fails the test if a trial has violations, or if one of the three members was not read
// completely.
func unaccused(t *testing.T, run *record.Run, name string) *record.Verification {
	t.Helper()
	trial := byName(t, run, name)
	a := trial.Verification
	if a == nil || len(a.WrongByKind) > 0 || a.Failure != "" || len(a.Members) != 3 || rule(trial, 33) != "" {
		t.Fatalf("trial %s: the verification is %+v", name, a)
	}
	for _, m := range a.Members {
		if m.Failure != "" {
			t.Errorf("%s: reading a member after the load resulted in %+v", name, m)
		}
	}
	return a
}

// sameKeys fails the test unless quorumbench read the same number of keys from all members, and the
// number is above 0.
func sameKeys(t *testing.T, a *record.Verification) {
	t.Helper()
	for _, m := range a.Members {
		if m.Keys == 0 || m.Keys != a.Members[0].Keys {
			t.Errorf("reading a member after the load resulted in %+v, and reading the first member in %+v", m, a.Members[0])
		}
	}
}

// TestNoStoreIsAccused tests every store against its own guarantees while the leader is killed
// during the load.
func TestNoStoreIsAccused(t *testing.T) {
	t.Parallel()
	replace := window("2s", "kill leader at 500ms for 200ms", "30s", manyFaults)
	// TestCorrectResponsesAreNotAccused covers etcd.
	others := func(st store.Store) bool { return st.Name() != "etcd" }
	checkedRuns(t, others, func(st store.Store) string {
		can := st.Capabilities()
		return strings.NewReplacer(append(replace, "MIX", checkedMix(can), "WATCH", checkedWatch(can))...).Replace(checkedOfAll)
	}, func(t *testing.T, _ store.Store, _ string, run *record.Run) { checkRight(t, run) })
}

func checkRight(t *testing.T, run *record.Run) {
	t.Helper()
	a := unaccused(t, run, "broken")
	sameKeys(t, a)
	if a.Operations <= 3*100 || a.VerifiedOperations != a.Operations {
		t.Fatalf("the verification is %+v", a)
	}
	for _, why := range a.Undecided {
		if !strings.Contains(why, "returns no revisions of writes") && !strings.Contains(why, "the search covered only the first") && !strings.Contains(why, "the search did not finish") {
			t.Errorf("the reason for undecided operations is missing: %s", why)
		}
	}
	if len(a.Staleness) == 0 || a.Staleness[0].Reads == 0 {
		t.Errorf("the staleness of local reads is %+v", a.Staleness)
	}
	t.Logf("%d operations, %d indefinite, %d resolved, not guaranteed %v; the verification took %.2f s and %d bytes", a.Operations, a.Indefinite, a.Resolved, a.NotGuaranteed, a.Seconds, a.Bytes)
}

const nodesScenario = `
name: nodes
defaults: {store: zookeeper, endpoints: ["ENDPOINT"], timeout: 1s, verify: true, preload: false, warmup: 0s}
trials:
  - {name: nodes, mix: [{operation: ephemeral, weight: 5}, {operation: get, weight: 5, consistency: local}, {operation: delete, weight: 4}], clients: 16, connections: 8, key-space: 40, duration: 1s}
`

// TestNodesThatOutliveTheirSessionsAreFound checks that verification finds nodes which outlive
// closed sessions. A server that deletes nodes properly, even if it closes connections, must not be
// accused. On a busy machine, the server that closes connections may close them before the load
// starts. Then the run fails, and is repeated.
func TestNodesThatOutliveTheirSessionsAreFound(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"delay=uniform(0ms,1ms)": false, "delay=uniform(0ms,1ms); half every 97; close@300ms; close@600ms": false,
		"delay=uniform(0ms,1ms); lie=outlive every 3": true,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			settle.RetryMeasurement(t, func(r settle.Reporter) { checkNodes(t, r, script, want) })
		})
	}
}

// checkNodes runs nodesScenario against a null server with the given script. The parameter `want`
// is whether verification must find nodes that outlive their sessions.
func checkNodes(t *testing.T, r settle.Reporter, script string, want bool) {
	t.Helper()
	w, code := newWorld(t), exitDone
	if want {
		code = exitFailed
	}
	endpoint := w.nullServer(t, "--protocol", "zookeeper", "--script", script)
	file := w.file(t, "nodes.yaml", strings.ReplaceAll(nodesScenario, "ENDPOINT", endpoint))
	p := w.run(t, "run", file, "--out", w.path("run"))
	if closedEarly(p, script, endpoint, code) {
		r.Errorf("the load did not start: %s", p.stderr.String())
		return
	}
	p.exits(t, code)
	a := byName(t, openRun(t, w.path("run"), record.Complete), "nodes").Verification
	if n := a.WrongByKind["key outlived its session"]; n > 0 != want || len(a.WrongByKind) > 0 != want || len(a.Members) != 1 || a.Members[0].Failure != "" {
		t.Errorf("the violations found are %v, and the results of the members are %+v", a.WrongByKind, a.Members)
	}
	if !want && endsIn(t, w.path("run"), "nodes") == 0 {
		t.Error("the history does not record the end of a session for any key")
	}
}
