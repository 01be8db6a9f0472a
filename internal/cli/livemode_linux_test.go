package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestModeAfterImmediateEnd checks that the terminal's mode is restored when a signal ends the
// program without an orderly end of the run.
func TestModeAfterImmediateEnd(t *testing.T) {
	t.Parallel()
	t.Run("SIGQUIT on a frozen terminal", func(t *testing.T) {
		t.Parallel()
		s, c, modes := startWithKeys(t)
		s.send("\x13") // Ctrl-S
		_ = c.Process.Signal(syscall.SIGQUIT)
		settle.Eventually(t, "the mode is restored", func() bool { return s.modes() == modes })
		s.send("\x11") // Ctrl-Q
		_ = c.Wait()
		if after := s.modes(); after != modes {
			t.Errorf("the mode is %+v, not %+v", after, modes)
		}
	})
	t.Run("two Ctrl-C", func(t *testing.T) {
		t.Parallel()
		endpoints := startNullServer(t, "--script", "never every 50") // the first Ctrl-C does not end the run
		s := openTerminal(t, 80)
		modes := s.modes()
		c := s.command()
		c.Args = []string{c.Path, "bench", "put", "--endpoints", endpoints, "--duration", "10m", "--timeout", "10m", "--out", s.dir}
		s.start(c)
		s.awaitText("measuring")
		settle.Eventually(t, "the program reads keys", func() bool { return s.modes() != modes })
		s.send("\x03")
		settle.Eventually(t, "the run begins to stop", func() bool { return strings.Contains(s.text(), "stopping cleanly") })
		s.send("\x03")
		_ = c.Wait()
		if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
			t.Errorf("the process ended with %v, want its end by SIGINT", c.ProcessState)
		}
		if after := s.modes(); after != modes {
			t.Errorf("the mode is %+v, not %+v", after, modes)
		}
	})
}

// TestLiveViewWithAPager changes the terminal's mode as a pager does that reads the program's
// output. While this mode is set, the program reads no keys and does not change the mode.
func TestLiveViewWithAPager(t *testing.T) {
	t.Parallel()
	t.Run("pager ends first", func(t *testing.T) {
		t.Parallel()
		s, c, modes := startWithKeys(t)
		keys := s.modes()
		pager := keys
		pager.Lflag &^= unix.ECHOE
		s.setModes(pager)
		s.send("q")
		s.await()
		unread, err := unix.IoctlGetInt(int(s.inner.Fd()), unix.TIOCINQ)
		if err != nil || unread != 1 || strings.Contains(s.text(), "stopping cleanly") || s.modes() != pager {
			t.Errorf("%d characters are left for the pager (%v), and the mode is %+v, not %+v", unread, err, s.modes(), pager)
		}
		s.setModes(keys) // the program then reads the key
		s.finish(c, modes)
	})
	t.Run("run ends first", func(t *testing.T) {
		t.Parallel()
		s := openTerminal(t, 80)
		c := s.command()
		s.start(c)
		s.awaitKeys()
		pager := s.modes()
		pager.Lflag &^= unix.ECHOE
		s.setModes(pager)
		_ = c.Process.Signal(os.Interrupt)
		s.finish(c, pager)
	})
	t.Run("pager starts first", func(t *testing.T) {
		t.Parallel()
		s := openTerminal(t, 80)
		pager := s.modes()
		pager.Lflag &^= unix.ECHO | unix.ICANON
		s.setModes(pager)
		c := s.command()
		s.start(c)
		s.await()
		if strings.Contains(s.text(), "q end") {
			t.Error("the program offers keys")
		}
		_ = c.Process.Signal(os.Interrupt)
		s.finish(c, pager)
	})
}

// TestReportOnATerminal checks that a verdict has a colour on a terminal, unless the environment
// excludes colours.
func TestReportOnATerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	bench := exec.Command(os.Getenv(program.Env), "bench", "put", "--endpoints", startNullServer(t), "--warmup", "0s", "--duration", "1s", "--out", dir)
	if out, err := bench.CombinedOutput(); err != nil && bench.ProcessState.ExitCode() != 1 { // 1 if the verdict is invalid
		t.Fatalf("%v: %s", err, out)
	}
	verdict := regexp.MustCompile("\x1b\\[3[123]m(valid|suspect|invalid)")
	for setting, coloured := range map[string]bool{"TERM=xterm": true, "TERM=dumb": false, "NO_COLOR=1": false} {
		s := openTerminal(t, 100)
		c := exec.Command(os.Getenv(program.Env), "report", dir)
		c.Stdout, c.Stderr, c.Env = s.inner, s.inner, append(os.Environ(), "TERM=xterm", "NO_COLOR=", setting)
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.inner.WriteString("end\n"); err != nil {
			t.Fatal(err)
		}
		settle.Eventually(t, "the terminal shows the report", func() bool { return strings.HasSuffix(s.text(), "end\n") })
		if text := s.text(); verdict.MatchString(text) != coloured || strings.Contains(text, "\x1b") != coloured {
			t.Errorf("with %s, the command prints %q", setting, text)
		}
	}
}
