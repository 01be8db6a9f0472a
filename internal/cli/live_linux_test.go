package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// terminal is a pseudo-terminal that keeps everything written to it.
type terminal struct {
	t     *testing.T
	outer *os.File // the terminal emulator's side
	inner *os.File // the program's side

	dir string // run directory of the latest command

	mu      sync.Mutex
	written bytes.Buffer
}

func openTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	outer, inner, err := program.OpenTerminal()
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _, _ = outer.Close(), inner.Close() })
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

// send sends characters to the program, as a keyboard does.
func (s *terminal) send(keys string) {
	s.t.Helper()
	if _, err := s.outer.WriteString(keys); err != nil {
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

// setModes changes the terminal's mode, as another process does.
func (s *terminal) setModes(m unix.Termios) {
	s.t.Helper()
	if err := unix.IoctlSetTermios(int(s.inner.Fd()), unix.TCSETS, &m); err != nil {
		s.t.Fatal(err)
	}
}

// command returns a command that runs a scenario with a short trial and then a long one. The
// command uses the terminal for its input and its progress, and runs in the terminal's foreground.
func (s *terminal) command(args ...string) *exec.Cmd {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "live.yaml")
	if err := os.WriteFile(file, []byte(liveScenario), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.dir = filepath.Join(s.t.TempDir(), "run")
	c := exec.Command(os.Getenv(program.Env), append([]string{"run", file, "--out", s.dir}, args...)...)
	c.Stdin, c.Stderr = s.inner, s.inner
	c.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return c
}

// liveScenario has a short trial followed by a long one.
const liveScenario = `name: live
order: written
trials:
  - {name: first, store: etcd, members: 1, operation: put, clients: 4, key-space: 100, warmup: 0s, duration: 2s}
  - {name: second, store: etcd, members: 1, operation: put, clients: 4, key-space: 100, warmup: 1s, duration: 60s}
`

// start starts a command.
func (s *terminal) start(c *exec.Cmd) {
	s.t.Helper()
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
}

// await waits until the terminal shows a view that appeared after the previous call of await.
func (s *terminal) await() { s.awaitText("last second") }

// awaitKeys does the same as await, and waits until the program reads keys.
func (s *terminal) awaitKeys() { s.awaitText("q end") }

// awaitText waits until the program has written a text two more times, so that it is part of a view
// that began after the call.
func (s *terminal) awaitText(words string) {
	s.t.Helper()
	before := strings.Count(s.text(), words)
	settle.Eventually(s.t, "the terminal shows "+words, func() bool { return strings.Count(s.text(), words) > before+1 })
}

// latest returns the lines of the latest view.
func (s *terminal) latest() []string {
	const erased = "\x1b[J"
	text := colours.ReplaceAllString(s.text(), "")
	views := strings.Split(text, erased)
	return strings.Split(strings.TrimSuffix(views[max(len(views)-2, 0)], "\n"), "\n") // the last view may be incomplete
}

var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

// startWithKeys starts a run on a terminal with 80 columns, and waits until the run reads keys. The
// result `modes` is the terminal's mode before the start.
func startWithKeys(t *testing.T) (s *terminal, c *exec.Cmd, modes unix.Termios) {
	t.Helper()
	s = openTerminal(t, 80)
	modes = s.modes()
	c = s.command()
	s.start(c)
	s.awaitKeys()
	return s, c, modes
}

// finish waits for the end of a command and checks its exit code and the mode of the terminal.
func (s *terminal) finish(c *exec.Cmd, modes unix.Termios) {
	s.t.Helper()
	_ = c.Wait()
	if c.ProcessState.ExitCode() != 130 {
		s.t.Errorf("exit code %d", c.ProcessState.ExitCode())
	}
	if s.modes() != modes {
		s.t.Error("the terminal's mode has changed")
	}
	if left := strings.Join(program.Screen(s.text()), "\n"); strings.Contains(left, "last second") {
		s.t.Errorf("the view is left on the terminal:\n%s", left)
	}
	run, err := record.Open(s.dir)
	if err != nil || run.State != record.Interrupted || len(run.Trials) == 0 {
		s.t.Errorf("the run directory has the run %+v: %v", run, err)
	}
}

// TestLiveViewOnATerminal checks that the view fits terminals of all widths, even while they are
// resized, that each key has its effect, and that q ends the run as Ctrl-C does.
func TestLiveViewOnATerminal(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, 120)
	modes := s.modes()
	c := s.command()
	var stdout bytes.Buffer
	c.Stdout = &stdout
	s.start(c)
	s.awaitKeys()
	if m := s.modes(); m.Lflag != modes.Lflag&^(unix.ECHO|unix.ICANON) {
		t.Errorf("the mode's flags are %x, not %x without echo and line editing", m.Lflag, modes.Lflag)
	}
	for _, columns := range []uint16{40, 80, 300, 120} {
		s.resize(columns)
		s.await()
		s.await()
		for _, line := range s.latest() {
			if n := len([]rune(strings.TrimSpace(line))); n > int(columns) {
				t.Errorf("on a terminal of %d columns, a line has %d columns: %q", columns, n, line)
			}
		}
	}
	s.awaitText("second: measuring")
	s.awaitText("leader, CPU")
	s.send("c")
	s.awaitText("mean rate")
	s.send("c")
	s.awaitText("throughput")
	s.send("\x1b[D") // left
	s.awaitText("ended: [1/2] first")
	s.send("\x1b[C") // right
	s.await()
	s.send("quit\n") // several characters at once are pasted text
	s.await()
	s.send("p")
	settle.Eventually(t, "the view is paused", func() bool { return strings.Contains(s.text(), "p resume") })
	s.send("p")
	s.await()
	if paused := s.text()[strings.Index(s.text(), "p resume"):]; strings.Count(paused, "p resume") != 1 {
		t.Errorf("while paused, the program wrote %q", paused)
	}
	s.send("q")
	s.finish(c, modes)
	if !strings.Contains(stdout.String(), "live: interrupted, 2 trials") {
		t.Errorf("the summary is\n%s", stdout.String())
	}
}

// TestLiveViewEndedBySignals checks the terminal's mode after signals. A killed program cannot
// restore the mode. In this case, only echo and line editing remain off, and `stty sane` switches
// them on again.
func TestLiveViewEndedBySignals(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*terminal, *exec.Cmd){
		"Ctrl-C":  func(s *terminal, _ *exec.Cmd) { s.send("\x03") },
		"SIGTERM": func(_ *terminal, c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, modes := startWithKeys(t)
			end(s, c)
			s.finish(c, modes)
		})
	}
	t.Run("SIGCONT", func(t *testing.T) {
		t.Parallel()
		s, c, modes := startWithKeys(t)
		_ = c.Process.Signal(syscall.SIGCONT) // although the program was not stopped
		s.await()
		s.send("q")
		_ = c.Wait()
		if after := s.modes(); after != modes {
			t.Errorf("the mode is %+v, not %+v", after, modes)
		}
	})
	t.Run("SIGKILL", func(t *testing.T) {
		t.Parallel()
		s, c, modes := startWithKeys(t)
		_ = c.Process.Kill()
		_ = c.Wait()
		after := s.modes()
		if after.Lflag |= unix.ECHO | unix.ICANON; after != modes {
			t.Errorf("the mode has changed in more than echo and line editing: %+v, not %+v", after, modes)
		}
		if text := s.text(); strings.Contains(text, "\x1b[?") {
			t.Errorf("the program set a mode of the terminal emulator: %q", text)
		}
	})
}

