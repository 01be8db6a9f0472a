//go:build linux

package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host/wallclock"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The clock of the process that conducts a run over agents is set by an hour while it
// measures: that is said of it, no agent's clock seems to have jumped, and all times of
// the record are in the minutes in which it ran.
func TestTheClockOfTheControllerIsSet(t *testing.T) {
	if err := wallclock.Possible(); err != nil {
		t.Skip(err)
	}
	all := startMachines(t, []string{"127.0.0.66", "127.0.0.67"}, "--heartbeat", "10s")
	dir := filepath.Join(t.TempDir(), "run")
	c := exec.Command("quorumbench", "run", "-", "--out", dir, "--agent-certs", filepath.Dir(all[0].target.CACert))
	c.Stdin = strings.NewReader(fmt.Sprintf(`
name: clocks
hosts: [{name: db, address: '%s', via: agent}, {name: gen, address: '%s', via: agent}]
trials:
- {name: put, store: etcd, members-on: [db], workers-on: [gen], operation: put, clients: 2, connections: 1, duration: 4s, warmup: 0s, key-space: 10}
`, all[0].target.Address, all[1].target.Address))
	var said heard
	c.Stderr = &said
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended
	settle.Eventually(t, "it measures", func() bool { return strings.Contains(said.String(), "put: measuring") })
	if err := wallclock.Set(c.Process.Pid, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	run.ReadEvents(dir)
	trial := &run.Trials[0]
	if set := trial.ClockSet; set == nil || set.Times != 1 || (time.Duration(set.SetNS)-time.Hour).Abs() > time.Minute || set.Members {
		t.Errorf("how it was set: %+v", set)
	}
	for _, h := range trial.ByHost {
		if h.Clock == nil || h.Clock.Jumps != 0 {
			t.Errorf("the clock of %s: %+v", h.Name, h.Clock)
		}
	}
	for _, r := range trial.Verdict.Reasons {
		if r.Rule == 32 {
			t.Errorf("R32: %s", r.Text)
		}
	}
	if notes := strings.Join(trial.Verdict.Notes, "\n"); !strings.Contains(notes, "the clock of the machine that conducts the run was set during the trial") {
		t.Errorf("the notes are %q", notes)
	}
	times := map[string]time.Time{"the run's beginning": run.Started, "its end": *run.Finished, "the window's opening": *trial.Opened}
	for _, e := range trial.Events {
		times["the event "+e.Kind+": "+e.Text] = e.Time
		if e.Kind == "clock_set" && !strings.Contains(e.Text, "the machine that conducts the run was set forward") {
			t.Errorf("%+v", e)
		}
	}
	for i := range trial.Machines {
		times["a sample of "+trial.Machines[i].Name] = trial.Machines[i].Time
	}
	for what, at := range times {
		if at.Before(began.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s stands at %v, and it began at %v", what, at, began)
		}
	}
}
