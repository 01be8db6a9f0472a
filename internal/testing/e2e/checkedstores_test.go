//go:build linux

package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

const checkedOfAll = `
name: checked
defaults: {STORE, connections: 6, clients: 24, key-space: 100, target: all, timeout: 4s, warmup: 0s, check: true}
trials:
  - {name: broken, mix: MIX, duration: DURATION, faults: [FAULTS]WATCH}
`

// checkedWatch is watchers, where the store has them.
func checkedWatch(can kv.Capabilities) string {
	if can.Operations[kv.Watch] == "" {
		return ""
	}
	return ", watch: {watchers: 20, streams: 4, connections: 4}"
}

// checkedMix is a mix of all operations of a store whose answers are judged, which
// differ from store to store.
func checkedMix(can kv.Capabilities) string {
	weights := []string{
		"{operation: put, weight: 30}", "{operation: cas, weight: 20}", "{operation: get, weight: 20, consistency: linearizable}",
		"{operation: get, weight: 20, consistency: local}",
	}
	if can.Reads[kv.Lease] != "" {
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

// TestNoStoreIsAccused: whatever it promises, with its leader killed under the load.
// With QUORUMBENCH_CHECKED each is run so often, and paused too.
func TestNoStoreIsAccused(t *testing.T) {
	t.Parallel()
	duration, faults, times := "2s", "kill leader at 500ms for 200ms", 1
	if n := os.Getenv("QUORUMBENCH_CHECKED"); n != "" {
		duration, faults = "30s", "kill leader at 4s for 1s, pause leader at 12s for 3s, kill follower at 20s for 2s"
		if _, err := fmt.Sscan(n, &times); err != nil {
			t.Fatal(err)
		}
	}
	others := func(st store.Store) bool { return st.Name() != "etcd" } // which has a test of its own
	eachStore(t, others, func(t *testing.T, st store.Store, exec string) {
		text := strings.NewReplacer("MIX", checkedMix(st.Capabilities()), "WATCH", checkedWatch(st.Capabilities()), "DURATION", duration, "FAULTS", faults).Replace(checkedOfAll)
		w := newWorld(t)
		for n := range times {
			dir := w.path(fmt.Sprintf("run-%d", n))
			w.run(t, "run", w.file(t, "checked.yaml", of(text, st, exec)), "--seed", fmt.Sprint(n), "--out", dir).exits(t, exitDone)
			checkRight(t, st, byName(t, whole(t, dir, record.Complete), "broken"))
		}
	})
}

func checkRight(t *testing.T, st store.Store, trial *record.Trial) {
	t.Helper()
	a := trial.Answers
	if a == nil || a.Failure != "" || a.Operations <= 3*100 || a.Judged != a.Operations {
		t.Fatalf("the answers were checked so: %+v", a)
	}
	if len(a.Wrong) > 0 || rule(trial, 33) != "" {
		t.Errorf("%s is accused: %+v", st.Name(), a)
	}
	for _, why := range a.Undecided {
		if !strings.Contains(why, "does not tell the revisions of its writes") && !strings.Contains(why, "operations were searched alone") && !strings.Contains(why, "of these keys, for which no order") {
			t.Errorf("it is not decided: %s", why)
		}
	}
	if len(a.Members) != 3 {
		t.Errorf("%d members were read whole", len(a.Members))
	}
	for _, m := range a.Members {
		if m.Failure != "" || m.Keys == 0 || m.Keys != a.Members[0].Keys {
			t.Errorf("a member was read so: %+v, and the first %+v", m, a.Members[0])
		}
	}
	if len(a.Staleness) == 0 || a.Staleness[0].Reads == 0 {
		t.Errorf("the staleness of local reads is %+v", a.Staleness)
	}
	t.Logf("%d operations, %d indefinite, %d resolved, not promised %v, checked in %.2f s, %d bytes", a.Operations, a.Indefinite, a.Resolved, a.NotPromised, a.Seconds, a.Bytes)
}

// TestLiesOfEveryProtocolAreFound: over real connections, as of etcd's.
func TestLiesOfEveryProtocolAreFound(t *testing.T) {
	t.Parallel()
	seeds := 1
	if n := os.Getenv("QUORUMBENCH_LIES"); n != "" {
		if _, err := fmt.Sscan(n, &seeds); err != nil {
			t.Fatal(err)
		}
	}
	every := map[string]int{"cas": 13}
	found := map[string][]string{
		"lost":   {"lost write", "stale read", "conflict without a reason", "compare-and-set on another version", "value that nobody wrote"},
		"absent": {"lost write", "stale read"},
		"cas":    {"compare-and-set on another version"},
	}
	for _, st := range registry.All() {
		if _, ok := st.(store.NullServed); !ok || st.Name() == "etcd" {
			continue
		}
		for lie, want := range found {
			t.Run(st.Name()+" "+lie, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				for seed := range seeds {
					endpoint := w.nullServer(t, "--protocol", st.Name(), "--script", fmt.Sprintf("lie=%s every %d; delay=uniform(0ms,1ms); seed=%d", lie, cmp.Or(every[lie], 101)+seed, seed))
					trial := w.bench(t, []string{endpoint}, exitFailed, "mixed", "--store", st.Name(), "--mix", "put=4,get=4,cas=2", "--total", "6000", "--conns", "8", "--clients", "16",
						"--key-space-size", "40", "--check", "--seed", fmt.Sprint(seed))
					n := uint64(0)
					for _, kind := range want {
						n += trial.Answers.Wrong[kind]
					}
					if n == 0 || !strings.Contains(rule(trial, 33), "the store answered wrongly") || len(trial.Answers.Violations) == 0 {
						t.Errorf("seed %d: found are %v, and not one of %q", seed, trial.Answers.Wrong, want)
					}
				}
			})
		}
	}
}

const nodesScenario = `
name: nodes
defaults: {store: zookeeper, endpoints: ["ENDPOINT"], timeout: 1s, check: true, preload: false}
trials:
  - {name: nodes, mix: [{operation: ephemeral, weight: 5}, {operation: get, weight: 5, consistency: local}, {operation: delete, weight: 4}], clients: 16, connections: 8, key-space: 40, duration: 1s}
`

// TestNodesThatOutliveTheirSessionsAreFound: of a load that makes them, when it has closed
// its sessions, and of a server that ends them, or its connections, nothing is said.
func TestNodesThatOutliveTheirSessionsAreFound(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"delay=uniform(0ms,1ms)": false, "delay=uniform(0ms,1ms); half every 97; close@300ms; close@600ms": false,
		"delay=uniform(0ms,1ms); lie=outlive every 3": true,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w, code := newWorld(t), exitDone
			if want {
				code = exitFailed
			}
			file := w.file(t, "nodes.yaml", strings.ReplaceAll(nodesScenario, "ENDPOINT", w.nullServer(t, "--protocol", "zookeeper", "--script", script)))
			w.run(t, "run", file, "--out", w.path("run")).exits(t, code)
			a := byName(t, whole(t, w.path("run"), record.Complete), "nodes").Answers
			if n := a.Wrong["key that outlived its session"]; n > 0 != want || len(a.Wrong) > 0 != want || len(a.Members) != 1 || a.Members[0].Failure != "" {
				t.Errorf("found are %v, and members were read as %+v", a.Wrong, a.Members)
			}
			if !want && endsIn(t, w.path("run"), "nodes") == 0 {
				t.Error("of no node it is known when its session ended")
			}
		})
	}
}