// TestLiveViewUnderAShell suspends a run with Ctrl-Z, continues it, and ends it with q, in a shell
// with job control. Keys that were typed must not reach the shell. After a kill, the shell restores
// the mode.
func TestLiveViewUnderAShell(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	s := openTerminal(t, 80)
	modes := s.modes()
	c := s.command()
	run := strings.Join(c.Args, " ") // no argument needs quotes
	sh := exec.Command(shell, "--norc", "--noprofile", "--noediting", "-i")
	sh.Stdin, sh.Stdout, sh.Stderr, sh.Env, sh.SysProcAttr = s.inner, s.inner, s.inner, append(c.Env, "PS1=ready$"), c.SysProcAttr
	s.start(sh)
	wait := func(words string) {
		t.Helper()
		settle.Eventually(t, "the terminal shows "+words, func() bool { return strings.Contains(s.text(), words) })
	}
	wait("ready$")
	s.send(run + "\n")
	s.awaitKeys()
	s.send("\x1a") // Ctrl-Z
	wait("Stopped")
	settle.Eventually(t, "the mode is restored", func() bool { return s.modes() == modes })
	s.send("fg\n")
	s.awaitKeys()
	s.send("x")
	s.await()
	s.send("q")
	wait("stopping cleanly")
	s.send("echo leaked\n")
	wait("interrupted\n")
	settle.Eventually(t, "the shell is ready", func() bool { return strings.HasSuffix(s.text(), "ready$") })
	s.send("echo code=$?\n")
	wait("code=130")
	if text := s.text(); strings.Contains(text, "leaked") || s.modes() != modes {
		t.Errorf("the shell received typed keys, or the mode is %+v instead of %+v: %q", s.modes(), modes, text[strings.LastIndex(text, "Stopped"):])
	}
	s.send(strings.Replace(run, s.dir, s.dir+"2", 1) + "\n")
	s.awaitKeys()
	group, err := unix.IoctlGetInt(int(s.outer.Fd()), unix.TIOCGPGRP)
	if err != nil || group == sh.Process.Pid {
		t.Fatalf("the foreground process group is %d, want that of the run: %v", group, err)
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
	wait("Killed")
	settle.Eventually(t, "the shell restores the mode", func() bool { return s.modes() == modes })
}

// TestLiveViewWithoutKeys checks that a program whose input is not a terminal changes no mode.
func TestLiveViewWithoutKeys(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, 80)
	modes := s.modes()
	c := s.command()
	c.Stdin = nil
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.start(c)
	s.await()
	if text := s.text(); s.modes() != modes || strings.Contains(text, "q end") {
		t.Errorf("the program changed the terminal's mode or offers keys: %q", text)
	}
	_ = c.Process.Signal(os.Interrupt)
	s.finish(c, modes)
}

// TestProgressLinesOnATerminal checks that, with the flag `--progress lines`, the program never
// moves the cursor.
func TestProgressLinesOnATerminal(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, 80)
	modes := s.modes()
	c := s.command("--progress", "lines")
	s.start(c)
	settle.Eventually(t, "lines are printed", func() bool { return strings.Contains(s.text(), "measuring") })
	if s.modes() != modes {
		t.Error("the program changed the terminal's mode")
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if text := s.text(); strings.Contains(text, "\x1b[") || strings.Contains(text, "last second") {
		t.Errorf("the terminal shows %q", text)
	}
}
