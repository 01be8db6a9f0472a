//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

const powerScenario = `
name: power
defaults: {store: etcd, connections: 3, clients: 12, key-space: 60, timeout: 5s, warmup: 0s, mix: {put: 3, get: 1}, duration: 3s, check: true}
trials:
  - {name: safe, faults: [power-loss all at 1s for 200ms]}
  - {name: unsafe, settings: {unsafe-no-fsync: true}, faults: [power-loss all at 1s for 200ms]}
`

// The power of all members goes in the middle of a load. What etcd had acknowledged is
// there afterwards; where it does not sync, it is not, and the check of the answers
// finds that.
func TestPowerLossIsFoundByTheCheck(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("disks that fail on request need /dev/fuse, and root or fusermount3")
	}
	w := newWorld(t)
	dir := w.path("run")
	p := w.run(t, "run", w.file(t, "power.yaml", powerScenario), "--out", dir).exits(t, exitFailed)
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Trials {
		trial := &run.Trials[i]
		a := trial.Answers
		if a == nil || a.Failure != "" || len(trial.Faults) != 1 || trial.Faults[0].Began == nil || trial.Faults[0].Failure != "" {
			t.Fatalf("of %s, the faults are %+v and the answers %+v", trial.Name, trial.Faults, a)
		}
		t.Logf("%s: %d operations, %v", trial.Name, a.Operations, a.Wrong)
		if trial.Name == "safe" {
			if len(a.Wrong) > 0 || trial.Faults[0].LostFiles == 0 {
				t.Errorf("a store that syncs is accused: %v, and %d files lost something", a.Wrong, trial.Faults[0].LostFiles)
			}
			continue
		}
		if a.Wrong["lost write"] == 0 || !strings.Contains(rule(trial, 33), "the store answered wrongly") {
			t.Errorf("a store that does not sync lost nothing: %v, %v", a.Wrong, trial.Verdict)
		}
	}
	if !strings.Contains(p.stdout.String(), "lost write, key") {
		t.Error("the report does not show a lost write")
	}
}
