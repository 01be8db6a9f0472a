// Package proxied starts clusters of proxies that store their data in etcd.
package proxied

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// Cluster is a cluster of proxies. The etcd members run in the test process, and each proxy runs in
// its own process.
type Cluster struct {
	Access  store.Access
	Admin   store.Admin
	Launch  store.Launch
	servers []func() // each function stops an etcd member
}

// Start starts a cluster from the store's Launch. The cluster runs until the end of the test. Start
// waits until the cluster has a leader and every proxy responds.
func Start(t *testing.T, st store.Store, binary string, members int) *Cluster {
	t.Helper()
	c := &Cluster{Access: store.Access{Backends: map[string]string{}, DialTimeout: 5 * time.Second}}
	var err error
	if c.Launch, err = st.Launch(store.LaunchSpec{
		Cluster: "test", Exec: binary, Self: "unused", Members: servers.ReservePlaces(t, members),
		Settings: &etcd.Settings{LogLevel: "error", UnsafeNoFsync: true},
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Launch.Processes {
		c.servers = append(c.servers, servers.InProcess(t, etcd.New(), p.Backends[0]))
		servers.Process(t, p)
		c.Access.Endpoints = append(c.Access.Endpoints, p.Endpoint)
		c.Access.Backends[p.Endpoint] = p.Backends[0].Endpoint
	}
	if c.Admin, err = st.Admin(c.Access); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Admin.Close() })
	storetest.AwaitRoles(t, c.Admin)
	c.awaitProxies(t)
	return c
}

// awaitProxies waits until every proxy has responded once. A proxy's first response needs a quorum
// of the etcd members; later responses do not.
func (c *Cluster) awaitProxies(t *testing.T) {
	t.Helper()
	settle.Eventually(t, "every proxy responds", func() bool {
		status, err := c.Admin.Status(t.Context())
		return err == nil && !slices.ContainsFunc(status.Members, func(m store.Member) bool { return m.Err != nil })
	})
}

// EndServers stops some members' etcd servers, but not the proxies.
func (c *Cluster) EndServers(which ...int) {
	var ended sync.WaitGroup
	for _, i := range which {
		ended.Go(c.servers[i])
	}
	ended.Wait()
}
