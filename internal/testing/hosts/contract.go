// Package hosts contains the tests that every host.Host must pass. It also simulates several
// machines on this machine, for tests and for tools/hostsdemo: hosts with their own networks and
// names, connected by a bridge, with an agent on each host. The hosts exist in the network
// namespace of a process that RestartCommand starts. So the machine's own network does not change,
// and nothing remains when that process ends. Linux only.
package hosts

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// TestHost tests that h satisfies the contract of host.Host. dir is a folder on the host that was
// created for this test. The host must have a POSIX shell.
func TestHost(t *testing.T, h host.Host, dir string) {
	s := suite{h, dir}
	for name, test := range map[string]func(*testing.T){
		"Describe": s.describe, "Exit": s.exit, "Log": s.log, "Environment": s.environment, "Signals": s.signals,
		"SignalsReachTheGroup": s.group, "CannotStart": s.cannotStart, "Ports": s.ports, "Files": s.files,
		"Claims": s.claims, "Follow": s.follow, "FollowMuch": s.followMuch, "Fsync": s.fsync, "Sample": s.sample,
		"Weigh": s.weigh, "CopyLog": s.copyLog, "CopyLogMuch": s.copyLogMuch, "Survey": s.survey,
	} {
		t.Run(name, test)
	}
}

type suite struct {
	host.Host
	dir string
}

// waitLimit is the limit for every wait.
const waitLimit = 2 * time.Minute

// sh starts a shell that runs a script, and kills the shell at the end of the test. A process must
// continue to run after the context that Start received has ended, so sh cancels this context
// before it returns.
func (s suite) sh(t *testing.T, script string, change ...func(*host.Command)) host.Process {
	t.Helper()
	c := host.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: s.dir}
	for _, f := range change {
		f(&c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, err := s.Start(ctx, c)
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Signal(context.Background(), host.Kill)
		<-p.Exited()
	})
	return p
}

func logTo(file string) func(*host.Command) { return func(c *host.Command) { c.LogFile = file } }

// awaitExit waits until a process has ended.
func awaitExit(t *testing.T, p host.Process) host.Exit {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(waitLimit):
		t.Fatal("the process did not end")
	}
	return p.Exit()
}

// succeeds reports whether the shell command `test` succeeds on the host.
func (s suite) succeeds(t *testing.T, test string) bool {
	t.Helper()
	return awaitExit(t, s.sh(t, test)).Code == 0
}

func (s suite) signal(t *testing.T, p host.Process, signals ...host.Signal) {
	t.Helper()
	for _, signal := range signals {
		if err := p.Signal(t.Context(), signal); err != nil {
			t.Fatal(err)
		}
	}
}

// checkSingleLine fails the test unless the error's text is a single line.
func checkSingleLine(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: %v", what, err)
	}
}

func (s suite) describe(t *testing.T) {
	d, err := s.Describe(t.Context())
	if err != nil || d.Machine.Name == "" || d.Machine.CPUs < 1 || d.Place.Machine == "" {
		t.Fatalf("%+v, %v", d, err)
	}
	if again, err := s.Describe(t.Context()); err != nil || again.Place != d.Place || again.Machine.Name != d.Machine.Name {
		t.Errorf("Describe first returned %+v, then %+v, %v", d, again, err)
	}
}

func (s suite) exit(t *testing.T) {
	p := s.sh(t, "for i in $(seq 100); do echo line $i; done; echo bad >&2; exit 7", logTo(path.Join(s.dir, "exit.log")))
	e := awaitExit(t, p)
	if e.Code != 7 || e.Signal != "" || e.String() != "exit status 7" || e.At.IsZero() {
		t.Errorf("the exit is %+v", e)
	}
	if n := len(e.Tail); n < 2 || n > 50 || e.Tail[n-1] != "bad" || e.Tail[n-2] != "line 100" {
		t.Errorf("the tail of the output is %q", e.Tail)
	}
	s.signal(t, p, host.Kill) // the signal has no effect
}

