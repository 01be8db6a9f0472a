// Package servers starts real servers for tests: store members (as the store's Launch describes
// them), kine, S3 object stores, Patroni with PostgreSQL, and OpenSSH. Each server listens on the
// loopback interface, keeps its files in the test's folder, and ends with the test.
package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// InstalledServer returns the path of the store's real server, and builds the server if necessary.
// If the build fails, it skips the test.
func InstalledServer(t testing.TB, st store.Store) string {
	t.Helper()
	return buildOrSkip(t, func() (store.ServerSource, error) { return st.Server("") })
}

// waitLimit is the time limit for every wait of a test.
const waitLimit = 2 * time.Minute

// LiveCluster is a real cluster that was started from a store's Launch.
type LiveCluster struct {
	Endpoints []string
	Processes []host.Process // the processes end with the test process
}

// Cluster describes a cluster to start.
type Cluster struct {
	Exec     string
	Members  int // 0 means 1
	Settings any
	Change   func(*store.Process) // changes each process in the Launch before it starts; may be nil
	// Ready is called repeatedly for each member's endpoint until it returns nil.
	Ready func(ctx context.Context, endpoint string) error
}

// Kill returns a function that kills member i without warning, like a crash.
func (l *LiveCluster) Kill(t testing.TB) func(i int) {
	return func(i int) {
		if err := l.Processes[i].Signal(t.Context(), host.Kill); err != nil {
			t.Fatal(err)
		}
	}
}

// Start starts a cluster that runs until the end of the test, and waits until it is ready.
func Start(t testing.TB, st store.Store, c Cluster) *LiveCluster {
	t.Helper()
	spec := store.LaunchSpec{Cluster: t.Name(), Exec: c.Exec, Settings: c.Settings, Members: ReservePlaces(t, max(c.Members, 1))}
	launch, err := st.Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	l := &LiveCluster{}
	for _, p := range launch.Processes {
		if c.Change != nil {
			c.Change(&p)
		}
		l.Processes = append(l.Processes, Process(t, p))
		l.Endpoints = append(l.Endpoints, p.Endpoint)
	}
	ctx, cancel := context.WithTimeout(t.Context(), max(waitLimit, launch.StartTimeout))
	defer cancel()
	for _, e := range l.Endpoints {
		storetest.Poll(ctx, t, func() error { return c.Ready(ctx, e) })
	}
	return l
}

// StartMember starts a one-member cluster in the same way as a run, with the installed server. The
// cluster runs until the end of the test.
func StartMember(t testing.TB, st store.Store, settings any) store.Access {
	t.Helper()
	c, err := cluster.Start(t.Context(), st, cluster.Spec{
		Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 1, Exec: InstalledServer(t, st), Dir: t.TempDir(), Settings: settings,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c.Access()
}

// Process starts a process that a Launch describes. The process ends with the test.
func Process(t testing.TB, p store.Process) host.Process {
	t.Helper()
	write(t, p)
	process, err := host.NewLocal(nil, nil).Start(t.Context(), host.Command{Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, LogFile: p.LogFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill(process)
		if t.Failed() {
			text, _ := os.ReadFile(p.LogFile)
			t.Logf("%s: ...%s", p.Name, text[max(0, len(text)-3000):])
		}
	})
	return process
}

// ReservePlaces reserves ports and a folder for each member.
func ReservePlaces(t testing.TB, members int) []kv.MemberPlace {
	t.Helper()
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), members*store.PortsPerMember)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release) // runs after the cleanups that stop the members
	dir := t.TempDir()
	var out []kv.MemberPlace
	for i := range members {
		m := kv.MemberPlace{Name: fmt.Sprintf("m%d", i+1), Host: lease.Address, Ports: lease.Ports[i*store.PortsPerMember : (i+1)*store.PortsPerMember]}
		m.Dir = filepath.Join(dir, m.Name)
		if err := os.Mkdir(m.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// StartInProcess runs the members of an embedded store in the test process, where they cannot be
// killed, and waits until one of them is leader.
func StartInProcess(t testing.TB, st interface {
	store.Store
	store.Embedded
}, spec store.LaunchSpec, access store.Access) store.Access {
	t.Helper()
	l, err := st.Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range l.Processes {
		InProcess(t, st, p)
		access.Endpoints = append(access.Endpoints, p.Endpoint)
	}
	a, err := st.Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }() // nothing can be lost: the Admin has only sent requests
	storetest.AwaitRoles(t, a)
	return access
}

// InProcess runs a member of an embedded store in the test process. The parameter `p` is the
// member's Process from a Launch. The member ends when the test calls the returned function, or at
// the end of the test.
func InProcess(t testing.TB, st store.Embedded, p store.Process) (end func()) {
	t.Helper()
	write(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- st.RunMember(ctx, p.Args[len(p.Args)-1]) }()
	end = sync.OnceFunc(func() {
		cancel()
		storetest.AwaitEnd(t, p.Name, done)
	})
	t.Cleanup(end)
	return end
}

func write(t testing.TB, p store.Process) {
	t.Helper()
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, contents := range p.Files {
		if err := os.WriteFile(path, contents, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
