//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The bench commands work on a running cluster that `cluster up` has started.
func TestBenchOnAPlayground(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, endpoints := w.playground(t, "3")
	checkStatus(t, w, dir, endpoints)
	client := official.Etcd(t, store.Access{Endpoints: endpoints})
	t.Run("every operation", func(t *testing.T) { benchOperations(t, w, endpoints) })
	t.Run("targets", func(t *testing.T) { benchTargets(t, w, endpoints) })
	t.Run("key space", func(t *testing.T) { benchKeySpace(t, w, endpoints, client) })
	t.Run("seeds", func(t *testing.T) { benchSeeds(t, w, endpoints, client) })
	t.Run("JSON", func(t *testing.T) { benchJSON(t, w, endpoints) })
	t.Run("a run as JSON", func(t *testing.T) { runJSON(t, w, endpoints) })
}

// checkStatus checks that `cluster status` lists three members, one of which is leader, and that a
// second `cluster up` in the folder is refused.
func checkStatus(t *testing.T, w *world, dir string, endpoints []string) {
	t.Helper()
	out := w.run(t, "cluster", "status", "--dir", dir).exits(t, exitDone).stdout.String()
	if len(endpoints) != 3 || !strings.HasPrefix(out, strings.Join(endpoints, ",")+"\n") || strings.Count(out, " leader ") != 1 || strings.Count(out, " follower ") != 2 {
		t.Errorf("the status of %v is:\n%s", endpoints, out)
	}
	w.run(t, "cluster", "up", "--dir", dir).exits(t, exitFailed).oneSentence(t, "cluster down")
}

func benchOperations(t *testing.T, w *world, endpoints []string) {
	const load = "--conns 4 --clients 16 --key-space-size 400 --prefix ops/ "
	for _, test := range []struct {
		args, operation, consistency string
		total                        uint64
	}{
		{"put " + load + "--total 301", "put", "", 301},
		{"put " + load + "--total 300 --rate 1000", "put", "", 300},
		{"put " + load + "--total 300 --rate 1000 --arrival poisson", "put", "", 300},
		{"get " + load + "--total 301", "get", "linearizable", 301},
		{"get " + load + "--total 301 --consistency s --distribution zipfian", "get", "local", 301},
		{"mixed " + load + "--total 301 --put-weight 1 --get-weight 3", "mixed", "linearizable", 301},
		{"range ops/00000000 --total 101", "range", "linearizable", 101},
		{"range ops/ ops0 --limit 20 --total 101 --consistency local", "range", "local", 101},
		{"delete " + load + "--total 301", "delete", "", 301},
	} {
		trial := w.bench(t, endpoints, exitDone, strings.Fields(test.args)...)
		if trial.Operation != test.operation || trial.Consistency != test.consistency {
			t.Errorf("%s: the result has the operation %s and the consistency %q", test.args, trial.Operation, trial.Consistency)
		}
		if trial.Due != test.total || trial.Operations != test.total || trial.Errors+trial.Misses+trial.WrongResponses > 0 {
			t.Errorf("%s: %d due, %d operations, %d misses, errors %v", test.args, trial.Due, trial.Operations, trial.Misses, trial.ErrorsByKind)
		}
		// If the number of operations is given, the window ends with the last operation.
		if trial.Rate == nil && trial.Completed != test.total {
			t.Errorf("%s: %d operations completed in the window", test.args, trial.Completed)
		}
	}
}

func benchTargets(t *testing.T, w *world, endpoints []string) {
	for target, want := range map[string]struct {
		members       int
		roles, unlike string
	}{
		"leader": {1, "leader", "follower"}, "followers": {2, "follower", "leader"},
		"all": {3, "leader follower", ""}, "any": {3, "leader follower", ""}, "member:2": {1, "", ""},
	} {
		// With most targets, quorumbench finds the other members from one endpoint. With the target
		// `any`, it uses only the given endpoints.
		given := endpoints[:1]
		if target == "any" {
			given = endpoints
		}
		trial := w.bench(t, given, exitDone, "get", "--target", target, "--total", "240", "--conns", "6", "--clients", "12", "--key-space-size", "50", "--prefix", "targets/")
		if trial.Target.String() != target || len(trial.Endpoints) != want.members || trial.Members != 3 {
			t.Errorf("target %s is recorded as %s with the endpoints %v and %d members", target, trial.Target, trial.Endpoints, trial.Members)
		}
		served := ""
		for _, s := range trial.ByRole {
			served += s.Role + " "
		}
		for _, role := range strings.Fields(want.roles) {
			if !strings.Contains(served, role) {
				t.Errorf("target %s was served by the roles %s", target, served)
			}
		}
		if want.unlike != "" && strings.Contains(served, want.unlike) || strings.Contains(served, "unknown") {
			t.Errorf("target %s was served by the roles %s", target, served)
		}
		if target == "member:2" && !slices.Equal(trial.Endpoints, endpoints[1:2]) {
			t.Errorf("member 2 of %v is recorded as %v", endpoints, trial.Endpoints)
		}
	}
	w.run(t, "bench", "put", "--endpoints", endpoints[0], "--target", "member:4").exits(t, exitFailed).oneSentence(t, "member:4", "3 members")
}