// A process appends its output to an existing log, so the log keeps the output of earlier
// processes.
func (s suite) log(t *testing.T) {
	file := path.Join(s.dir, "log.log")
	awaitExit(t, s.sh(t, "echo one", logTo(file)))
	if tail := awaitExit(t, s.sh(t, "echo two", logTo(file))).Tail; !slices.Equal(tail, []string{"one", "two"}) {
		t.Errorf("the tail of the log is %q", tail)
	}
}

func (s suite) environment(t *testing.T) {
	e := awaitExit(t, s.sh(t, `echo "$GIVEN"; pwd; cat`, logTo(path.Join(s.dir, "environment.log")),
		func(c *host.Command) { c.Env = []string{"GIVEN=this"} }))
	if len(e.Tail) != 2 || e.Tail[0] != "this" || path.Base(e.Tail[1]) != path.Base(s.dir) {
		t.Errorf("the output is %q", e.Tail)
	}
}

func (s suite) signals(t *testing.T) {
	p := s.sh(t, "sleep 1000")
	if e := p.Exit(); !e.At.IsZero() || p.Identity().PID <= 0 {
		t.Errorf("while the process runs, its identity is %+v and its exit is %+v", p.Identity(), e)
	}
	s.signal(t, p, host.Pause, host.Terminate, host.Resume)
	if e := awaitExit(t, p); e.Signal != "terminated" || e.Code != -1 {
		t.Errorf("the exit of the process that was asked to end is %+v", e)
	}
	p = s.sh(t, "trap '' TERM; sleep 1000")
	s.signal(t, p, host.Kill)
	if e := awaitExit(t, p); e.Signal != "killed" || e.Code != -1 || e.String() != "signal: killed" {
		t.Errorf("the exit of the killed process is %+v", e)
	}
}

// If a process ends, its child processes end, too.
func (s suite) group(t *testing.T) {
	file := path.Join(s.dir, "group.log")
	l := s.followLogs(t, file)
	p := s.sh(t, "sleep 1000 & echo $!; wait", logTo(file))
	grandchild := ""
	for _, text := range awaitLines(t, l, 1) {
		grandchild = strings.TrimPrefix(text, "0 ")
	}
	s.signal(t, p, host.Kill)
	awaitExit(t, p)
	if !s.succeeds(t, "i=0; while kill -0 "+grandchild+" 2>/dev/null && [ $i -lt 1000 ]; do sleep 0.01; i=$((i+1)); done; [ $i -lt 1000 ]") {
		t.Error("a child of the process is still running")
	}
}

