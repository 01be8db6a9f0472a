package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// Faults have the same effect on members behind an agent as on local members. A fault that the
// agent does not support is refused before the run.
func TestFaultsOfMembersOnAnAgent(t *testing.T) {
	m := startMachines(t, []string{"127.0.0.63"}, "--heartbeat", "10s")[0]
	c, said := m.conduct(filepath.Join(t.TempDir(), "run"), "isolate m1 at 1s for 1s")
	if err := c.Run(); err == nil || !strings.Contains(said.String(), "the host there is reached via agent") {
		t.Errorf("%v, %q", err, said)
	}
	m.suffers(t, "kill leader at 1s for 100ms", "move-leader follower at 2s", "pause any at 3s for 100ms", "rolling-restart at 4s")
}

// Disk faults work on members behind an agent, and a fault can replace such a member with an empty
// member. The agent removes all its files and processes, even if the controller is killed while all
// members wait for their disks.
func TestFaultsOfDisksOnAnAgent(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("disks that fail on request need /dev/fuse, and root or fusermount3")
	}
	m := startMachines(t, []string{"127.0.0.65"}, "--heartbeat", "10s", "--lease", "1s")[0]
	clean := func() bool {
		mounts, err := os.ReadFile("/proc/self/mounts")
		return err == nil && !strings.Contains(string(mounts), m.dir) && len(findProcessesIn(m.dir)) == 0
	}
	run := m.suffers(t, "power-loss all at 600ms for 50ms", "replace follower at 1s for 50ms")
	if f := run.Trials[0].Faults[0]; f.LostFiles == 0 {
		t.Errorf("the power loss was recorded with no lost files: %+v", f)
	}
	if !clean() {
		t.Errorf("processes or mounts are left below %s, with the processes %v", m.dir, findProcessesIn(m.dir))
	}

	dir := filepath.Join(t.TempDir(), "run")
	c, said := m.conduct(dir, "slow-disk all by 5m at 300ms for 9m")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "the fault has begun", func() bool { return happened(dir, record.FaultBegan) == 1 })
	if err := c.Process.Kill(); err != nil {
		t.Errorf("cannot kill the controller: %v: %s", err, said)
	}
	_ = c.Wait() // the command was killed, so Wait returns an error
	settle.Eventually(t, "nothing is left on the agent's machine", clean)
}

// happened returns the number of events of the given kinds in a run that has a single trial.
func happened(dir string, kinds ...string) (n int) {
	events, _ := os.ReadFile(filepath.Join(dir, "trial-01-first", "events.jsonl"))
	for _, kind := range kinds {
		n += strings.Count(string(events), fmt.Sprintf("%q", kind))
	}
	return n
}

// conduct returns a command that injects faults into the members on the machine, and a buffer that
// receives the command's output.
func (m *machine) conduct(dir, faults string) (*exec.Cmd, *strings.Builder) {
	c := exec.Command("quorumbench", "run", "-", "--out", dir, "--agent-certs", filepath.Dir(m.target.CACert))
	c.Stdin = strings.NewReader(fmt.Sprintf(`
name: faults
hosts: [{name: there, address: '%s', via: agent}, {name: gen, address: 127.0.0.64}]
trials:
- {name: first, store: etcd, members-on: [there], workers-on: [gen], operation: put, rate: 200, connections: 1, duration: 10m, warmup: 0s, key-space: 10, faults: '%s'}
`, m.target.Address, faults))
	said := &strings.Builder{}
	c.Stderr = said
	return c, said
}

// suffers injects faults into the members on the machine, waits until all faults have ended, and
// returns the recorded run.
func (m *machine) suffers(t *testing.T, faults ...string) *record.Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	c, said := m.conduct(dir, strings.Join(faults, ", "))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "all faults have ended", func() bool {
		return happened(dir, record.FaultReady, record.FaultUndone) == len(faults)
	})
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("cannot interrupt the command: %v", err)
	}
	_ = c.Wait() // the command was interrupted, so Wait may return an error
	run, err := record.Open(dir)
	if err != nil || len(run.Trials) != 1 || len(run.Trials[0].Faults) != len(faults) {
		t.Fatalf("%+v, %v: %s", run, err, said)
	}
	for _, f := range run.Trials[0].Faults {
		if f.Failure != "" || f.RecoveredAt == nil {
			t.Errorf("the fault failed, or the store did not recover: %+v", f)
		}
	}
	return run
}
