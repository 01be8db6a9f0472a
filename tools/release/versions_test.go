package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// linked builds the program as the given version.
func linked(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "quorumbench-"+version)
	c := exec.Command("go", "build", "-buildvcs=false", "-o", path,
		"-ldflags", "-s -w -X "+buildPackage+".releaseVersion="+version+" -X "+buildPackage+".releaseRevision=abc", "../../cmd/quorumbench")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// refusal runs a program that must fail, and returns its standard error.
func refusal(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	var complaints bytes.Buffer
	c := exec.Command(program, args...)
	c.Dir, c.Stderr = dir, &complaints
	var e *exec.ExitError
	if err := c.Run(); !errors.As(err, &e) || e.ExitCode() != 1 {
		t.Errorf("%s %q: %v: %s", program, args, err, complaints.String())
	}
	return complaints.String()
}

// The program refuses an agent of another version, and a run directory with another schema. In both
// cases, it prints one sentence that docs/upgrading.md contains.
func TestOtherVersionsAreRefused(t *testing.T) {
	settle.LongOnly(t, "TestSessions of internal/run/agent and TestOpenExplainsErrors of internal/results/record")
	older, newer := linked(t, "v1.0.0"), linked(t, "v1.1.0")
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	serving := exec.CommandContext(t.Context(), newer, "agent", "--listen", "unix:"+socket, "--dir", filepath.Join(dir, "agent"))
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = serving.Process.Signal(os.Interrupt) // Wait reports whether it has ended
		_ = serving.Wait()
	}()
	settle.Eventually(t, "the agent listens", func() bool { _, err := os.Stat(socket); return err == nil })
	scenario := "hosts: [{name: there, via: agent, address: 'unix:" + socket + "'}]\ntrials: [{operation: put, store: etcd, members: 1, members-on: [there]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "away.yaml"), []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "quorumbench: agent there: the agent runs quorumbench v1.1.0 (abc), but the controller runs v1.0.0 (abc); use the same version on all machines\n"
	if got := refusal(t, dir, older, "run", "away.yaml"); got != want {
		t.Errorf("the refusal of the agent with a newer version is %s", got)
	}
	run := filepath.Join(dir, "run")
	if err := errors.Join(os.Mkdir(run, 0o700), os.WriteFile(filepath.Join(run, "run.json"), []byte(`{"schema":"quorumbench/run/3"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := refusal(t, dir, older, "report", "run"); strings.Count(got, "\n") != 1 || !strings.Contains(got, `its schema is "quorumbench/run/3" instead of "quorumbench/run/2"; read the run with the version of quorumbench that wrote it, or repeat it`) {
		t.Errorf("the refusal of the run directory with a newer schema is %s", got)
	}
}
