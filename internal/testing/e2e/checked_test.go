//go:build linux

package e2e_test

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	checked "github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// manyLies is the environment variable that sets the number of seeds for each lying server.
const manyLies = "QUORUMBENCH_LIES"

const checkedScenario = `
name: checked
defaults: {store: etcd, connections: 6, clients: 24, key-space: 200, timeout: 5s, warmup: 0s, verify: true}
trials:
  - name: counted
    mix: [{operation: put, weight: 20}, {operation: get, weight: 20}, {operation: get, weight: 20, consistency: local}, {operation: cas, weight: 20}, {operation: delete, weight: 10}, {operation: exists, weight: 10}]
    total: 1600
    watch: {watchers: 60, streams: 10, prev-kv: true}
  - {name: several, mix: [{operation: txn, weight: 1}, {operation: get, weight: 1}, {operation: get, weight: 2, consistency: local}], total: 1600, workers: 2}
  - {name: ranges, mix: [{operation: txn, weight: 2}, {operation: delete, weight: 1}, {operation: range, weight: 2}, {operation: range, weight: 1, consistency: local}, {operation: txn-get, weight: 1}], range-limit: 7, total: 800, watch: {watchers: 20, streams: 5, connections: 2, keys-per-watcher: 20}}
  - {name: transacted, mix: [{operation: stm, weight: 3}, {operation: put, weight: 1}, {operation: get, weight: 1, consistency: local}], stm: {keys: 3, write-percent: 67, isolation: s}, total: 200}
  - {name: locked, operation: stm, stm: {keys: 2, write-percent: 50, locker: lock-client}, clients: 8, total: 100}
  - {name: locked-rpc, operation: stm, stm: {keys: 2, locker: lock-rpc}, clients: 8, total: 100}
  - {name: shaken, mix: [{operation: stm, weight: 3}, {operation: get, weight: 1, consistency: local}], stm: {keys: 3, write-percent: 67}, rate: 100, duration: 2500ms, faults: [kill leader at 500ms for 500ms]}
  - name: broken
    mix: [{operation: put, weight: 40}, {operation: get, weight: 30}, {operation: get, weight: 20, consistency: local}, {operation: delete, weight: 10}, {operation: txn, weight: 10}, {operation: keepalive, weight: 5}]
    rate: 300
    duration: 8s
    watch: {watchers: 12, streams: 12, keys-per-watcher: all, prev-kv: true}
    faults: [kill leader at 1s for 1s, pause leader at 5s for 700ms]
`

// A correct store is not accused of violations, even if members are killed and operations end
// without a response. Every operation is checked.
func TestCorrectResponsesAreNotAccused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	p := w.run(t, "run", w.file(t, "checked.yaml", checkedScenario), "--out", dir).exits(t, exitDone)
	run := openRun(t, dir, record.Complete)
	for _, name := range []string{"counted", "several", "ranges", "transacted", "locked", "locked-rpc", "shaken", "broken"} {
		trial := byName(t, run, name)
		a := trial.Verification
		if a == nil {
			t.Fatalf("the responses of trial %s were not verified", name)
		}
		if len(a.WrongByKind) > 0 || a.Failure != "" || len(a.Undecided) > 0 || rule(trial, 33) != "" {
			t.Errorf("trial %s: the verification found problems: %+v", name, a)
		}
		if len(a.Members) != 3 {
			t.Errorf("trial %s: the data of %d members was read after the load, want 3", name, len(a.Members))
		}
		for _, m := range a.Members {
			if m.Failure != "" || m.Keys > 200 || m.Keys != a.Members[0].Keys {
				t.Errorf("reading a member after the load resulted in %+v", m)
			}
		}
		// The limit on the history's size applies to only two trials. In the other trials, a
		// transaction takes one part per key, or the history is short and consists mostly of
		// framing.
		if each, ok := a.BytesPerRecord(); !ok || each > 24 && (name == "counted" || name == "several") {
			t.Errorf("trial %s: the history has %.1f bytes per operation on disk", name, each)
		}
		if strings.HasPrefix(name, "locked") {
			if l := a.Locks; l == nil || l.Locks != 1 || l.Acquisitions != 100 || l.OverlappingHolds > 0 || l.Waits.Max == 0 || l.Holds.Max == 0 {
				t.Errorf("the results of the locks are %+v", l)
			}
			continue
		}
		if len(a.Staleness) == 0 || a.Staleness[0].Name == "" || a.Staleness[0].Reads == 0 {
			t.Errorf("the staleness of local reads is %+v", a.Staleness)
		}
	}
	for _, name := range []string{"counted", "ranges", "broken"} {
		if w := byName(t, run, name).Verification.Watches; w == nil || w.Events == 0 || w.Watchers == 0 || w.Ended > 0 {
			t.Errorf("trial %s: the results of the watchers are %+v", name, w)
		}
	}
	broken := byName(t, run, "broken").Verification
	if broken.Watches.Progress == 0 || broken.Watches.Resumed == 0 || broken.Leases == nil || broken.Leases.Renewals == 0 || broken.Leases.EndedLeases > 0 {
		t.Errorf("trial \"broken\": the results of the watchers are %+v, and the results of the leases are %+v", broken.Watches, broken.Leases)
	}
	// Every operation that became due was recorded, and every key was read from every member.
	if counted := byName(t, run, "counted"); counted.Verification.Operations != counted.Due+3*200 || counted.Due != 1600 {
		t.Errorf("%d operations were verified, want %d plus 600 reads of the members", counted.Verification.Operations, counted.Due)
	}
	if broken.Indefinite == 0 {
		t.Logf("no write had an indefinite outcome")
	}
	for _, text := range []string{"Verification", "No consistency violation", "Data of m3 after the load verified (200 keys)", "local reads at m", "1 lock: acquired 100 times; wait p50"} {
		if !strings.Contains(p.stdout.String(), text) {
			t.Errorf("the report does not contain %q", text)
		}
	}
	again := w.run(t, "verify", dir).exits(t, exitDone)
	if n := strings.Count(again.stdout.String(), "No consistency violation"); n != 8 {
		t.Errorf("after `verify`, %d trials have no consistency violation, want 8:\n%s", n, again.stdout.String())
	}
}