func (s suite) cannotStart(t *testing.T) {
	for name, c := range map[string]host.Command{
		"no such binary": {Path: "/no/such/binary"},
		"no log folder":  {Path: "/bin/sh", LogFile: "/no/such/folder/log"},
		"no such folder": {Path: "/bin/sh", Dir: "/no/such/folder"},
	} {
		_, err := s.Start(t.Context(), c)
		checkSingleLine(t, name, err)
		outside := name != "no such binary" && strings.Contains(fmt.Sprint(err), "cannot be used on this host") // an agent refuses paths outside its folder
		if err != nil && !strings.Contains(err.Error(), "no such") && !outside {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (s suite) ports(t *testing.T) {
	var leases []*host.Lease
	for range 3 {
		l, err := s.Ports(t.Context(), 12)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release()
		if l.Address == "" || len(l.Ports) != 12 {
			t.Fatalf("%+v", l)
		}
		for _, other := range leases {
			if other.Address == l.Address && slices.ContainsFunc(l.Ports, func(p int) bool { return slices.Contains(other.Ports, p) }) {
				t.Errorf("the listeners %+v and %+v have a port in common", other, l)
			}
		}
		leases = append(leases, l)
	}
	leases[0].Release()
	leases[0].Release()
	for _, count := range []int{0, -1, 1 << 20} {
		_, err := s.Ports(t.Context(), count)
		checkSingleLine(t, fmt.Sprintf("%d ports", count), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Ports(ended, 1)
	checkSingleLine(t, "a context that has ended", err)
}

func (s suite) files(t *testing.T) {
	dir := path.Join(s.dir, "files", "a")
	file := path.Join(dir, "f")
	checkSingleLine(t, "a file in a missing folder", s.WriteFile(t.Context(), file, nil))
	for _, contents := range []string{"one", "another\n"} {
		if err := s.MakeDir(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteFile(t.Context(), file, []byte(contents)); err != nil {
			t.Fatal(err)
		}
	}
	if !s.succeeds(t, `test "$(cat files/a/f)" = another && test "$(ls files/a)" = f`) {
		t.Error("the file does not have the content that was written")
	}
	checkSingleLine(t, "a folder below a file", s.MakeDir(t.Context(), path.Join(file, "b")))
}

func (s suite) claims(t *testing.T) {
	parent := path.Join(s.dir, "claims")
	c, err := s.Claim(t.Context(), parent)
	if err != nil {
		t.Fatal(err)
	}
	if path.Dir(c.Path()) != parent || !strings.Contains(c.Env(), "=") || !s.succeeds(t, "test -d "+c.Path()) {
		t.Errorf("the claimed folder is %s, and its environment is %q", c.Path(), c.Env())
	}
	if err := c.Note(t.Context(), s.sh(t, "exit 0").Identity()); err != nil {
		t.Error(err)
	}
	if err := c.Release(t.Context()); err != nil || !s.succeeds(t, "! test -e "+c.Path()) {
		t.Errorf("the folder was not removed: %v", err)
	}
	_, err = s.Claim(t.Context(), "/dev/null/claims")
	checkSingleLine(t, "a claim below a file", err)
}

func (s suite) followLogs(t *testing.T, files ...string) host.Logs {
	t.Helper()
	l, err := s.Follow(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// awaitLines reads until n lines have arrived, and returns them in the form "FILE TEXT".
func awaitLines(t *testing.T, l host.Logs, n int) (out []string) {
	t.Helper()
	deadline := time.After(waitLimit)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		lines, more, err := l.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if line.At.IsZero() {
				t.Errorf("the line %q has no time", line.Text)
			}
			out = append(out, fmt.Sprintf("%d %s", line.File, line.Text))
		}
		if !more && len(out) >= n {
			return out
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("the output is incomplete: %q", out)
		}
	}
}

// Follow reads an existing log from its current end, and a log that is created later from its
// beginning.
func (s suite) follow(t *testing.T) {
	first, second := path.Join(s.dir, "first"), path.Join(s.dir, "second")
	if err := s.WriteFile(t.Context(), first, []byte("before\nhalf of ")); err != nil {
		t.Fatal(err)
	}
	l := s.followLogs(t, first, second)
	awaitExit(t, s.sh(t, `echo a line; echo one; printf 'not yet'`, logTo(first)))
	awaitExit(t, s.sh(t, `echo two; echo three`, logTo(second)))
	if got := awaitLines(t, l, 3); !slices.Equal(got, []string{"0 one", "1 two", "1 three"}) {
		t.Errorf("the first lines are %q", got)
	}
	awaitExit(t, s.sh(t, `echo ' but now'`, logTo(first)))
	if got := awaitLines(t, l, 1); !slices.Equal(got, []string{"0 not yet but now"}) {
		t.Errorf("the next lines are %q", got)
	}
}

// If the new lines exceed the size limit of one response, they arrive in several responses.
func (s suite) followMuch(t *testing.T) {
	const lines, length = 50, 60_000
	file := path.Join(s.dir, "much")
	l := s.followLogs(t, file)
	line := append(bytes.Repeat([]byte{'x'}, length), '\n')
	if err := s.WriteFile(t.Context(), file, bytes.Repeat(line, lines)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for more := true; more; {
		some, again, err := l.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, line := range some {
			size += len(line.Text)
		}
		if size > 1<<20 {
			t.Errorf("%d bytes arrived at once, want at most 1 MiB", size)
		}
		n, more = n+len(some), again
	}
	if n != lines {
		t.Errorf("%d lines arrived, want %d", n, lines)
	}
}

// If several folders are on one device, the device is measured only once.
func (s suite) fsync(t *testing.T) {
	got, err := s.Fsync(t.Context(), []string{s.dir, s.dir}, 3)
	if err != nil || len(got) != 1 || got[0].Count != 3 || got[0].FileSystem == "" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = s.Fsync(t.Context(), []string{s.dir, path.Join(s.dir, "none")}, 3)
	checkSingleLine(t, "a folder that is not there", err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Fsync(ended, []string{s.dir}, 1000)
	checkSingleLine(t, "a context that has ended", err)
}

func (s suite) sample(t *testing.T) {
	file := path.Join(s.dir, "sample.log")
	l := s.followLogs(t, file)
	p := s.sh(t, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; sleep 1000", logTo(file))
	awaitLines(t, l, 1)
	const nobody = 1 << 30
	pids := []int{nobody, p.Identity().PID}
	got, err := s.Sample(t.Context(), pids, true)
	if err != nil || got.At.IsZero() || len(got.Processes) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got.Machine == nil {
		t.Skip("this system does not report the resource use of processes")
	}
	none, used := got.Processes[0], got.Processes[1]
	if none.OK || used.PID != pids[1] || !used.OK || used.UserSeconds+used.SystemSeconds <= 0 || used.RSS <= 0 || used.Threads < 1 {
		t.Errorf("%+v", got.Processes)
	}
	if got.Machine.CPU.Total() <= 0 {
		t.Errorf("%+v", got.Machine)
	}
	if again, err := s.Sample(t.Context(), pids[1:], false); err != nil || again.Machine != nil || again.At.Before(got.At) {
		t.Errorf("%+v, %v", again, err)
	}
}

// The size of a folder is the total space that its files use.
func (s suite) weigh(t *testing.T) {
	dir := path.Join(s.dir, "weighed")
	if err := s.MakeDir(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteFile(t.Context(), path.Join(dir, "f"), make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	got, cost, err := s.MeasureFolders(t.Context(), []string{path.Join(s.dir, "none"), dir})
	if err != nil || len(got) != 2 || got[0] != -1 || cost < 0 {
		t.Fatalf("the sizes are %v, and their cost is %v, %v", got, cost, err)
	}
	if got[1] < 1<<20 && got[1] != -1 { // unknown on this system
		t.Errorf("the reported size of a folder with a file of 1 MiB is %d bytes", got[1])
	}
}

// A log is copied unchanged, whatever it contains.
func (s suite) copyLog(t *testing.T) {
	file := path.Join(s.dir, "copied.log")
	for _, contents := range []string{"", "one\ntwo", "\x00\xff\r\n" + strings.Repeat("x", 1<<18)} {
		if err := s.WriteFile(t.Context(), file, []byte(contents)); err != nil {
			t.Fatal(err)
		}
		var to bytes.Buffer
		if left, err := s.CopyLog(t.Context(), file, &to); err != nil || left != 0 || to.String() != contents {
			t.Errorf("the log has %d bytes; CopyLog copied %d bytes and left out %d bytes, %v", len(contents), to.Len(), left, err)
		}
	}
	for what, file := range map[string]string{"a log that is not there": path.Join(s.dir, "none.log"), "a folder": s.dir} {
		_, err := s.CopyLog(t.Context(), file, &bytes.Buffer{})
		checkSingleLine(t, what, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.CopyLog(ended, file, &bytes.Buffer{})
	checkSingleLine(t, "a context that has ended", err)
}

// If a log is too large, its beginning and end are copied.
func (s suite) copyLogMuch(t *testing.T) {
	const beyond = 12345
	file := path.Join(s.dir, "copied-much.log")
	script := fmt.Sprintf("echo first; head -c %d /dev/zero; echo last", host.MaxLogBytes+beyond-len("first\nlast\n"))
	awaitExit(t, s.sh(t, script, logTo(file)))
	var to bytes.Buffer
	left, err := s.CopyLog(t.Context(), file, &to)
	cut := fmt.Sprintf("\n[quorumbench left out %d bytes here]\n", beyond)
	if err != nil || left != beyond || to.Len() != host.MaxLogBytes+len(cut) || bytes.Index(to.Bytes(), []byte(cut)) != host.MaxLogBytes/2 {
		t.Fatalf("CopyLog copied %d bytes and left out %d bytes, %v", to.Len(), left, err)
	}
	if !bytes.HasPrefix(to.Bytes(), []byte("first\n")) || !bytes.HasSuffix(to.Bytes(), []byte("last\n")) {
		t.Error("the copy lacks the beginning or the end of the log")
	}
}
