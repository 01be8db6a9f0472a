// Package proxytest starts proxies with etcd behind them for tests, from the
// data of their Launch, and drives their codecs.
package proxytest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
	"github.com/quorumbench/quorumbench/internal/testservers"
)

// patience bounds what a test waits for.
const patience = 2 * time.Minute

// Cluster is a cluster of proxies: etcd's members run in the test's process,
// each proxy is a process.
type Cluster struct {
	Access  store.Access
	Admin   store.Admin
	Launch  store.Launch
	servers []func() // each ends an etcd member
}

// Start starts a cluster from the store's Launch and waits until it has a
// leader. It ends with the test.
func Start(t *testing.T, st store.Store, binary string, members int) *Cluster {
	t.Helper()
	c := &Cluster{Access: store.Access{Behind: map[string]string{}, DialTimeout: 5 * time.Second}}
	var err error
	if c.Launch, err = st.Launch(store.LaunchSpec{
		Cluster: "test", Exec: binary, Self: "unused", Members: places(t, members),
		Settings: &etcd.Settings{LogLevel: "error"},
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Launch.Processes {
		c.serve(t, p.Behind[0])
		c.front(t, p)
		c.Access.Endpoints = append(c.Access.Endpoints, p.Endpoint)
		c.Access.Behind[p.Endpoint] = p.Behind[0].Endpoint
	}
	if c.Admin, err = st.Admin(c.Access); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Admin.Close() })
	c.awaitLeader(t)
	return c
}

// EndServers ends the etcd behind some members, and leaves the proxies alone.
func (c *Cluster) EndServers(which ...int) {
	var ended sync.WaitGroup
	for _, i := range which {
		ended.Go(c.servers[i])
	}
	ended.Wait()
}

// places gives each member four ports that are the test's own.
func places(t *testing.T, members int) []store.MemberPlace {
	t.Helper()
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), members*store.PortsPerMember)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release) // behind the members
	dir := t.TempDir()
	var out []store.MemberPlace
	for i := range members {
		m := store.MemberPlace{Name: fmt.Sprintf("m%d", i+1), Host: lease.Address, Ports: lease.Ports[i*store.PortsPerMember : (i+1)*store.PortsPerMember]}
		m.Dir = filepath.Join(dir, m.Name)
		if err := os.Mkdir(m.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// serve runs an etcd member in this process.
func (c *Cluster) serve(t *testing.T, p store.Process) {
	t.Helper()
	for file, contents := range p.Files {
		if err := os.WriteFile(file, contents, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- etcd.New().RunMember(ctx, p.Args[3]) }()
	end := sync.OnceFunc(func() {
		cancel()
		storetest.Ended(t, p.Name, done)
	})
	c.servers = append(c.servers, end)
	t.Cleanup(end)
}

// front runs a proxy as a process, which does not outlive the test's own.
func (c *Cluster) front(t *testing.T, p store.Process) {
	t.Helper()
	process, err := host.NewLocal(nil, nil).Start(t.Context(), host.Command{Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, LogFile: p.LogFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Signal(context.Background(), host.Kill)
		<-process.Exited()
		if t.Failed() {
			b, _ := os.ReadFile(p.LogFile)
			t.Logf("%s's log:\n%s", p.Name, b)
		}
	})
}

// awaitLeader asks until all members answer and one leads.
func (c *Cluster) awaitLeader(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, err := c.Admin.Status(ctx)
		if err == nil && status.Leader() != nil && whole(&status) {
			if err = testservers.OneByOne(ctx, c.Admin, &status); err == nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the cluster is not ready: %v %+v", err, status)
		case <-ticker.C:
		}
	}
}

func whole(s *store.Status) bool {
	for i := range s.Members {
		if s.Members[i].Err != nil {
			return false
		}
	}
	return true
}
