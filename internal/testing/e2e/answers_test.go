//go:build linux

package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// A correct response is never reported as wrong. Followers of Consul and ZooKeeper briefly lag
// behind the leader: they still have the values of an earlier run, or no values. So after the
// preload, the generator waits until all members have caught up.
func TestPreloadReachesEveryMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoints := strings.Split(w.nullServer(t, "--members", "3", "--script", "lag=400ms"), ",")
	for _, before := range [][]string{nil, {"--val-size", "8"}, {"--val-size", "64", "--seed", "7"}} {
		if before != nil {
			w.bench(t, endpoints, exitDone, append([]string{"put", "--total", "1000", "--key-space-size", "1000", "--sequential-keys"}, before...)...)
		}
		for _, kind := range []string{"get --consistency s", "mixed --consistency s"} {
			args := append(strings.Fields(kind), "--target", "all", "--total", "3000", "--conns", "6", "--clients", "12", "--key-space-size", "1000", "--val-size", "256")
			if kind[:3] == "mix" {
				args = append(args, "--put-weight", "1", "--get-weight", "9")
			}
			trial := w.bench(t, endpoints, exitDone, args...)
			if trial.Misses+trial.WrongResponses+trial.Stale+trial.Unverifiable+trial.Errors > 0 || trial.Operations != 3000 {
				t.Errorf("%s after %v: %d operations, %d misses, %d wrong, %d stale, %d unverifiable, errors %v",
					kind, before, trial.Operations, trial.Misses, trial.WrongResponses, trial.Stale, trial.Unverifiable, trial.ErrorsByKind)
			}
		}
	}
}

// Without a preload, a load reads values from earlier runs. Values of another size count as stale,
// and values of less than 16 bytes count as unverifiable. Neither makes a run invalid.
func TestValuesOfEarlierRunsAreNotWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoints := []string{w.nullServer(t)}
	for _, test := range []struct {
		wrote, read           string
		ok, stale, unverified uint64
	}{
		{"64 --seed 1", "64 --seed 2", 500, 0, 0},
		{"64 --seed 3", "65", 0, 500, 0},
		{"8", "256", 0, 0, 500},
		{"8", "8", 0, 0, 500},
		{"15 --seed 9", "16", 0, 0, 500},
		{"16", "15", 0, 500, 0},
	} {
		w.bench(t, endpoints, exitDone, append(strings.Fields("put --total 500 --key-space-size 500 --sequential-keys --val-size"), strings.Fields(test.wrote)...)...)
		for _, level := range []string{"l", "s"} {
			trial := w.bench(t, endpoints, exitDone, append(strings.Fields("get --no-preload --total 500 --key-space-size 500 --consistency "+level+" --val-size"), strings.Fields(test.read)...)...)
			if trial.Operations != 500 || trial.WrongResponses > 0 || trial.Stale != test.stale || trial.Unverifiable != test.unverified {
				t.Errorf("values written with %s and read with %s at level %s: %d stale, %d unverifiable, %d wrong", test.wrote, test.read, level, trial.Stale, trial.Unverifiable, trial.WrongResponses)
			}
			if notes := strings.Join(trial.Notes, " "); (test.stale > 0) != strings.Contains(notes, "500 reads were stale") ||
				(test.unverified > 0) != strings.Contains(notes, "cannot verify it") {
				t.Errorf("the notes are %q", notes)
			}
		}
	}
}

// A damaged value is a wrong response, both in a range and in a read of a single key.
func TestDamagedValuesAreWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoints := []string{w.nullServer(t, "--script", "wrong=value every 701")}
	trial := w.bench(t, endpoints, exitFailed, strings.Fields("get --total 5000 --conns 2 --clients 2 --key-space-size 300")...)
	if trial.WrongResponses < 6 || trial.WrongResponses > 8 || trial.ErrorTexts["wrong_response"] != "a value that was never written to this key" {
		t.Errorf("%d responses were wrong, %v", trial.WrongResponses, trial.ErrorTexts)
	}
	file := w.file(t, "ranges.yaml", `
name: ranges
defaults: {store: etcd, endpoints: ["`+endpoints[0]+`"], clients: 2, connections: 2, key-space: 300, value-size: 64, total: 5000, warmup: 0s, preload: true}
trials:
  - {name: ranges, operation: range, range-limit: 10}
  - {name: reads, operation: txn-get, range-limit: 5}
`)
	w.run(t, "run", file, "--out", w.path("run")).exits(t, exitFailed)
	run, err := record.Open(w.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Trials {
		if n := run.Trials[i].WrongResponses; n < 6 || n > 8 {
			t.Errorf("%s: %d responses were wrong", run.Trials[i].Name, n)
		}
	}
}

// A wrong response in the warm-up counts, too. The load has 100 writes and then 1,700 reads. The
// server damages the response to the thousandth operation, which is one of the 1,200 reads of the
// warm-up.
func TestWrongAnswersInTheWarmUpCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "wrong=value every 1000")
	trial := w.bench(t, []string{endpoint}, exitFailed, strings.Fields("get --conns 2 --rate 1000 --warmup 1200ms --duration 500ms --key-space-size 100")...)
	if trial.WrongResponses > 0 || rule(trial, 3) == "" {
		t.Errorf("the window has %d wrong responses, and the verdict is %+v", trial.WrongResponses, trial.Verdict)
	}
}

