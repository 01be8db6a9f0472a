// Package testservers starts real servers for the tests of the stores, from the
// data of their Launch, on ports that are leased to the test. No server outlives
// the test's process.
package testservers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
)

// Installed is the path of the store's real server, which is built if need be;
// without it the test is skipped.
func Installed(t testing.TB, st store.Store) string {
	t.Helper()
	source, err := st.Server("")
	if err != nil {
		t.Fatal(err)
	}
	path, err := install.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Skip("no real server: ", err)
	}
	return path
}

// patience bounds what a test waits for.
const patience = 2 * time.Minute

// Live is a real cluster that Launch described.
type Live struct {
	Endpoints []string
	Processes []host.Process // none outlives the test's own
}

// Cluster says what to start.
type Cluster struct {
	Exec     string
	Members  int
	Settings any
	Change   func(*store.Process) // nil: as Launch says
	// Ready is asked until every member's endpoint says nil.
	Ready func(ctx context.Context, endpoint string) error
}

// Start starts a cluster, which ends with the test, and waits until it is
// ready.
func Start(t testing.TB, st store.Store, c Cluster) *Live {
	t.Helper()
	spec := store.LaunchSpec{Cluster: t.Name(), Exec: c.Exec, Settings: c.Settings}
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), c.Members*store.PortsPerMember)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release) // behind the members
	for i := range c.Members {
		name := fmt.Sprintf("m%d", i+1)
		spec.Members = append(spec.Members, store.MemberPlace{
			Name: name, Host: lease.Address, Dir: filepath.Join(t.TempDir(), name), Ports: lease.Ports[i*store.PortsPerMember : (i+1)*store.PortsPerMember],
		})
	}
	launch, err := st.Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	l := &Live{}
	for _, p := range launch.Processes {
		if c.Change != nil {
			c.Change(&p)
		}
		l.start(t, p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), max(patience, launch.StartTimeout))
	defer cancel()
	for _, e := range l.Endpoints {
		poll(ctx, t, func() error { return c.Ready(ctx, e) })
	}
	return l
}

func (l *Live) start(t testing.TB, p store.Process) {
	t.Helper()
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, contents := range p.Files {
		if err := os.WriteFile(path, contents, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process, err := host.NewLocal(nil, nil).Start(t.Context(), host.Command{Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, LogFile: p.LogFile})
	if err != nil {
		t.Fatal(err)
	}
	l.Processes = append(l.Processes, process)
	l.Endpoints = append(l.Endpoints, p.Endpoint)
	t.Cleanup(func() {
		_ = process.Signal(context.Background(), host.Kill)
		<-process.Exited()
		if t.Failed() {
			text, _ := os.ReadFile(p.LogFile)
			t.Logf("%s: ...%s", p.Name, text[max(0, len(text)-3000):])
		}
	})
}

// poll asks until the answer is nil.
func poll(ctx context.Context, t testing.TB, ask func() error) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the cluster is not ready: %v", err)
		case <-tick.C:
		}
	}
}

// Roles waits until all members that answer tell their role and one leads, and
// returns that one's endpoint too.
func Roles(t testing.TB, a store.Admin) (s store.Status, leader string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	poll(ctx, t, func() (err error) {
		if s, err = a.Status(ctx); err != nil {
			return err
		}
		for _, m := range s.Members {
			if m.Err == nil && (m.Role == kv.Unknown || m.ID == 0 || m.Name == "") {
				return fmt.Errorf("member %+v", m)
			}
		}
		l := s.Leader()
		if l == nil {
			return fmt.Errorf("no leader: %+v", s)
		}
		leader = l.Endpoint
		return OneByOne(ctx, a, &s)
	})
	return s, leader
}

// OneByOne asks each member that answered for its role alone, and says how that
// differs from what the status has of it.
func OneByOne(ctx context.Context, a store.Admin, s *store.Status) error {
	asker, ok := a.(store.RoleAsker)
	if !ok {
		return fmt.Errorf("%T is no store.RoleAsker", a)
	}
	for range 2 { // the second answer may come from what the first brought
		for i, want := range s.Members {
			if want.Err != nil {
				continue
			}
			got := asker.Role(ctx, i)
			if got.Err != nil || got.Endpoint != want.Endpoint || got.ID != want.ID || got.Role != want.Role || got.Term != want.Term {
				return fmt.Errorf("the status has %+v, and asked alone the member is %+v", want, got)
			}
			if l := s.Leader(); got.Leader != 0 && got.Leader != l.ID {
				return fmt.Errorf("%s says that %x leads, and %+v does", got.Endpoint, got.Leader, *l)
			}
		}
	}
	return nil
}
