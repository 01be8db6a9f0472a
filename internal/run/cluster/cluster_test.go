package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// ownerEnv is a variable that contains the path of a folder. If it is set, the test binary starts a
// cluster in the folder, prints a description of it, and waits until it is killed.
const (
	ownerEnv      = "QUORUMBENCH_CLUSTER_TEST_OWNER"
	ownerHostsEnv = "QUORUMBENCH_CLUSTER_TEST_HOSTS" // if not empty, the cluster runs on two hosts
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 5 && os.Args[1] == "member" && os.Args[2] == etcd.Name:
		if err := etcd.New().RunMember(context.Background(), os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
	case len(os.Args) == 4 && os.Args[1] == disk.Command:
		if err := disk.Serve(os.Args[2], os.Args[3], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
	case len(os.Args) == 4 && os.Args[1] == network.Command:
		members, _ := strconv.Atoi(os.Args[3])
		if err := network.Serve(os.Args[2], members, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
	case os.Getenv(ownerEnv) != "":
		ownFolder(os.Getenv(ownerEnv))
	default:
		os.Exit(m.Run())
	}
}

func ownFolder(dir string) {
	hosts := []host.Host{host.NewLocal(nil, nil)}
	if os.Getenv(ownerHostsEnv) != "" {
		hosts = []host.Host{host.NewLocal(nil, nil).WithAddress("127.0.0.23"), host.NewLocal(nil, nil).WithAddress("127.0.0.24")}
	}
	c, err := Start(context.Background(), etcd.New(), Spec{Members: len(hosts), Hosts: hosts, Dir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	id, _ := host.Identify(c.Members()[len(hosts)-1].PID)
	_ = json.NewEncoder(os.Stdout).Encode(owned{id, c.Dirs()})
	select {}
}

// owned is the description of a cluster that its owner prints.
type owned struct {
	Member host.Identity // the last member
	Dirs   []string
}

// killedOwner starts a process that owns a cluster with data in dir, calls the functions in
// meanwhile, and kills the process. If hosts is empty, the cluster runs on one host.
func killedOwner(t *testing.T, dir, hosts string, meanwhile ...func()) (member host.Identity, dirs []string) {
	t.Helper()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"="+dir, ownerHostsEnv+"="+hosts)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Process.Kill() }()
	var has owned
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	if err := json.Unmarshal(line, &has); err != nil {
		t.Fatalf("the owner printed %q", line)
	}
	for _, f := range meanwhile {
		f()
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	return has.Member, has.Dirs
}

func start(t *testing.T, spec Spec) *Cluster {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	if spec.Hosts == nil {
		spec.Hosts = []host.Host{host.NewLocal(nil, nil)}
	}
	c, err := Start(t.Context(), etcd.New(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// patience limits every wait, so that no test hangs.
const patience = 2 * time.Minute

// awaitEnd waits until all processes of the i-th member have exited, and returns them.
func awaitEnd(t *testing.T, c *Cluster, i int) []startedProcess {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.AwaitEnd(ctx, c.Members()[i].Name); err != nil {
		t.Fatal(err)
	}
	return c.members[i].startedProcesses()
}

func identities(t *testing.T, c *Cluster) []host.Identity {
	t.Helper()
	var out []host.Identity
	for _, m := range c.Members() {
		id, err := host.Identify(m.PID)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	return out
}

func TestThreeMembersSurviveOneKilledAndLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	c := start(t, Spec{Members: 3, Dir: dir})
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckReady(&status); err != nil {
		t.Fatalf("the cluster has started but is not ready: %v", err)
	}
	if !strings.HasPrefix(status.Version, "3.") {
		t.Errorf("version %q", status.Version)
	}
	processes := identities(t, c)
	leader := status.Leader()
	for i, m := range c.Members() {
		if m.ID == 0 || m.ID != status.Members[i].ID || m.Name != status.Members[i].Name || m.Endpoint != c.Access().Endpoints[i] {
			t.Errorf("member %+v differs from the member in the status, %+v", m, status.Members[i])
		}
		if _, err := os.Stat(m.DataDir); err != nil {
			t.Error(err)
		}
	}

	for _, m := range status.Members {
		if m.ID != leader.ID {
			leader = &m
			break
		}
	}
	if err := c.admin.(store.Operator).MoveLeader(t.Context(), leader.ID); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "the leadership is moved", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && CheckReady(&s) == nil && s.Leader().ID == leader.ID && s.Term > status.Term
	})

	if err := c.Signal(t.Context(), leader.Name, host.Kill); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.Members(), func(m Member) bool { return m.Name == leader.Name })
	if e := awaitEnd(t, c, i)[0].Exit(); e.Signal != "killed" || e.At.IsZero() {
		t.Errorf("the member's exit is %+v", e)
	}
	settle.Eventually(t, "another member leads", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && s.Leader() != nil && s.Leader().ID != leader.ID && s.Term > status.Term
	})
	if err := c.Signal(t.Context(), "m9", host.Kill); err == nil || !strings.Contains(err.Error(), "m1, m2, m3") {
		t.Errorf("killing an unknown member: %v", err)
	}

	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range processes {
		if id.Running() {
			t.Errorf("process %d is still running", id.PID)
		}
	}
	if _, err := os.Stat(c.Dirs()[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder was not removed: %v", err)
	}
	for _, m := range c.Members() {
		if info, err := os.Stat(m.LogFile); err != nil || info.Size() == 0 {
			t.Errorf("the log of %s is missing or empty: %v", m.Name, err)
		}
	}
}

// The cluster notices that a member has exited, even if the cluster did not end the member itself.
func TestUnexpectedExitIsNoticed(t *testing.T) {
	c := start(t, Spec{Members: 1})
	if err := syscall.Kill(c.Members()[0].PID, syscall.SIGKILL); err != nil { // without the cluster's knowledge
		t.Fatal(err)
	}
	if e := awaitEnd(t, c, 0)[0].Exit(); c.AllRunning() || e.Signal != "killed" || len(e.Tail) == 0 {
		t.Errorf("the member's exit is %+v; all members are running: %v", e, c.AllRunning())
	}
}

func TestPausedMemberIsStopped(t *testing.T) {
	c := start(t, Spec{Members: 1})
	if err := c.Signal(t.Context(), "m1", host.Pause); err != nil {
		t.Fatal(err)
	}
	if err := c.stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if e := awaitEnd(t, c, 0)[0].Exit(); e.Code != 0 || e.Signal != "" {
		t.Errorf("the member did not exit cleanly: %+v", e)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("stopping a stopped cluster: %v", err)
	}
}

func TestKilledOwnerLeavesNoMemberAndItsDataIsRemoved(t *testing.T) {
	root := t.TempDir()
	live := start(t, Spec{Members: 1, Dir: root})
	member, dirs := killedOwner(t, filepath.Join(root, "run", "data"), "", func() {
		if removed, err := host.CleanOrphans(root, host.OrphanDepth); err != nil || len(removed) != 0 {
			t.Fatalf("the data of running owners was removed: %v, %v", removed, err)
		}
	})
	dataDir := dirs[0]
	settle.Eventually(t, "the member is gone", func() bool { return !member.Running() })
	removed, err := host.CleanOrphans(root, host.OrphanDepth)
	if err != nil || len(removed) != 1 || removed[0].Path != dataDir {
		t.Errorf("CleanOrphans removed %v, want %s: %v", removed, dataDir, err)
	}
	if _, err := os.Stat(dataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the orphaned folder was not removed: %v", err)
	}
	if _, err := os.Stat(live.Members()[0].DataDir); err != nil {
		t.Errorf("the data of a running cluster was removed: %v", err)
	}
}

func TestMemberExitDuringStartIsOneSentence(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho first\necho the disk is on fire >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), etcd.New(), Spec{Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 2, Dir: dir, Exec: script})
	if err == nil {
		t.Fatal("the cluster started, want a failure")
	}
	for _, want := range []string{"the etcd cluster did not start", "(exit status 3)", "first | the disk is on fire", filepath.Join(dir, "logs")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not contain %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q has several lines", err)
	}
	if left := claims(t, dir); len(left) != 0 {
		t.Errorf("the failed start left %v", left)
	}
}

func claims(t *testing.T, dir string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "quorumbench-data-*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// takenPorts is a machine on which another program takes the first ports that are leased.
type takenPorts struct {
	*host.Local
	taken net.Listener
	asked int
}

func (h *takenPorts) Ports(ctx context.Context, count int) (*host.Lease, error) {
	lease, err := h.Local.Ports(ctx, count)
	if h.asked++; err == nil && h.asked == 1 {
		h.taken, err = net.Listen("tcp", net.JoinHostPort(lease.Address, strconv.Itoa(lease.Ports[0])))
	}
	return lease, err
}

func TestPortTakenMeanwhile(t *testing.T) {
	h := &takenPorts{Local: host.NewLocal(nil, nil)}
	dir := t.TempDir()
	c, err := Start(t.Context(), etcd.New(), Spec{Hosts: []host.Host{h}, Members: 1, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if h.asked != 2 {
		t.Errorf("ports were requested %d times, want 2", h.asked)
	}
	if got := claims(t, dir); len(got) != 1 || got[0] != c.Dirs()[0] {
		t.Errorf("the claimed data folders are %v", got)
	}
	if err := c.stop(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	if err := h.taken.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, err := Start(ctx, etcd.New(), Spec{Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 3, Dir: dir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left := claims(t, dir); len(left) != 0 {
		t.Errorf("the failed start left %v", left)
	}
}

func TestBadSpecs(t *testing.T) {
	for name, spec := range map[string]Spec{
		"no members":       {Dir: t.TempDir()},
		"too many members": {Members: kv.MaxMembers + 1, Dir: t.TempDir()},
		"no folder":        {Members: 1},
		"no host":          {Members: 1, Dir: t.TempDir()},
		"bad settings":     {Members: 1, Dir: t.TempDir(), Settings: &etcd.Settings{HeartbeatInterval: 500}},
		"other settings":   {Members: 1, Dir: t.TempDir(), Settings: 7},
		"a file as folder": {Members: 1, Dir: os.Args[0]},
	} {
		if name != "no host" {
			spec.Hosts = []host.Host{host.NewLocal(nil, nil)}
		}
		_, err := Start(t.Context(), etcd.New(), spec)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
