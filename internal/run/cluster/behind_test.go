package cluster

import (
	"context"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// proxied is a store whose members are etcd behind an idle process that represents a proxy.
type proxied struct {
	*etcd.Store
	front []string // command of the proxy
}

func (s proxied) Launch(spec store.LaunchSpec) (store.Launch, error) {
	l, err := s.Store.Launch(spec)
	for i := range l.Processes {
		place := spec.Members[i]
		server := l.Processes[i]
		server.Name = place.Name + "-etcd"
		server.LogFile = filepath.Join(place.Dir, server.Name+".log")
		l.Processes[i] = store.Process{
			Name: place.Name, Endpoint: net.JoinHostPort(place.Host, strconv.Itoa(place.Ports[2])),
			Path: s.front[0], Args: s.front[1:], Dir: place.Dir, DataDir: server.DataDir,
			LogFile: filepath.Join(place.Dir, place.Name+".log"), Backends: []store.Process{server},
		}
	}
	return l, err
}

func (s proxied) Admin(a store.Access) (store.Admin, error) {
	a.Endpoints = slices.Sorted(maps.Values(a.Backends))
	return s.Store.Admin(a)
}

func proxiedEtcd(t *testing.T, front ...string) proxied {
	t.Helper()
	path, err := exec.LookPath(front[0])
	if err != nil {
		t.Fatal(err)
	}
	return proxied{etcd.New(), append([]string{path}, front[1:]...)}
}

func TestMemberOfTwoProcesses(t *testing.T) {
	c, err := Start(t.Context(), proxiedEtcd(t, "sleep", "1000"), Spec{Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 1, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.stop(context.Background(), 0); err != nil {
			t.Error(err)
		}
	}()
	m := c.Members()[0]
	if len(m.Backends) != 1 || m.Backends[0].Name != "m1-etcd" || m.Backends[0].PID == m.PID || m.ID == 0 {
		t.Fatalf("%+v", m)
	}
	if got := c.Access(); got.Endpoints[0] != m.Endpoint || got.Backends[m.Endpoint] != m.Backends[0].Endpoint {
		t.Errorf("access %+v", got)
	}
	if filepath.Base(m.LogFile) != "m1.log" || filepath.Base(m.Backends[0].LogFile) != "m1-etcd.log" {
		t.Errorf("logs %s, %s", m.LogFile, m.Backends[0].LogFile)
	}
	if err := c.Signal(t.Context(), "m1", host.Kill); err != nil {
		t.Fatal(err)
	}
	ended := awaitEnd(t, c, 0)
	if len(ended) != 2 || ended[0].name != "m1-etcd" || ended[1].name != "m1" || ended[0].Exit().Signal != "killed" || ended[1].Exit().Signal != "killed" {
		t.Errorf("the member's processes that ended are %+v", ended)
	}
}

func TestProxyThatEndsAtStart(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(t.Context(), proxiedEtcd(t, "sh", "-c", "echo no etcd here; exit 3"), Spec{Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 1, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "member m1 exited (") || !strings.Contains(err.Error(), "no etcd here") {
		t.Errorf("%v", err)
	}
	if left := claims(t, dir); len(left) > 0 {
		t.Errorf("the failed start left %s", left)
	}
}

func TestPlaygroundOfTwoProcesses(t *testing.T) {
	st := proxiedEtcd(t, "sleep", "1000")
	dir := filepath.Join(t.TempDir(), "p")
	p, status, err := Up(t.Context(), host.NewLocal(nil, nil), st, Spec{Members: 1, Dir: dir}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if status.Leader() == nil || !p.Members[0].Running() {
		t.Errorf("status %+v", status)
	}
	found, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found.Status(t.Context(), st); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(found.Members[0].Process.PID, syscall.SIGKILL); err != nil { // only the proxy
		t.Fatal(err)
	}
	settle.Eventually(t, "the proxy has exited", func() bool { return !found.Members[0].Running() })
	stopped, err := Down(t.Context(), dir)
	if err != nil || !slices.Equal(stopped.StoppedMembers, []string{"m1"}) {
		t.Errorf("Down returned %+v, %v", stopped, err)
	}
	for _, process := range found.Members[0].processes() {
		if process.Running() {
			t.Errorf("process %d is still running", process.PID)
		}
	}
}
