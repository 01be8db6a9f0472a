package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// patience limits the wait for an event that should occur almost immediately.
const patience = 2 * time.Minute

// background is a command line that runs in a separate process.
type background struct {
	*exec.Cmd
	stdout bytes.Buffer
	lines  *bufio.Scanner // reads the process's standard error
	close  func()
}

// start starts a command, and kills it if it still runs after five minutes.
func start(t *testing.T, args ...string) *background {
	t.Helper()
	b := &background{Cmd: exec.Command("quorumbench", args...)}
	b.Stdout = &b.stdout
	stderr, err := b.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.lines = bufio.NewScanner(stderr)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(5*time.Minute, func() { _ = b.Process.Kill() })
	t.Cleanup(func() { limit.Stop(); _ = b.Process.Kill() })
	b.close = func() { _, _ = io.Copy(io.Discard, stderr) }
	return b
}

// await reads the process's standard error until a line contains the text.
func (b *background) await(t *testing.T, text string) {
	t.Helper()
	said := ""
	for b.lines.Scan() {
		if strings.Contains(b.lines.Text(), text) {
			return
		}
		said += b.lines.Text() + "\n"
	}
	t.Fatalf("the command ended without printing %q; it printed\n%s", text, said)
}

// end waits for the process and returns its exit code.
func (b *background) end() int {
	for b.lines.Scan() {
	}
	b.close()
	_ = b.Wait() // the caller checks the exit code
	return b.ProcessState.ExitCode()
}

func startNullServer(t testing.TB, args ...string) (endpoints string) {
	t.Helper()
	endpoints, stop, err := startNull(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("cannot stop the null server: %v", err)
		}
	})
	return endpoints
}

func TestInterruptPrintsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	endpoints := startNullServer(t, "--script", "delay=1ms")
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		dir := filepath.Join(t.TempDir(), "run")
		b := start(t, "bench", "put", "--endpoints", endpoints, "--duration", "10m", "--out", dir, "--format", "json")
		b.await(t, "measuring")
		if err := b.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := b.end(); code != command.ExitInterrupted {
			t.Errorf("%v: exit code %d, not %d", signal, code, command.ExitInterrupted)
		}
		object, err := oneObject(b.stdout.String())
		if err != nil {
			t.Fatalf("%v: cannot parse the output: %v in %q", signal, err, b.stdout.String())
		}
		if state, err := fieldOf(object, "state"); state != string(record.Interrupted) {
			t.Errorf("%v: the trial's state is %q, %v", signal, state, err)
		}
		run, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if run.State != record.Interrupted || len(run.Trials) != 1 || run.Trials[0].Operations == 0 {
			t.Errorf("%v: the record is %s with %d trials", signal, run.State, len(run.Trials))
		}
	}
}

// If a server never responds, operations stay in flight until their timeout. After the first
// interrupt, quorumbench waits for these operations. After the second interrupt, it does not wait.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	endpoints := startNullServer(t, "--script", "never every 50")
	t.Setenv("TMPDIR", t.TempDir()) // a killed process cannot remove its record
	b := start(t, "bench", "put", "--endpoints", endpoints, "--duration", "10m", "--timeout", "10m")
	b.await(t, "measuring")
	if err := b.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.await(t, "stopping")
	if err := b.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.end()
	if status, ok := b.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("the process ended with %v, want its end by SIGINT", b.ProcessState)
	}
}

// slowServer returns the path of a server program that never becomes ready.
func slowServer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInterruptedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	server := slowServer(t)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		dir := filepath.Join(t.TempDir(), "cluster")
		b := start(t, "cluster", "up", "--members", "1", "--exec", server, "--dir", dir)
		look := time.NewTicker(10 * time.Millisecond)
		for deadline := time.Now().Add(patience); ; <-look.C {
			if _, err := os.Stat(filepath.Join(dir, "m1")); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("no member was started")
			}
		}
		look.Stop()
		if err := b.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		b.await(t, "quorumbench: interrupted; no member is left running")
		if code := b.end(); code != command.ExitInterrupted {
			t.Errorf("%v: exit code %d", signal, code)
		}
		if left, err := os.ReadDir(dir); !os.IsNotExist(err) {
			t.Errorf("%v: the folder still contains %v, %v", signal, left, err)
		}

		out := filepath.Join(t.TempDir(), "run")
		b = start(t, "run", "--exec", server, "--out", out)
		b.await(t, "starting the etcd cluster")
		if err := b.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := b.end(); code != command.ExitInterrupted {
			t.Errorf("%v: the command run ended with exit code %d", signal, code)
		}
		if _, err := os.Stat(filepath.Join(out, "data")); !os.IsNotExist(err) {
			t.Errorf("%v: the data folder was not removed: %v", signal, err)
		}
		if run, err := record.Open(out); err != nil || run.State != record.Interrupted {
			t.Errorf("%v: the record is %+v, %v", signal, run, err)
		}
	}
}

// After an interrupt, `break` prints how many operations had succeeded, and stops its cluster.
func TestInterruptedBreakPrintsItsProgress(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	b := start(t, "break", "kill leader", "--rate", "50", "--clients", "3", "--out", out)
	b.await(t, "operations,")
	if err := b.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.await(t, "quorumbench: interrupted; the cluster has been stopped")
	if code := b.end(); code != command.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if out := b.stdout.String(); !strings.HasPrefix(out, "INTERRUPTED after ") || !strings.HasSuffix(out, " operations succeeded\n") {
		t.Errorf("the command prints %q", out)
	}
	if run, err := record.Open(out); err != nil || run.State != record.Interrupted {
		t.Errorf("the record is %+v, %v", run, err)
	}
}

// If the command `report` is interrupted while it writes files, it still completes the files, so
// that no partial report remains.
func TestInterruptedReportIsComplete(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if code := Main([]string{"bench", "put", "--endpoints", startNullServer(t), "--total", "100", "--out", dir},
		strings.NewReader(""), io.Discard, io.Discard); code != command.ExitSuccess {
		t.Fatal(code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	a := &commandLine{&command.App{Stdin: strings.NewReader(""), Stdout: command.NewOutput(io.Discard), Stderr: &stderr, Catalog: registry.Catalog{}}}
	files := filepath.Join(t.TempDir(), "files")
	err := a.execute(ctx, []string{"report", dir, "--format", "csv", "--out", files})
	if command.ExitCode(err) != command.ExitInterrupted || !strings.Contains(err.Error(), "are complete") {
		t.Errorf("%v, %s", err, stderr.String())
	}
	if text, err := os.ReadFile(filepath.Join(files, "trials.csv")); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%q, %v", text, err)
	}
}
