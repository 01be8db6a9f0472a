package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// terminal is a pseudo-terminal that keeps everything written to it.
type terminal struct {
	t     *testing.T
	outer *os.File // the terminal emulator's side
	inner *os.File // the program's side

	mu      sync.Mutex
	written bytes.Buffer
}

func openTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = outer.Close() })
	fd := int(outer.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	s := &terminal{t: t, outer: outer, inner: inner}
	s.resize(columns)
	go func() { _, _ = io.Copy(s, outer) }()
	return s
}

// Write stores the program's output.
func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.Write(p)
}

func (s *terminal) resize(columns uint16) {
	s.t.Helper()
	if err := unix.IoctlSetWinsize(int(s.outer.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.written.String(), "\r\n", "\n")
}

func (s *terminal) modes() unix.Termios {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.inner.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *m
}

// start starts a run with the terminal as its standard error.
func (s *terminal) start(args ...string) *exec.Cmd {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "live.yaml")
	if err := os.WriteFile(file, []byte("name: live\ntrials:\n  - {store: etcd, operation: put, clients: 4, key-space: 100, warmup: 1s, duration: 20s}\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	c := exec.Command(os.Getenv(program.Env), append([]string{"run", file, "--out", filepath.Join(s.t.TempDir(), "run")}, args...)...)
	c.Stderr = s.inner
	c.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	return c
}

// await waits until the terminal shows a view that appeared after the previous call of await.
func (s *terminal) await() {
	s.t.Helper()
	before := strings.Count(s.text(), "last second")
	settle.Eventually(s.t, "the view changes", func() bool { return strings.Count(s.text(), "last second") > before+1 })
}

// TestLiveViewOnATerminal checks that the view fits terminals of all widths, even while they are
// resized. The view must survive a suspension, end with Ctrl-C, and leave the terminal in its
// original state.
func TestLiveViewOnATerminal(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, 120)
	modes := s.modes()
	c := s.start()
	s.await()
	for _, columns := range []uint16{40, 80, 300} {
		s.resize(columns)
		s.await()
		s.await()
		text := s.text()
		const erased = "\x1b[J"
		for line := range strings.Lines(text[strings.LastIndex(text, erased)+len(erased):]) {
			if n := len([]rune(strings.TrimSpace(line))); n > int(columns) {
				t.Errorf("on %d columns a line has %d: %q", columns, n, line)
			}
		}
	}
	// Suspend and continue, as Ctrl-Z and fg do.
	for _, signal := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGCONT} {
		if err := syscall.Kill(-c.Process.Pid, signal); err != nil {
			t.Fatal(err)
		}
	}
	s.await()
	if err := c.Process.Signal(os.Interrupt); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	_ = c.Wait()
	if c.ProcessState.ExitCode() != 130 {
		t.Errorf("exit code %d", c.ProcessState.ExitCode())
	}
	if s.modes() != modes {
		t.Error("the terminal's modes have changed")
	}
	if left := strings.Join(program.Screen(s.text()), "\n"); strings.Contains(left, "last second") {
		t.Errorf("the view is left on the terminal:\n%s", left)
	}
}

// TestLiveViewKilled checks that a killed run leaves the terminal usable.
func TestLiveViewKilled(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, 80)
	modes := s.modes()
	c := s.start()
	s.await()
	_ = c.Process.Kill()
	_ = c.Wait()
	if s.modes() != modes {
		t.Error("the terminal's modes have changed")
	}
	if text := s.text(); strings.Contains(text, "\x1b[?") {
		t.Errorf("the program set a mode of the terminal: %q", text)
	}
}

// TestProgressLinesOnATerminal checks that the cursor never moves with --progress lines.
func TestProgressLinesOnATerminal(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, 80)
	c := s.start("--progress", "lines")
	settle.Eventually(t, "lines are printed", func() bool { return strings.Contains(s.text(), "measuring") })
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if text := s.text(); strings.Contains(text, "\x1b[") || strings.Contains(text, "last second") {
		t.Errorf("it shows %q", text)
	}
}
