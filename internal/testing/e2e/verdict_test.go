//go:build linux

package e2e_test

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// keepCPUsBusy keeps every CPU busy with another process until the test ends.
func keepCPUsBusy(t *testing.T) {
	t.Helper()
	for range runtime.NumCPU() {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // Wait returns an error because the process was killed
		})
	}
}

// The record contains the CPU time that other programs used on the members' machine. If this use
// may have changed the figures, the trial is not valid.
func TestForeignProgramsAreDetected(t *testing.T) {
	w := newWorld(t)
	file := w.file(t, "reads.yaml", `
name: reads
trials:
  - {store: etcd, members: 1, operation: get, consistency: local, connections: 4, clients: 16, key-space: 100, warmup: 500ms, duration: 3s}
`)
	keepCPUsBusy(t)
	dir := w.path("run")
	p := w.run(t, "run", file, "--out", dir)
	p.end(t)
	trial := &openRun(t, dir, record.Complete).Trials[0]
	if trial.ForeignShare == nil || *trial.ForeignShare < 0.1 {
		t.Fatalf("while a busy loop ran on each processor, the measured CPU share of other programs was %s", show(trial.ForeignShare))
	}
	if trial.Verdict.State == verdict.Valid || rule(trial, 23) == "" {
		t.Errorf("the verdict is %+v", trial.Verdict)
	}
}

// The server refuses every second operation immediately. A refused client pauses. While it pauses,
// it has no operation in flight, and the pause is not part of a response time.
func TestRefusedClientsRest(t *testing.T) {
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=5ms; delay=0s every 2; error=unavailable every 2")
	p := w.run(t, "bench", "put", "--endpoints", endpoint, "--conns", "2", "--clients", "8", "--duration", "3s", "--format", "json")
	trial := result(t, p)
	if rule(trial, 4) != "" {
		t.Errorf("the verdict is %+v", trial.Verdict)
	}
	// A successful operation takes 5 ms, and a client pauses for 5 ms after each refusal.
	checkBetween(t, "clients that rest", trial.MeanPausedClients, 8*0.25, 8*0.6)
	checkBetween(t, "clients that rest or are at work", trial.MeanPausedClients+trial.MeanInFlight, 7.9, 8.1)
	checkBetween(t, "the share of errors", float64(trial.Errors)/float64(trial.Due), 0.49, 0.51)
}

// With a thousand clients and a store that takes 200 ms, some of the operations in flight are
// always older than 100 ms. The verdict must not mistake this for a stall at the start of the
// window.
func TestManyClientsAreNoStall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=200ms")
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		trial := w.bench(t, []string{endpoint}, exitDone, "put", "--conns", "10", "--clients", "1000", "--warmup", "1s", "--duration", "3s")
		if trial.InFlightAtStart == 0 || rule(trial, 15) != "" {
			r.Errorf("%d operations were carried in, and the verdict is %+v", trial.InFlightAtStart, trial.Verdict)
		}
	})
}

// If the members of a running cluster run on this machine, quorumbench finds them by their sockets.
// Thus it can report how other programs affected these members.
func TestForeignProgramsNextToAttachedMembersAreDetected(t *testing.T) {
	w := newWorld(t)
	endpoint := w.nullServer(t, "--script", "delay=5ms")
	keepCPUsBusy(t)
	p := w.run(t, "bench", "put", "--endpoints", endpoint, "--conns", "4", "--clients", "16", "--duration", "3s", "--format", "json")
	trial := result(t, p.end(t))
	if trial.ForeignShare == nil || *trial.ForeignShare < 0.1 {
		t.Fatalf("while a busy loop ran on each processor, the measured CPU share of other programs was %s", show(trial.ForeignShare))
	}
	if trial.Verdict.FigureState("p99") == verdict.Valid || rule(trial, 23) == "" {
		t.Errorf("the verdict is %+v", trial.Verdict)
	}
	// The server takes 5 ms in any case, so waiting for a CPU cannot have multiplied the median.
	checkBetween(t, "the possible error of p50", trial.Verdict.Effect.ForFigure("p50"), 0, 3)
}
