package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Members on another machine are killed, started again and asked for their own work
// as those on this one; what cannot be done there is told beforehand.
func TestFaultsOfMembersOnAnAgent(t *testing.T) {
	m := startMachines(t, []string{"127.0.0.63"}, "--heartbeat", "10s")[0]
	const faults = "kill leader at 1s for 100ms, move-leader follower at 2s, pause any at 3s for 100ms, rolling-restart at 4s"
	conduct := func(dir, faults string) (*exec.Cmd, *strings.Builder) {
		c := exec.Command("quorumbench", "run", "-", "--out", dir, "--agent-certs", filepath.Dir(m.target.CACert))
		c.Stdin = strings.NewReader(fmt.Sprintf(`
name: faults
hosts: [{name: there, address: '%s', via: agent}, {name: gen, address: 127.0.0.64}]
trials:
- {name: first, store: etcd, members-on: [there], workers-on: [gen], operation: put, clients: 2, connections: 1, duration: 10m, warmup: 0s, key-space: 10, faults: '%s'}
`, m.target.Address, faults))
		said := &strings.Builder{}
		c.Stderr = said
		return c, said
	}
	c, said := conduct(filepath.Join(t.TempDir(), "run"), "replace m1 at 1s for 1s")
	if err := c.Run(); err == nil || !strings.Contains(said.String(), "the host there is reached via agent") {
		t.Errorf("%v, %q", err, said)
	}

	dir := filepath.Join(t.TempDir(), "run")
	c, said = conduct(dir, faults)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	over := func() bool {
		files, err := record.OpenTrial(dir, "trial-01-first")
		if err != nil {
			return false
		}
		n := 0
		for _, e := range files.Events {
			if slices.Contains([]string{record.FaultReady, record.FaultUndone}, e.Kind) {
				n++
			}
		}
		return n == 4
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(3 * time.Minute)
	for done := false; !done; {
		select {
		case <-ticker.C:
			done = over()
		case <-limit:
			done = true
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("it ended: %v", err)
	}
	_ = c.Wait() // it was interrupted
	run, err := record.Open(dir)
	if err != nil || len(run.Trials) != 1 || len(run.Trials[0].Faults) != 4 {
		t.Fatalf("%+v, %v: %s", run, err, said)
	}
	for _, f := range run.Trials[0].Faults {
		if f.Failure != "" || f.Ready == nil {
			t.Errorf("the fault came to nothing: %+v", f)
		}
	}
}
