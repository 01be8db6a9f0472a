package host

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// helperEnv makes the test binary act as one of the processes below.
const helperEnv = "QUORUMBENCH_HOST_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "parent":
		parent()
	case "watcher": // ends with its standard input
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

// parent starts a child that would sleep for ever, says which, and waits to be
// killed.
func parent() {
	p, err := NewLocal(nil, nil).Start(Command{Path: "/bin/sleep", Args: []string{"1000"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.Identity().PID)
	<-p.Exited()
}

func start(t *testing.T, c Command) Process {
	t.Helper()
	p, err := NewLocal(nil, nil).Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Signal(Kill); <-p.Exited() })
	return p
}

// patience bounds every wait: no test hangs for ever.
const patience = 2 * time.Minute

func waitFor(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
}

// eventually asks again and again until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestExitCarriesStatusAndLastLines(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := start(t, Command{Path: "/bin/sh", Args: []string{"-c", "for i in $(seq 100); do echo line $i; done; echo bad >&2; exit 7"}, LogFile: log})
	waitFor(t, "the exit", p.Exited())
	e := p.Exit()
	if e.Code != 7 || e.Signal != "" || e.String() != "exit status 7" {
		t.Errorf("exit is %+v", e)
	}
	if len(e.Tail) != tailLines || e.Tail[tailLines-1] != "bad" || e.Tail[tailLines-2] != "line 100" {
		t.Errorf("tail is %q", e.Tail)
	}
	if err := p.Signal(Kill); err != nil {
		t.Errorf("signal to an ended process: %v", err)
	}
}

func TestSignalReachesWhatTheProcessStarted(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := start(t, Command{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & echo $!; wait"}, LogFile: log})
	var grandchild Identity
	eventually(t, "the grandchild is known", func() bool {
		lines, _ := tail(log, 1)
		var pid int
		if len(lines) == 0 {
			return false
		}
		_, _ = fmt.Sscan(lines[0], &pid)
		var err error
		grandchild, err = Identify(pid)
		return err == nil
	})
	if err := p.Signal(Kill); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the exit", p.Exited())
	if e := p.Exit(); e.Signal != "killed" || e.Code != -1 || e.String() != "signal: killed" {
		t.Errorf("exit is %+v", e)
	}
	eventually(t, "the grandchild is gone", func() bool { return !grandchild.Running() })
}

func TestChildDoesNotOutliveAKilledParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("the parent said %q", line)
	}
	child, err := Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the child is gone", func() bool { return !child.Running() })
}

func TestLifelineEndsWithUs(t *testing.T) {
	cmd, lifeline, closeLog, err := prepare(Command{Path: os.Args[0], Env: []string{helperEnv + "=watcher"}, Lifeline: "PARENT=stdin"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeLog()
	if last := cmd.Env[len(cmd.Env)-1]; last != "PARENT=stdin" {
		t.Errorf("the last of the environment is %q", last)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := Identify(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := lifeline.Close(); err != nil { // as our own end would
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestDetachedProcessIsRecognized(t *testing.T) {
	p := start(t, Command{Path: "/bin/sleep", Args: []string{"1000"}, Detach: true})
	id := p.Identity()
	if !id.Running() {
		t.Errorf("%+v does not run", id)
	}
	other := id
	other.Start += "1"
	if other.Running() {
		t.Error("another start time is taken for the same process")
	}
	if err := p.Signal(Kill); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the exit", p.Exited())
	if id.Running() {
		t.Error("an ended process still runs")
	}
}

func TestPauseAndResume(t *testing.T) {
	p := start(t, Command{Path: "/bin/sleep", Args: []string{"1000"}})
	for _, s := range []Signal{Pause, Terminate, Resume} {
		if err := p.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the exit", p.Exited())
	if got := p.Exit().Signal; got != "terminated" {
		t.Errorf("ended by %q", got)
	}
}

func TestCannotStart(t *testing.T) {
	l := NewLocal(nil, nil)
	for name, c := range map[string]Command{
		"no such binary": {Path: "/no/such/binary"},
		"log folder":     {Path: "/bin/true", LogFile: "/no/such/folder/log"},
		"no such folder": {Path: "/bin/true", Dir: "/no/such/folder"},
	} {
		_, err := l.Start(c)
		if err == nil || !strings.Contains(err.Error(), "no such") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPortsAreFreeAndNotShared(t *testing.T) {
	// The same place is looked at first, again and again: the second lease
	// must go elsewhere.
	draws := []int{1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8}
	pick := func(n int) int {
		if len(draws) == 0 {
			return rand.IntN(n) // another program has these
		}
		d := draws[0]
		draws = draws[1:]
		return d % n
	}
	l := NewLocal(nil, pick)
	first, err := l.Ports(t.Context(), 12)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	second, err := l.Ports(t.Context(), 12)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	if first.Host == second.Host && first.Ports[0] == second.Ports[0] {
		t.Errorf("two leases of %s:%d", first.Host, first.Ports[0])
	}
	for _, lease := range []*Lease{first, second} {
		if len(lease.Ports) != 12 {
			t.Errorf("%d ports", len(lease.Ports))
		}
		for _, p := range lease.Ports {
			if p < lowestPort || p >= ephemeralFrom() {
				t.Errorf("port %d is outside %d to %d", p, lowestPort, ephemeralFrom())
			}
		}
	}
	for _, count := range []int{0, -1, block} {
		if _, err := l.Ports(t.Context(), count); err == nil {
			t.Errorf("%d ports were leased", count)
		}
	}
}

func TestFiles(t *testing.T) {
	l := NewLocal(nil, nil)
	dir := filepath.Join(t.TempDir(), "a", "b")
	file := filepath.Join(dir, "f")
	if err := l.MakeDir(dir); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 2*tailBytes)
	if err := l.WriteFile(file, []byte(long+"\none\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	got, err := l.Tail(file, 5)
	if err != nil || strings.Join(got, ",") != "one,two" {
		t.Errorf("tail %q, %v", got, err)
	}
	if err := l.RemoveDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.RemoveDir(dir); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	if err := l.WriteFile(file, nil); err == nil {
		t.Error("a file was written into a missing folder")
	}
}
