package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func TestPlaygroundUpStatusDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "play")
	local := host.NewLocal(nil, nil)
	// If this process was itself started as a member, this variable is set. The members must not
	// inherit it.
	t.Setenv("QUORUMBENCH_PARENT", "stdin")
	p, status, err := Up(t.Context(), local, etcd.New(), Spec{Members: 3, Dir: dir}, time.Unix(1, 0))
	t.Cleanup(func() { _, _ = Down(t.Context(), dir) })
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckReady(&status); err != nil {
		t.Error(err)
	}
	if _, _, err := Up(t.Context(), local, etcd.New(), Spec{Members: 3, Dir: dir}, time.Unix(2, 0)); !errors.Is(err, ErrAlreadyRunning) || !strings.Contains(err.Error(), p.Members[0].Endpoint) {
		t.Errorf("a second call of Up returned: %v", err)
	}

	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Store != etcd.Name || !loaded.Started.Equal(time.Unix(1, 0)) || len(loaded.Members) != 3 || loaded.Starter != nil || runningOf(loaded) != 3 {
		t.Errorf("loaded %+v", loaded)
	}
	if s, err := loaded.Status(t.Context(), etcd.New()); err != nil || s.Leader() == nil {
		t.Errorf("status %+v, %v", s, err)
	}

	stopped := loaded.Members[0]
	if err := syscall.Kill(stopped.Process.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "a member is gone", func() bool { return !stopped.Running() })
	s, err := loaded.Status(t.Context(), etcd.New())
	if err != nil || s.Members[0].Err == nil || s.Members[1].Err != nil {
		t.Errorf("status %+v, %v", s, err)
	}

	down, err := Down(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !down.Existed || strings.Join(down.ExitedMembers, ",") != "m1" || strings.Join(down.StoppedMembers, ",") != "m2,m3" {
		t.Errorf("down: %+v", down)
	}
	if runningOf(loaded) != 0 {
		t.Error("members are still running after Down")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was not removed: %v", err)
	}
	if down, err := Down(t.Context(), dir); err != nil || down.Existed {
		t.Errorf("a second call of Down returned %+v, %v", down, err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrNoPlayground) {
		t.Errorf("Load after Down returned: %v", err)
	}
}

func runningOf(p *Playground) int {
	s := p.findProcesses()
	defer s.release()
	return len(s.runningMembers)
}

// asLeft writes the state that Up leaves if it is killed: folders for the given number of members,
// and no recorded process.
func asLeft(t *testing.T, dir string, members int) *Playground {
	t.Helper()
	p := &Playground{Schema: stateSchema, Store: etcd.Name, Dir: dir}
	folder, err := p.create()
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	p.Starter.Start = "1"
	var commands []store.Process
	for i := range members {
		commands = append(commands, store.Process{Name: memberName(i)})
	}
	if err := p.placeMembers(folder, commands); err != nil {
		t.Fatal(err)
	}
	return p
}

// rewrite saves a changed state.
func rewrite(t *testing.T, p *Playground) {
	t.Helper()
	b, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, stateFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPlaygroundNeverKillsAReusedNumber(t *testing.T) {
	dir := t.TempDir()
	self, err := host.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self.Start = "1" // as if our process ID had belonged to an earlier process
	p := asLeft(t, dir, 1)
	p.Members[0].Process = self
	rewrite(t, p)
	if _, _, err := Up(t.Context(), host.NewLocal(nil, nil), etcd.New(), Spec{Members: 1, Dir: dir}, time.Unix(1, 0)); !errors.Is(err, ErrAlreadyRunning) || !strings.Contains(err.Error(), "none of its members is running") {
		t.Errorf("Up in the folder of another cluster's remains returned: %v", err)
	}
	down, err := Down(t.Context(), dir)
	if err != nil || strings.Join(down.ExitedMembers, ",") != "m1" || len(down.StoppedMembers) != 0 {
		t.Errorf("down: %+v, %v", down, err)
	}
}

func TestRefusesForeignFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(file, []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Up(t.Context(), host.NewLocal(nil, nil), etcd.New(), Spec{Members: 1, Dir: dir}, time.Unix(1, 0)); !errors.Is(err, ErrForeign) {
		t.Errorf("up: %v", err)
	}
	if _, err := Down(t.Context(), dir); !errors.Is(err, ErrForeign) {
		t.Errorf("down: %v", err)
	}
	for name, state := range map[string]string{
		"damaged":       "{",
		"other version": `{"schema": 99}`,
		"escaping":      `{"schema": 2, "mark": "0123456789abcdef0123456789abcdef", "members": [{"name": "../../x"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Down(t.Context(), dir); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestPlaygroundThatDoesNotStartLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "play")
	_, _, err := Up(t.Context(), host.NewLocal(nil, nil), etcd.New(), Spec{Members: 1, Dir: dir, Exec: "/bin/false"}, time.Unix(1, 0))
	if err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was not removed: %v", err)
	}
}

func TestPlaygroundWithoutStateIsCleared(t *testing.T) {
	dir := t.TempDir() // as if Up was killed after it had created the empty state file
	if err := os.WriteFile(filepath.Join(dir, stateFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if down, err := Down(t.Context(), dir); err != nil || !down.Existed {
		t.Errorf("%+v, %v", down, err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrNoPlayground) {
		t.Errorf("%v", err)
	}
}

// unready is a store whose members log a line but never become ready.
type unready struct{ *etcd.Store }

func (s unready) Launch(spec store.LaunchSpec) (store.Launch, error) {
	l, err := s.Store.Launch(spec)
	l.StartTimeout = time.Second
	for i := range l.Processes {
		l.Processes[i].Path, l.Processes[i].Args = "/bin/sh", []string{"-c", "echo the disk is on fire; exec sleep 1000"}
	}
	return l, err
}

// If the members are not ready in time, the error contains the end of each log, because Up removes
// the logs.
func TestPlaygroundThatIsNotReadyInTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "play")
	_, _, err := Up(t.Context(), host.NewLocal(nil, nil), unready{etcd.New()}, Spec{Members: 2, Dir: dir}, time.Unix(1, 0))
	if err == nil {
		t.Fatal("the playground started, want a failure")
	}
	for _, want := range []string{"the cluster was not ready after 1s", "the log of member m1 are: the disk is on fire", "the log of member m2 are: the disk is on fire"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not contain %q", err, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was not removed: %v", err)
	}
}
