//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// lifetime limits the duration of every run of the program.
const lifetime = 4 * time.Minute

// text holds the output of a process.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *text) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *text) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startedProgram is a running quorumbench in its own process group, as if a shell with job control
// had started it.
type startedProgram struct {
	args           string
	pid            int
	stdout, stderr text
	ended          chan struct{}
	state          *os.ProcessState // set after the process has ended
	told           sync.Once
}

// start starts the program in the world's folder.
func (w *world) start(t *testing.T, args ...string) *startedProgram {
	t.Helper()
	return w.startWith(t, os.Getenv(binaryEnv), wide(args)...)
}

// wide appends --wide to a command that prints a report, so that no line is wrapped and all columns
// are shown.
func wide(args []string) []string {
	reports := len(args) > 1 && (slices.Contains([]string{"run", "bench", "report", "compare", "capacity"}, args[0]) ||
		args[0] == "check" && !strings.HasPrefix(args[1], "-"))
	if !reports || slices.Contains(args, "--wide") || slices.Contains(args, "--help") {
		return args
	}
	return append(args[:len(args):len(args)], "--wide")
}

// startWith starts another program, such as a shell, that then executes quorumbench.
func (w *world) startWith(t *testing.T, path string, args ...string) *startedProgram {
	t.Helper()
	p := &startedProgram{args: strings.Join(args, " "), ended: make(chan struct{})}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Members share the program's standard error, so Wait would wait until they end. This limits
	// how long Wait waits for them after the program has ended.
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = cmd.Process.Pid
	limit := time.AfterFunc(lifetime, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	go func() {
		_ = cmd.Wait() // p.state contains more information than this error
		limit.Stop()
		p.state = cmd.ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			_ = cmd.Process.Kill()
			<-p.ended
		}
	})
	return p
}

// run runs the program and waits until it has ended.
func (w *world) run(t *testing.T, args ...string) *startedProgram {
	t.Helper()
	return w.start(t, args...).end(t)
}

// end waits until the program has ended. startWith ends a program that runs for longer than
// lifetime.
func (p *startedProgram) end(t *testing.T) *startedProgram {
	t.Helper()
	<-p.ended
	p.told.Do(func() {
		t.Logf("$ quorumbench %s\n%s\n%s(%v)", p.args, abbreviate(p.stdout.String()), abbreviate(p.stderr.String()), p.state)
	})
	if strings.Contains(p.stderr.String(), "goroutine ") || strings.Contains(p.stderr.String(), "panic:") {
		t.Errorf("quorumbench %s crashed, or had to be killed after %v", p.args, lifetime)
	}
	return p
}

// abbreviate returns the beginning of a long text. Such a text may be a trace of all goroutines.
func abbreviate(s string) string {
	const most = 8 << 10
	if len(s) <= most {
		return s
	}
	return s[:most] + " ...\n"
}

// fewMembers returns the number of members of clusters in tests that do not need several members: 1
// in CI, and 3 in the long test.
func fewMembers() string {
	if settle.Long() {
		return "3"
	}
	return "1"
}

// exits waits for the program and checks its exit code.
func (p *startedProgram) exits(t *testing.T, want int) *startedProgram {
	t.Helper()
	p.end(t)
	if got := p.state.ExitCode(); got != want {
		t.Fatalf("quorumbench %s: exit code %d, not %d\n%s\n%s", p.args, got, want, p.stdout.String(), p.stderr.String())
	}
	return p
}

// awaitText waits until the program's standard error contains the text.
func (p *startedProgram) awaitText(t *testing.T, what string) {
	t.Helper()
	found := false
	eventually(t, patience, "quorumbench printed "+what, func() bool {
		if found = strings.Contains(p.stderr.String(), what); found {
			return true
		}
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if !found && !strings.Contains(p.stderr.String(), what) {
		t.Fatalf("quorumbench %s ended (%v) without printing %q:\n%s", p.args, p.state, what, p.stderr.String())
	}
}

// preloads waits until a run has preloaded its first trial. On a busy machine the preload of a
// proxy may take too long; preloads then reports an error to r and returns false.
func (p *startedProgram) preloads(t *testing.T, r settle.Reporter) bool {
	t.Helper()
	eventually(t, lifetime, "the preload ended", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return strings.Contains(p.stderr.String(), ": connecting")
		}
	})
	said := p.stderr.String()
	if strings.Contains(said, "the preload could not write") {
		r.Errorf("%s", said)
		return false
	}
	return true
}

// signal sends a signal to the program only, not to its process group.
func (p *startedProgram) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.pid, s); err != nil {
		t.Fatal(err)
	}
}

// interrupt does what a terminal does at Ctrl-C: it sends SIGINT to the whole process group.
func (p *startedProgram) interrupt(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(-p.pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

var crash = regexp.MustCompile(`(?m)^(panic:|goroutine \d|fatal error:|\s+/.*\.go:\d+)`)

// statements lists the beginnings of lines on standard error that are not errors. Some of these
// lines list the keys that the command writes or removes in a running cluster. Other lines are
// warnings, or explain how the command reacts to a signal.
var statements = []string{"stopping cleanly;", "stopping;", "warning:", "writes ", "grants ", "removed ", "nothing is left ", "keys below "}

// oneSentence returns the line in which a failed program states the reason. It checks that the
// program printed only one such line, and that the line contains the given texts.
func (p *startedProgram) oneSentence(t *testing.T, contains ...string) string {
	t.Helper()
	p.end(t)
	errors := p.stderr.String()
	if crash.MatchString(errors) {
		t.Fatalf("quorumbench %s crashed:\n%s", p.args, errors)
	}
	var said []string
	for line := range strings.Lines(errors) {
		line = strings.TrimSuffix(line, "\n")
		rest, ours := strings.CutPrefix(line, "quorumbench: ")
		stated := slices.ContainsFunc(statements, func(begins string) bool { return strings.HasPrefix(rest, begins) })
		if ours && !stated {
			said = append(said, rest)
		}
	}
	if len(said) != 1 {
		t.Fatalf("quorumbench %s printed %d sentences:\n%s", p.args, len(said), errors)
	}
	for _, part := range contains {
		if !strings.Contains(said[0], part) {
			t.Errorf("quorumbench %s printed %q, which does not contain %q", p.args, said[0], part)
		}
	}
	return said[0]
}