// TestPlantedLiesAreFound runs loads on null servers of every protocol. About one in a hundred of
// the responses is impossible. Verification must find and classify these responses.
func TestPlantedLiesAreFound(t *testing.T) {
	t.Parallel()
	// For each kind of lie, one in this many responses is a lie; the default is 101. Lies about cas
	// are more frequent, and the load has fewer keys: a response to a cas is wrong only if the cas
	// should have had a conflict, which happens if two clients write the same key at the same time.
	every, keySpace := map[string]int{"cas": 13}, map[string]string{"cas": "8"}
	ofEtcd := map[string][]string{
		"lost":   {"lost write", "stale read"},
		"twice":  {"write applied twice", "unwritten value", "two values at one revision"},
		"absent": {"stale read", "lost write"},
		"behind": {"reordered write", "stale read", "duplicate revision"},
		"cas":    {"compare-and-set on wrong version"},
	}
	ofOthers := map[string][]string{
		"lost":   {"lost write", "stale read", "unjustified conflict", "compare-and-set on wrong version", "unwritten value"},
		"absent": {"lost write", "stale read"},
		"cas":    {"compare-and-set on wrong version"},
	}
	for _, st := range registry.All() {
		if _, ok := st.(store.NullServerProvider); !ok {
			continue
		}
		lies, conns := ofOthers, "8"
		if st.Name() == "etcd" {
			lies, conns = ofEtcd, "4"
		}
		for lie, want := range lies {
			t.Run(st.Name()+" "+lie, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				for seed := range settle.Count(t, manyLies) {
					endpoint := w.nullServer(t, "--protocol", st.Name(), "--script", fmt.Sprintf("lie=%s every %d; delay=uniform(0ms,1ms); seed=%d", lie, cmp.Or(every[lie], 101)+seed, seed))
					trial := w.bench(t, []string{endpoint}, exitFailed, "mixed", "--store", st.Name(), "--mix", "put=4,get=4,cas=2", "--total", "6000", "--conns", conns, "--clients", "16",
						"--key-space-size", cmp.Or(keySpace[lie], "40"), "--verify", "--seed", fmt.Sprint(seed))
					found := uint64(0)
					for _, kind := range want {
						found += trial.Verification.WrongByKind[kind]
					}
					if found == 0 || !strings.Contains(rule(trial, 33), "the store violated a consistency guarantee") || len(trial.Verification.Violations) == 0 {
						t.Errorf("seed %d: the violations found are %v, want one of %q", seed, trial.Verification.WrongByKind, want)
					}
				}
			})
		}
	}
}

const toldScenario = `
name: told
defaults: {store: etcd, endpoints: ["ENDPOINT"], connections: 4, clients: 16, key-space: 40, value-size: 64, timeout: 2s, warmup: 0s, verify: true}
trials:
  - {name: watched, operation: put, total: 4000, watch: {watchers: 24, streams: 6, connections: 2, prev-kv: true}}
  - {name: kept, operation: keepalive, total: 2000}
`

// Verification finds and classifies impossible watch events and leases that expire early, and does
// not accuse a correct server.
func TestLiesToWatchersAreFound(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"":                "",
		"watch=lose":      "missing watch event",
		"watch=duplicate": "duplicate watch event",
		"watch=reorder":   "reordered watch event",
		"watch=invent":    "unwritten value",
		"lie=lease":       "lease ended early",
	}
	for script, want := range all {
		if want == "" && !settle.Long() {
			continue
		}
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for seed := range settle.Count(t, manyLies) {
				code, every := exitFailed, fmt.Sprintf("%s every %d", script, 151+seed)
				if want == "" {
					code, every = exitDone, fmt.Sprintf("seed=%d", seed)
				}
				file := w.file(t, "told.yaml", strings.ReplaceAll(toldScenario, "ENDPOINT", w.nullServer(t, "--script", every)))
				dir := w.path(fmt.Sprint("run", seed))
				w.run(t, "run", file, "--seed", fmt.Sprint(seed), "--out", dir).exits(t, code)
				wrong := map[string]uint64{}
				run := openRun(t, dir, record.Complete)
				for i := range run.Trials {
					for kind, n := range run.Trials[i].Verification.WrongByKind {
						wrong[kind] += n
					}
				}
				if want == "" && len(wrong) > 0 || want != "" && wrong[want] == 0 {
					t.Errorf("seed %d: found %v, want %q", seed, wrong, want)
				}
			}
		})
	}
}