// The report mentions range reads that return no keys, and counts the keys that range reads return.
func TestRangesCountTheirKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoints := []string{w.nullServer(t)}
	w.bench(t, endpoints, exitDone, strings.Fields("put --total 100 --key-space-size 100 --sequential-keys --prefix r/")...)
	for _, test := range []struct {
		args         string
		keys, misses uint64
	}{
		{"range r/ r0 --total 50", 5000, 0},
		{"range r/ r0 --total 50 --limit 7", 350, 0},
		{"range r/ r0 --total 50 --keys-only --paginate", 5000, 0},
		{"range r/ r0 --total 50 --count-only", 5000, 0},
		{"range x y --total 50", 0, 50},
		{"range r/00000004 --total 50", 50, 0},
		{"get --no-preload --total 50 --key-space-size 100 --prefix r/ --val-size 8", 50, 0},
		{"get --no-preload --total 50 --key-space-size 100 --prefix s/ --val-size 8", 0, 50},
	} {
		trial := w.bench(t, endpoints, exitDone, strings.Fields(test.args)...)
		if trial.KeysRead == nil || *trial.KeysRead != test.keys || trial.Misses != test.misses || trial.Errors > 0 {
			t.Errorf("%s: %v keys, %d misses, errors %v", test.args, trial.KeysRead, trial.Misses, trial.ErrorTexts)
		}
		nothing := slices.ContainsFunc(trial.Verdict.Reasons, func(r verdict.Reason) bool { return strings.HasPrefix(r.String(), "R18") })
		if nothing != (test.misses > 0) {
			t.Errorf("%s: %v", test.args, trial.Verdict)
		}
	}
	out := w.run(t, "bench", "range", "r/", "r0", "--total", "50", "--endpoints", endpoints[0]).exits(t, exitDone).stdout.String()
	if !strings.Contains(out, "5,000 (100 per operation)") {
		t.Errorf("the output does not contain the number of keys that were read:\n%s", out)
	}
}

// Before the load, quorumbench tries only the operations that the load will use, because servers
// that imitate etcd may not support serializable reads.
func TestOnlyUsedOperationsAreTried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "refuse=local")
	for _, args := range []string{
		"put --total 300", "put --total 300 --preload --key-space-size 50", "txn-put --total 300", "delete --total 300",
		"get --consistency l --total 300 --key-space-size 50", "mixed --consistency l --total 300 --key-space-size 50", "range 0 1 --consistency l --total 30",
	} {
		trial := w.bench(t, []string{endpoint}, exitDone, strings.Fields(args)...)
		if trial.Errors > 0 || trial.Operations != trial.Due {
			t.Errorf("%s: %d operations, errors %v", args, trial.Operations, trial.ErrorTexts)
		}
	}
	for _, args := range []string{"get --consistency s", "range 0 1 --consistency s"} {
		w.run(t, append([]string{"bench", "--endpoints", endpoint}, strings.Fields(args)...)...).exits(t, exitFailed).
			oneSentence(t, " failed: serializable is not implemented")
	}
}

// For every store: a value of an earlier load, which a lagging follower may return, is not a wrong
// response. After the preload, every member has every key. Each operation is attributed to a leader
// or a follower. An operation on a proxy is attributed to the role of the server to which the proxy
// forwards.
func TestPreloadReachesEveryMemberOfEveryStore(t *testing.T) {
	t.Parallel()
	const file = `
order: written
defaults: {STORE, members: 3, target: all, connections: 33, clients: 33, key-space: 300, distribution: sequential, warmup: 0s}
trials:
  - {name: small, operation: put, total: 300, value-size: 8}
  - {name: local, operation: get, consistency: local, total: 1000, value-size: 256, distribution: uniform, preload: true}
`
	eachStore(t, nil, func(t *testing.T, st store.Store, exec string) {
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			w := newWorld(t)
			if !w.run(t, "run", w.file(t, "preload.yaml", withStore(file, st, exec)), "--out", w.path("run")).preloads(t, r) {
				return
			}
			run := openRun(t, w.path("run"), record.Complete)
			checkByRole(t, &run.Trials[0])
			checkByRole(t, &run.Trials[1])
			trial := &run.Trials[1]
			if trial.Misses+trial.WrongResponses+trial.Stale+trial.Unverifiable > 0 || trial.Operations != 1000 {
				t.Errorf("%d operations, %d misses, %d wrong, %d stale, %d unverifiable, errors %v",
					trial.Operations, trial.Misses, trial.WrongResponses, trial.Stale, trial.Unverifiable, trial.ErrorTexts)
			}
		})
	})
}

// TestWrongAnswersAreViolations checks that wrong responses that the client detects on arrival
// appear in the report's section on responses and in the record, and that the command `verify`
// fails because of these responses. CI tests two of the protocols.
func TestWrongAnswersAreViolations(t *testing.T) {
	t.Parallel()
	for _, protocol := range settle.Sample(t, 2, []string{"etcd", "etcdv2", "zookeeper", "consul"}) {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			endpoint := w.nullServer(t, "--protocol", protocol, "--memory", "--script", "wrong=value every 50")
			p := w.run(t, "bench", "mixed", "--store", protocol, "--total", "2000", "--key-space-size", "500", "--verify", "--out", w.path("run"), "--endpoints", endpoint).exits(t, exitFailed)
			if out := p.stdout.String(); strings.Contains(out, "No consistency violation") || !strings.Contains(out, "does not match the request") {
				t.Errorf("the output does not report the wrong responses:\n%s", out)
			}
			run, err := record.Open(w.path("run"))
			if err != nil {
				t.Fatal(err)
			}
			trial := &run.Trials[0]
			if n := trial.Verification.WrongByKind["wrong response"]; n < trial.WrongResponses || trial.WrongResponses == 0 {
				t.Errorf("the window has %d wrong responses, but the verification recorded %d", trial.WrongResponses, n)
			}
			w.run(t, "verify", w.path("run")).exits(t, exitFailed)
		})
	}
}
