//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// powerScenario ends shortly after the cluster has recovered, so that only little of the lost data
// is written again.
const powerScenario = `
name: power
defaults: {STORE, connections: 3, clients: 12, key-space: 2000, preload: false, timeout: 5s, warmup: 0s, operation: put, duration: 3s, verify: true, allow-volatile: true}
trials:
  - {name: unsafe, UNSAFE}
`

// powerSafely is added to the scenario in a long test. In CI a test in package cluster covers the
// same case.
const powerSafely = `  - {name: safe, faults: [power-loss all by 500ms at 1s for 50ms]}
`

// unsafely contains, for each store, the settings or faults that make the store acknowledge data
// which is not on a disk.
var unsafely = map[string]string{
	"etcd":         "settings: {unsafe-no-fsync: true}, faults: [power-loss all by 500ms at 1s for 50ms]",
	"etcd-gateway": "settings: {unsafe-no-fsync: true}, faults: [power-loss all by 500ms at 1s for 50ms]",
	"etcdv2":       "settings: {unsafe-no-fsync: true}, faults: [power-loss all by 500ms at 1s for 50ms]",
	"zetcd":        "faults: [lying-disk all at 500ms for 700ms]",
	"cetcd":        "faults: [lying-disk all at 500ms for 700ms]",
	"zookeeper":    "settings: {force-sync: false}, faults: [power-loss all by 500ms at 1s for 50ms]",
	"consul":       "faults: [lying-disk all at 500ms for 700ms]",
}

// All members lose power in the middle of a load. A store that syncs still has everything that it
// acknowledged. A store that does not sync, or whose disks lie, has lost some of this data, and
// verification finds the loss.
func TestVerificationFindsPowerLoss(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("disks that fail on request need /dev/fuse, and root or fusermount3")
	}
	some := func(st store.Store) bool { return st.Name() == "etcd" || settle.Long() }
	eachStore(t, some, func(t *testing.T, st store.Store, exec string) {
		w := newWorld(t)
		text := strings.Replace(withStore(powerScenario, st, exec), "UNSAFE", unsafely[st.Name()], 1)
		if settle.Long() {
			text += powerSafely
		}
		dir := w.path("run")
		p := w.run(t, "run", w.file(t, "power.yaml", text), "--out", dir).exits(t, exitFailed)
		run := openRun(t, dir, record.Complete)
		for i := range run.Trials {
			trial := &run.Trials[i]
			a := trial.Verification
			if a == nil || a.Failure != "" || len(trial.Faults) != 1 || trial.Faults[0].EndedAt == nil || trial.Faults[0].Outage == nil || trial.Faults[0].RecoveredAt == nil {
				t.Fatalf("trial %s: the faults are %+v, and the verification is %+v", trial.Name, trial.Faults, a)
			}
			t.Logf("%s: %d operations, %d files lost data, violations %v", trial.Name, a.Operations, trial.Faults[0].LostFiles, a.WrongByKind)
			if trial.Name == "unsafe" && trial.Faults[0].LostFiles == 0 { // a store that syncs each write may have nothing to lose
				t.Errorf("no file lost its unsynced data: %+v", trial.Faults)
			}
			switch lost := a.WrongByKind["lost write"]; {
			case trial.Name == "safe" && (len(a.WrongByKind) > 0 || rule(trial, 33) != ""):
				t.Errorf("data that the store had synced is reported as lost: %v", a.WrongByKind)
			case trial.Name == "unsafe" && (lost == 0 || !strings.Contains(rule(trial, 33), "the store violated a consistency guarantee")):
				t.Errorf("the verification found no lost write for a store that acknowledged unsynced writes: %v, %v", a.WrongByKind, trial.Verdict)
			}
		}
		if !strings.Contains(p.stdout.String(), "lost write, key") {
			t.Errorf("the report does not show a lost write:\n%s", p.stdout.String())
		}
	})
}
