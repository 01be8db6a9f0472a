//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// small is a complete run with short trials. It covers every operation, consistency and target of
// the scenario quick, and an open loop whose rate is a share of a closed loop's throughput.
const small = `
name: small
seed: 7
defaults:
  store: etcd
  settings: {heartbeat-interval: 300, election-timeout: 3000} # a busy machine holds no election
  connections: 8
  clients: 32
  key-space: 500
  duration: 1s
  warmup: 300ms
trials:
  - name: put-{target}
    operation: put
    matrix: {target: [leader, all]}
  - name: get-{consistency}-{target}
    operation: get
    matrix: {consistency: [linearizable, local], target: [leader, all]}
  - name: put-open
    operation: put
    rate: 50% of put-all
`

// The main task of the program, in a shortened form: it measures a real cluster of three members.
func TestRunMeasuresARealCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.run(t, "run", w.file(t, "small.yaml", small), "--out", w.path("run"))
	run := openRun(t, w.path("run"), record.Complete)
	p.exits(t, map[bool]int{false: exitDone, true: exitFailed}[run.Verdict() == verdict.Invalid])

	if len(run.Trials) != 7 || run.Planned != 7 || len(run.Clusters) != 1 {
		t.Fatalf("the run has %d of %d trials on %d clusters", len(run.Trials), run.Planned, len(run.Clusters))
	}
	cluster := run.Clusters[0]
	if len(cluster.Members) != 3 || !cluster.Started || cluster.Version == "" || cluster.Durability == nil || cluster.Durability.FdatasyncP50NS == 0 || cluster.Durability.Fdatasyncs < 100 {
		t.Errorf("the cluster is %+v", cluster)
	}
	for i := range run.Trials {
		checkQuietTrial(t, &run.Trials[i])
		checkRoles(t, &run.Trials[i])
	}
	closed, open := byName(t, run, "put-all"), byName(t, run, "put-open")
	if open.Rate == nil || *open.Rate != closed.PerSecond/2 || open.Started.Before(closed.Started) {
		t.Errorf("put-open has the rate %v, but put-all reached %v", open.Rate, closed.PerSecond)
	}
	checkTable(t, run, p.stdout.String())
	checkLeftovers(t, w.path("run"))
}

// checkQuietTrial checks the conditions that a trial on a complete cluster must meet, even on a
// busy machine.
func checkQuietTrial(t *testing.T, trial *record.Trial) {
	t.Helper()
	if trial.State != record.Complete || trial.Operations == 0 || trial.Errors > 0 || trial.Misses > 0 || len(trial.LostMembers) > 0 {
		t.Errorf("%s: %s, %d operations, %d misses, errors %v, lost %v",
			trial.Name, trial.State, trial.Operations, trial.Misses, trial.ErrorsByKind, trial.LostMembers)
	}
	if trial.Version == "" || trial.Members != 3 || trial.Durability == nil || trial.Machine == nil || trial.SharesMachine == nil || !*trial.SharesMachine {
		t.Errorf("%s: a condition is missing: %+v", trial.Name, trial.Conditions)
	}
	if trial.CPUSeconds <= 0 || trial.CPUPerOp == nil || trial.MaxRSSBytes <= 0 || trial.BytesIn == 0 || trial.BytesOut == 0 {
		t.Errorf("%s: the generator's cost is missing", trial.Name)
	}
	if trial.StoreCPUPerOp == nil || *trial.StoreCPUPerOp <= 0 || trial.StoreMaxRSSBytes == nil {
		t.Errorf("%s: the store's resource use is missing", trial.Name)
	} else {
		checkBetween(t, trial.Name+": the store's resident bytes", *trial.StoreMaxRSSBytes, 3<<20, 3<<30)
	}
	checkBetween(t, trial.Name+": resident bytes", trial.MaxRSSBytes, 1<<20, 64<<20)
	checkBetween(t, trial.Name+": the window's seconds", trial.Seconds, 0.999, 1.1)
}

// checkRoles checks that the leader serves all operations of a trial with `target: leader`, and
// that both roles serve operations of a trial with `target: all`.
func checkRoles(t *testing.T, trial *record.Trial) {
	t.Helper()
	served := map[string]uint64{}
	for _, s := range trial.ByRole {
		served[s.Role] += s.Operations
	}
	if trial.TermChanges > 0 {
		return // the machine was too busy, so members missed heartbeats
	}
	if trial.Target.Mode == kv.LeaderOnly && served["leader"] != trial.Operations {
		t.Errorf("%s: %d operations; operations by role: %v", trial.Name, trial.Operations, served)
	}
	if trial.Target.Mode == kv.AllMembers && (served["leader"] == 0 || served["follower"] == 0 || len(served) != 2) {
		t.Errorf("%s: %d operations; operations by role: %v", trial.Name, trial.Operations, served)
	}
}

// checkTable checks that the table has a line for each trial, with the trial's figures and verdict.
func checkTable(t *testing.T, run *record.Run, out string) {
	t.Helper()
	for i := range run.Trials {
		trial := &run.Trials[i]
		found := false
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			if len(f) < 10 || f[0] != trial.Name || f[1] != trial.Operation || f[3] != trial.Target.String() || (f[2] != trial.Consistency && trial.Consistency != "") {
				continue
			}
			found = found || strings.Contains(line, string(trial.Verdict.State))
		}
		if !found {
			t.Errorf("the table has no line for %s, which is %s:\n%s", trial.Name, trial.Verdict.State, out)
		}
	}
	for _, want := range []string{"p50", "p99.9", "gen CPU/op", "store CPU/op", "store RSS", "verdict", "Run directory: "} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not have %q:\n%s", want, out)
		}
	}
}

// checkLeftovers checks that the members' logs remain and that the members' data was removed.
func checkLeftovers(t *testing.T, dir string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "logs", "cluster-*", "m*.log"))
	if len(logs) == 0 {
		t.Errorf("the run directory %s contains no log of a member", dir)
	}
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil || len(b) == 0 {
			t.Errorf("the log %s has %d bytes, %v", log, len(b), err)
		}
		if bytes.Contains(b, []byte("panic")) {
			t.Errorf("a member crashed: %s", log)
		}
	}
	if dataLeft(dir) {
		t.Errorf("the members' data was not removed from %s", dir)
	}
}

// dataLeft reports whether any member's data remains below dir.
func dataLeft(dir string) bool {
	left := false
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(entry.Name(), "quorumbench-data-") || entry.Name() == "data") {
			left = true
			return filepath.SkipAll
		}
		return nil
	})
	return left
}
