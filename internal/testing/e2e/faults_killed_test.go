//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// killed is a load with faults. The test kills the program during these faults.
const killed = `
name: killed
defaults: {store: etcd, connections: 4, rate: 100, key-space: 200, warmup: 200ms, operation: put, duration: 10m}
trials:
  - {name: first, faults: [FAULTS]}
`

// A run that is killed during a fault leaves no process, mount, device or route. The next run can
// read its directory as usual.
func TestRunKilledDuringAFaultLeavesNothing(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("disks that fail on request need /dev/fuse, and root or fusermount3")
	}
	if err := network.CheckSupport(); err != nil {
		t.Skip(err)
	}
	for _, of := range []struct {
		name, faults string
		kind         string // kind of the events that the test counts
		times        int    // the test kills the program after this many such events
		rare         bool   // tested only in a long test
	}{
		{"disk and network", "isolate follower at 1s for 100ms, slow-disk follower by 5m at 3s for 9m", record.FaultBegan, 2, false},
		{"joining", "replace follower at 1s for 1ms", record.FaultHealed, 1, false},
		{"replace", "replace leader at 1s for 9m", record.FaultBegan, 1, true},
		{"learner", "add-learner at 1s for 9m", record.FaultStep, 2, true},
		{"upgrade", "rolling-upgrade to default at 1s", record.FaultStep, 1, true},
		{"last of an upgrade", "rolling-upgrade to default at 1s", record.FaultStep, 3, true},
		{"power loss", "power-loss all at 1s for 9m", record.FaultBegan, 1, true},
		{"after a power loss", "power-loss all at 1s for 100ms", record.FaultHealed, 1, true},
		{"full disk", "full-disk all at 1s for 9m", record.FaultBegan, 1, true},
		{"failing disk", "failing-disk leader at 1s for 9m", record.FaultBegan, 1, true},
		{"lying disks", "lying-disk all at 1s for 9m", record.FaultBegan, 1, true},
		{"slow disks", "slow-disk all by 5m at 1s for 9m", record.FaultBegan, 1, true},
		{"slow links", "slow-link all to 50KB/s at 1s for 9m", record.FaultBegan, 1, true},
		{"blackhole", "blackhole all at 1s for 9m", record.FaultBegan, 1, true},
	} {
		if of.rare && !settle.Long() {
			continue
		}
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir := w.path("run")
			p := w.start(t, "run", w.file(t, "killed.yaml", strings.Replace(killed, "FAULTS", of.faults, 1)), "--out", dir)
			p.measuring(t, dir, "trial-01-first")
			eventually(t, patience, "the fault was in its middle", func() bool {
				files, err := record.OpenTrial(dir, "trial-01-first")
				if err != nil {
					return false
				}
				n := 0
				for _, e := range files.Events {
					if e.Kind == record.FaultUndone {
						t.Fatal(e.Text)
					}
					if e.Kind == of.kind {
						n++
					}
				}
				return n >= of.times
			})
			member := addressOf(t, dir)
			p.signal(t, syscall.SIGKILL)
			<-p.ended
			if strings.HasPrefix(member.String(), "198.") {
				nothingLeft(t, w, member)
			}
			eventually(t, patience, "the processes ended", func() bool { return len(w.processes()) == 0 })
			eventually(t, patience, "nothing is mounted", func() bool {
				mounts, err := os.ReadFile("/proc/self/mounts")
				return err == nil && !bytes.Contains(mounts, []byte(w.dir))
			})
			if run, err := record.Open(dir); err != nil || run.State == record.Complete || len(run.Trials) != 1 {
				t.Errorf("after the kill, the run's record is %+v, %v", run, err)
			}
		})
	}
}
