//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestTemporaryFoldersOfKilledCommandsAreRemoved kills a command that records into a temporary
// folder. The next command must remove that folder and print its name, but keep the folder of a
// running command.
func TestTemporaryFoldersOfKilledCommandsAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	endpoint := w.nullServer(t)
	bench := func(prefix string, args ...string) *startedProgram {
		args = append([]string{"TMPDIR=" + dir, os.Getenv(binaryEnv), "bench", "put", "--endpoints", endpoint, "--rate", "100", "--prefix", prefix}, args...)
		return w.startWith(t, "env", args...)
	}
	folders := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	killed := bench("killed/", "--duration", "100s")
	killed.awaitText(t, "measuring")
	left := folders()
	killed.signal(t, syscall.SIGKILL)
	<-killed.ended
	if len(left) != 1 {
		t.Fatalf("a running command created the folders %v, want one", left)
	}
	going := bench("going/", "--duration", "100s")
	going.awaitText(t, "measuring")
	if said := going.stderr.String(); !strings.Contains(said, left[0]+", which a killed command left") {
		t.Errorf("the next command printed %q", said)
	}
	bench("other/", "--total", "10").exits(t, exitDone)
	if now := folders(); len(now) != 1 || now[0] == left[0] {
		t.Errorf("the temporary folder of the running command is not the only one: %v", now)
	}
	going.signal(t, syscall.SIGINT)
	going.exits(t, exitInterrupted)
	if now := folders(); len(now) > 0 {
		t.Errorf("these folders were not removed: %v", now)
	}
}