// A load never creates more keys than its key space contains (etcd's benchmark created 1,169 keys
// in a key space of 1,000).
func benchKeySpace(t *testing.T, w *world, endpoints []string, client *clientv3.Client) {
	w.bench(t, endpoints, exitDone, "put", "--sequential-keys", "--key-space-size", "200", "--total", "600", "--conns", "4", "--clients", "16",
		"--prefix", "p/", "--val-size", "64")
	before := keysOf(t, client, "p/")
	if len(before) != 200 {
		t.Errorf("the cluster has %d keys, want 200", len(before))
	}
	for key, size := range before {
		if len(key) != 8 || size != 64 {
			t.Fatalf("the key %q has %d bytes and its value has %d bytes", key, len(key), size)
		}
	}
	for _, distribution := range []string{"uniform", "zipfian", "hotspot"} {
		w.bench(t, endpoints, exitDone, "put", "--distribution", distribution, "--key-space-size", "200", "--total", "400", "--conns", "4", "--clients", "16",
			"--prefix", "p/", "--val-size", "64", "--seed", "9")
	}
	after := keysOf(t, client, "p/")
	for key := range after {
		if _, there := before[key]; !there {
			t.Fatalf("the key %q is outside the key space", key)
		}
	}
	// After a preload, every key exists.
	w.bench(t, endpoints, exitDone, "get", "--key-space-size", "177", "--total", "10", "--prefix", "preloaded/")
	if n := len(keysOf(t, client, "preloaded/")); n != 177 {
		t.Errorf("after the preload, the cluster has %d keys, want 177", n)
	}
}

// Operation n depends only on the seed and on n, not on the client that sends the operation.
func benchSeeds(t *testing.T, w *world, endpoints []string, client *clientv3.Client) {
	sets := map[string]map[string]int{}
	for prefix, args := range map[string]string{
		"a/": "--seed 5 --conns 1", "b/": "--seed 5 --conns 4 --clients 32", "c/": "--seed 6 --conns 4 --clients 32",
	} {
		w.bench(t, endpoints, exitDone, append([]string{"put", "--total", "200", "--key-space-size", "100000", "--prefix", prefix}, strings.Fields(args)...)...)
		sets[prefix] = keysOf(t, client, prefix)
	}
	common := func(x, y map[string]int) (n int) {
		for key := range x {
			if _, there := y[key]; there {
				n++
			}
		}
		return n
	}
	if n := common(sets["a/"], sets["b/"]); n != len(sets["a/"]) || n != len(sets["b/"]) || n < 195 {
		t.Errorf("two loads with the same seed wrote %d and %d keys, of which %d are the same", len(sets["a/"]), len(sets["b/"]), n)
	}
	if n := common(sets["a/"], sets["c/"]); n > 10 {
		t.Errorf("a load with another seed wrote %d of the same keys", n)
	}
}

// keysOf returns the keys below a prefix, without the prefix, and the size of each value.
func keysOf(t *testing.T, client *clientv3.Client, prefix string) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]int{}
	for _, pair := range r.Kvs {
		keys[strings.TrimPrefix(string(pair.Key), prefix)] = len(pair.Value)
	}
	return keys
}

// promised lists the fields that the output of --format json must have.
const promised = `schema store version operation consistency members rate seed load seconds due operations
	errors conflicts wrong_responses errors_by_kind operations_per_second longest_gap_seconds failed_from_percentile
	response_time_ns success_response_time_ns service_time_ns client_cpu_seconds client_max_rss_bytes verdict`

// benchJSON checks that standard output is one JSON object with the promised fields, all of
// which are documented. CI runs three of the commands.
func benchJSON(t *testing.T, w *world, endpoints []string) {
	docs := ""
	for _, page := range []string{"files.md", "figures.md"} {
		text, err := os.ReadFile("../../../docs/reference/" + page)
		if err != nil {
			t.Fatal(err)
		}
		docs += string(text)
	}
	for _, args := range settle.Sample(t, 3, []string{
		"put --total 300 --rate 1000", "mixed --total 300 --conns 2", "range a b --total 300",
		"put --total 300 --distribution zipfian:0.8", "put --total 300 --distribution hotspot:0.1:0.9",
	}) {
		line := append([]string{"bench"}, strings.Fields(args)...)
		p := w.run(t, append(line, "--endpoints", strings.Join(endpoints, ","), "--format", "json")...).exits(t, exitDone)
		fields := object(t, p.stdout.String())
		for name := range fields {
			if !strings.Contains(docs, "`"+name+"`") {
				t.Errorf("docs/reference does not have the field %s", name)
			}
		}
		for _, name := range strings.Fields(promised) {
			value, there := fields[name]
			if !there {
				t.Errorf("bench %s: the output has no field %s", args, name)
			}
			if times, is := value.(map[string]any); is && strings.HasSuffix(name, "_time_ns") {
				checkTimes(t, name, times)
			}
		}
		if judged, _ := fields["verdict"].(map[string]any); judged["state"] == nil || judged["reasons"] == nil {
			t.Errorf("bench %s: the verdict is %v", args, fields["verdict"])
		}
		if left, err := os.ReadDir(w.path("tmp")); err != nil || len(left) > 0 {
			t.Errorf("bench %s left the temporary files %v, %v", args, left, err)
		}
	}
}

