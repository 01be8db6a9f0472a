//go:build linux

// Package e2e_test runs the built program against real clusters, with real processes, signals, full
// disks and certificates. Each test is named after a behavior that the program must have, or after
// a flaw in other tools that the program must avoid.
package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/hosts"
	"github.com/quorumbench/quorumbench/internal/testing/program"
)

// binaryEnv is the environment variable that contains the path of the program under test.
const binaryEnv = program.Env

// TestMain builds the program once.
func TestMain(m *testing.M) {
	if hosts.IsRestarted() { // the program was built by the process that restarted this test binary
		os.Exit(m.Run())
	}
	os.Exit(program.Run(m))
}

// The program's exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitNotKnown    = 6
	exitUsage       = 2
	exitInterrupted = 130
)

// patience limits the wait for an event that should occur almost immediately. Busy machines take
// longer.
const patience = 2 * time.Minute

// world is a test's environment: a working folder, a cache folder and a temporary folder for the
// program. The test fails if one of the program's processes remains at the end.
type world struct {
	dir string
	env []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	t.Cleanup(func() { w.nothingRuns(t) }) // runs before the folder is removed
	w.env = os.Environ()
	for name, sub := range map[string]string{"XDG_CACHE_HOME": "cache", "HOME": "home", "TMPDIR": "tmp"} {
		path := w.path(sub)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		w.env = append(w.env, name+"="+path)
	}
	return w
}

func (w *world) path(names ...string) string {
	return filepath.Join(append([]string{w.dir}, names...)...)
}

// file writes a file to the folder of the world and returns the file's path.
func (w *world) file(t *testing.T, name, contents string) string {
	t.Helper()
	path := w.path(name)
	if err := os.WriteFile(path, []byte(contents), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually polls until the condition holds. If it does not hold within limit, eventually fails
// the test.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	if !holdsWithin(t, limit, holds) {
		t.Fatalf("the condition was not met within %v: %s", limit, what)
	}
}

// holdsWithin polls until the condition holds or the limit has passed, and reports whether it
// holds.
func holdsWithin(t *testing.T, limit time.Duration, holds func() bool) bool {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-timer.C:
			return holds()
		case <-ticker.C:
		}
	}
}
