//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A pipe, a device or a folder in place of a file is refused with a one-sentence error. The program
// must not block on it, or read it until memory is exhausted.
func TestOddFilesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := syscall.Mkfifo(w.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.path("run"), 0o700); err != nil {
		t.Fatal(err)
	}
	large := w.file(t, "large", "")
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		w.path("pipe"): "it is a pipe and not a regular file", "/dev/zero": "it is a device and not a regular file",
		w.dir: "it is a folder and not a regular file", large: "the limit for such a file",
	} {
		for _, args := range [][]string{
			{"run", path}, {"run", "--dry-run", path}, {"null-server", "--script-file", path}, {"null-server", "--cert", path, "--key", path},
			{"bench", "put", "--endpoints", "127.0.0.1:1", "--cacert", path},
		} {
			p := w.run(t, args...)
			if text := p.stderr.String(); p.state.ExitCode() <= 0 || !strings.Contains(text, want) || strings.Contains(text, "goroutine") {
				t.Errorf("quorumbench %s ended with exit code %d and printed %q", p.args, p.state.ExitCode(), text)
			}
		}
	}
	if err := syscall.Mkfifo(w.path("run", "run.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.run(t, "report", w.path("run"))
	p.exits(t, exitFailed).oneSentence(t, "it is a pipe and not a regular file")
}

// Without a home folder, the program cannot know which servers are installed. It must not report
// this as a damaged installation.
func TestStoresWithoutAHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "HOME=", "XDG_CACHE_HOME=")
	p := w.run(t, "stores")
	p.exits(t, exitDone)
	if text := p.stdout.String(); strings.Contains(text, "damaged") || !strings.Contains(text, "set HOME") {
		t.Errorf("the output is:\n%s", text)
	}
}