const lockedScenario = `
name: locked
defaults: {store: etcd, endpoints: ["ENDPOINT"], connections: 2, clients: 12, key-space: 1200, value-size: 64, timeout: 5s, warmup: 0s, verify: true}
trials:
  - {name: locked, operation: stm, stm: {keys: 2, locker: lock-client}, total: 600}
`

// Verification finds two kinds of lies: a server that hides other waiters lets two clients hold a
// lock, and a server that responds from an earlier revision lets a fencing token decrease. CI omits
// the server that does not lie.
func TestLiesOfLocksAreFound(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"seed=1":              "",
		"lie=absent every 31": "two lock holders",
		"lie=behind every 31": "fencing token decreased",
	}
	for script, want := range all {
		if want == "" && !settle.Long() {
			continue
		}
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			file := w.file(t, "locked.yaml", strings.ReplaceAll(lockedScenario, "ENDPOINT", w.nullServer(t, "--script", script+"; delay=uniform(0ms,1ms)")))
			code := exitFailed
			if want == "" {
				code = exitDone
			}
			w.run(t, "run", file, "--out", w.path("run")).exits(t, code)
			a := byName(t, openRun(t, w.path("run"), record.Complete), "locked").Verification
			if want == "" && len(a.WrongByKind) > 0 || want != "" && a.WrongByKind[want] == 0 || a.Locks == nil || a.Locks.Acquisitions == 0 {
				t.Errorf("found %v of %+v, want %q", a.WrongByKind, a.Locks, want)
			}
		})
	}
}

// The history of a killed run can be verified up to the point where the history ends. A damaged
// history is reported.
func TestHistoryOfAKilledRunIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	p := w.start(t, "bench", "put", "--endpoints", w.nullServer(t), "--verify", "--val-size", "64", "--timeout", "500ms", "--duration", "10m", "--conns", "2", "--clients", "8", "--key-space-size", "100", "--out", dir)
	folder := filepath.Join(dir, "trial-01-put")
	// Verification cannot decide the effect of an operation that ended less than one timeout before
	// the last record.
	eventually(t, patience, "the history is of more than twice the timeout", func() bool {
		set, err := checked.Open(filepath.Join(folder, checked.Name(1)))
		if err != nil || set.Read(func([]checked.Op) error { return nil }) != nil {
			return false
		}
		return set.CompleteUntil() > int64(500*time.Millisecond) && set.CompleteUntil() < math.MaxInt64
	})
	p.signal(t, syscall.SIGKILL)
	<-p.ended
	again := w.run(t, "verify", dir).exits(t, exitDone)
	if !strings.Contains(again.stdout.String(), "No consistency violation") || !strings.Contains(again.stdout.String(), "the end of the history is missing; only the earlier operations are used") {
		t.Errorf("the output of `verify` for the killed run is\n%s", again.stdout.String())
	}
	w.run(t, "verify", w.path("cache")).exits(t, exitFailed).oneSentence(t)
}

// If a run is killed within one timeout, no response can be verified. The command verify then does
// not succeed.
func TestHistoryOfARunKilledEarlyIsUndecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	p := w.start(t, "bench", "put", "--endpoints", w.nullServer(t), "--verify", "--val-size", "64", "--timeout", "10m", "--duration", "10m", "--clients", "8", "--key-space-size", "100", "--out", dir)
	eventually(t, patience, "the history contains operations", func() (found bool) {
		set, err := checked.Open(filepath.Join(dir, "trial-01-put", checked.Name(1)))
		return err == nil && set.Read(func(all []checked.Op) error { found = found || len(all) > 0; return nil }) == nil && found
	})
	p.signal(t, syscall.SIGKILL)
	<-p.ended
	again := w.run(t, "verify", dir).exits(t, exitNotKnown)
	if !strings.Contains(again.stdout.String(), "None of ") || !strings.Contains(again.stderr.String(), "no response in 1 trial could be verified") {
		t.Errorf("the output is\n%s%s", again.stdout.String(), again.stderr.String())
	}
}

// Loads that cannot be verified are refused before anything runs.
func TestUncheckableLoadsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for args, why := range map[string]string{
		"put --val-size 15 --total 10": "--verify needs values of at least 16 bytes",
		"stm --val-size 8 --total 10":  "--verify needs values of at least 16 bytes",
	} {
		p := w.run(t, append(append([]string{"bench"}, strings.Fields(args)...), "--verify", "--endpoints", "127.0.0.1:1")...)
		p.exits(t, exitUsage).oneSentence(t, why)
	}
}
