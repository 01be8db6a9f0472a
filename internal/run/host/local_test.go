package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// helperEnv is the environment variable that makes the test binary run as a helper process. Its
// value selects the kind of helper process.
const helperEnv = "QUORUMBENCH_HOST_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "parent":
		parent()
	case "watcher": // exits when its standard input is closed
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

// parent starts a child process that sleeps for a long time, prints the child's process ID, and
// waits until this process is killed.
func parent() {
	p, err := NewLocal(nil, nil).Start(context.Background(), Command{Path: "/bin/sleep", Args: []string{"1000"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.Identity().PID)
	<-p.Exited()
}

func start(t *testing.T, c Command) Process {
	t.Helper()
	p, err := NewLocal(nil, nil).Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Signal(context.Background(), Kill); <-p.Exited() })
	return p
}

// patience is the time limit of every wait. It ensures that every test ends.
const patience = 2 * time.Minute

func waitFor(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not happen in time", what)
	}
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
		t.Fatalf("the parent printed %q", line)
	}
	child, err := Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	settle.Eventually(t, "the child is gone", func() bool { return !child.Running() })
}

func TestLifelineEndsWithUs(t *testing.T) {
	cmd, lifeline, closeLog, err := NewLocal(nil, nil).prepare(Command{Path: os.Args[0], Env: []string{helperEnv + "=watcher"}, Lifeline: "PARENT=stdin"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeLog()
	if last := cmd.Env[len(cmd.Env)-1]; last != "PARENT=stdin" {
		t.Errorf("the last variable of the environment is %q", last)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := Identify(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := lifeline.Close(); err != nil { // the same happens when our process exits
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
		t.Errorf("the process %+v is not running", id)
	}
	other := id
	other.Start += "1"
	if other.Running() {
		t.Error("an identity with another start time is accepted as the same process")
	}
	if err := p.Signal(context.Background(), Kill); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the exit of the process", p.Exited())
	if id.Running() {
		t.Error("a process that has exited is reported as running")
	}
}

func TestPortsAreFreeAndNotShared(t *testing.T) {
	// The searches for the two leases begin with the same block. The second lease must therefore
	// use another block.
	draws := []int{1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8}
	pick := func(n int) int {
		if len(draws) == 0 {
			return rand.IntN(n) // other ports
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
	if first.Address == second.Address && first.Ports[0] == second.Ports[0] {
		t.Errorf("the port %s:%d was leased twice", first.Address, first.Ports[0])
	}
	for _, lease := range []*Lease{first, second} {
		if len(lease.Ports) != 12 {
			t.Errorf("%d ports", len(lease.Ports))
		}
		for _, p := range lease.Ports {
			if p < lowestPort || p >= firstEphemeralPort() {
				t.Errorf("port %d is outside %d to %d", p, lowestPort, firstEphemeralPort())
			}
		}
	}
	for _, count := range []int{0, -1, blockSize} {
		if _, err := l.Ports(t.Context(), count); err == nil {
			t.Errorf("a lease of %d ports succeeded, want an error", count)
		}
	}
}

// The tail of a long log contains only whole lines.
func TestTailOfALongLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(strings.Repeat("x", 2*tailBytes)+"\none\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := NewLocal(nil, nil).tail(log, 5); err != nil || strings.Join(got, ",") != "one,two" {
		t.Errorf("the tail of the log is %q, %v", got, err)
	}
}

// Empty removes everything in a folder, including nested folders. It keeps the folder itself and
// the targets of links.
func TestEmpty(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	for _, path := range []string{other, filepath.Join(dir, "file"), filepath.Join(dir, "a", "b")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(other), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := NewLocal(nil, nil).Empty(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder still contains %v, %v", left, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the target of a link was removed: %v", err)
	}
	if err := NewLocal(nil, nil).Empty(t.Context(), filepath.Join(dir, "nothing")); err == nil {
		t.Error("a missing folder was emptied")
	}
}