// runJSON checks that `run --format json` prints the run as a single object that is equal to
// run.json.
func runJSON(t *testing.T, w *world, endpoints []string) {
	file := w.file(t, "attached.yaml", "name: attached\ntrials: [{store: etcd, operation: put, endpoints: ["+strings.Join(endpoints, ", ")+
		"], total: 100, warmup: 0s, connections: 2, clients: 2, repeats: 2}]\n")
	p := w.run(t, "run", file, "--format", "json", "--out", w.path("json")).exits(t, exitDone)
	object(t, p.stdout.String())
	run, err := record.Parse([]byte(p.stdout.String()))
	if err != nil {
		t.Fatal(err)
	}
	kept := openRun(t, w.path("json"), record.Complete)
	kept.Dir = "" // the JSON text does not contain the folder
	for i := range kept.Trials {
		kept.Trials[i].AttachedData = record.AttachedData{}
	}
	if diff := cmp.Diff(kept, run); diff != "" {
		t.Errorf("-run.json +printed:\n%s", diff)
	}
	if len(run.Trials) != 2 || run.Trials[0].Due != 100 || run.Trials[1].Repeat != 2 {
		t.Errorf("the run has %d trials, want 2", len(run.Trials))
	}
}

func checkTimes(t *testing.T, name string, times map[string]any) {
	t.Helper()
	whole := regexp.MustCompile(`^\d+$`)
	for _, figure := range strings.Fields("min mean stddev p10 p25 p50 p75 p90 p95 p99 p99_9 max") {
		value, there := times[figure]
		if !there || value != nil && !whole.MatchString(fmt.Sprint(value)) {
			t.Errorf("%s.%s is %v, present: %v", name, figure, value, there)
		}
	}
	if times["p99"] != nil || times["p99_9"] != nil || times["p50"] == nil || times["max"] == nil {
		t.Errorf("with 300 operations, %s is %v", name, times)
	}
}

// If two of three members are dead, nothing can be written. quorumbench still exits, but etcd's
// benchmark waits forever.
func TestClusterWithoutQuorumEnds(t *testing.T) {
	settle.LongOnly(t, "TestHungLeaderHoldsClients")
	t.Parallel()
	w := newWorld(t)
	dir, endpoints := w.playground(t, "3")
	for _, name := range []string{"m1", "m2"} {
		if err := syscall.Kill(w.member(t, name), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	alive := endpoints[2:]
	// quorumbench cannot determine whether the prefix has keys, so it writes nothing.
	for _, load := range []string{"--conns 3 --clients 9", "--rate 100"} {
		args := append([]string{"bench", "put", "--endpoints", alive[0], "--timeout", "1s", "--duration", "2s"}, strings.Fields(load)...)
		w.run(t, args...).exits(t, exitFailed).oneSentence(t, "quorumbench.quorumbench-run", alive[0])
	}
	// The preload cannot read the existing keys, so the command soon gives up.
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		began := time.Now()
		get := w.run(t, "bench", "get", "--endpoints", alive[0], "--timeout", "1s", "--duration", "3s")
		get.exits(t, exitFailed).oneSentence(t, alive[0])
		checkBetween(r, "the duration of a load that cannot begin", time.Since(began), 0, 30*time.Second)
	})
	// For a local read, one running member is enough.
	local := w.bench(t, alive, exitDone, "get", "--no-preload", "--consistency", "local", "--duration", "500ms")
	if local.Operations == 0 || local.Errors > 0 {
		t.Errorf("local reads: %d operations, errors %v", local.Operations, local.ErrorsByKind)
	}
	for _, args := range [][]string{{"--endpoints", alive[0], "--target", "leader"}, {"--endpoints", strings.Join(endpoints, ",")}} {
		w.run(t, append([]string{"bench", "put", "--duration", "1s"}, args...)...).exits(t, exitFailed).oneSentence(t)
	}
	w.run(t, "cluster", "status", "--dir", dir).exits(t, exitFailed).oneSentence(t, "leader")
}
