package zookeeper_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	clients "github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/servers/smalljvm"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// shared holds a standalone server for all tests that do not disturb other tests.
type shared struct {
	once    sync.Once
	cluster *cluster.Cluster
	dir     string
	err     error
}

var one shared

func TestMain(m *testing.M) {
	code := m.Run()
	if one.cluster != nil {
		if err := one.cluster.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(one.dir)
	os.Exit(code)
}

// patience limits every wait, so that no test hangs forever.
const patience = 2 * time.Minute

// version is the ZooKeeper version that is installed by default.
const version = "3.9.5"

// installed installs the server if necessary and returns its folder.
func installed(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	source, err := zookeeper.New().Server("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range source.Tools {
		if _, err := exec.LookPath(tool.Name); err != nil {
			t.Skip(tool.MissingMessage)
		}
	}
	root, err := install.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// small returns settings that allow several Java processes on one test machine.
func small() *zookeeper.Settings {
	s := smalljvm.Settings()
	s.TickTime = 500
	return s
}

// server returns the access to the shared server.
func server(t testing.TB) store.Access {
	t.Helper()
	root := installed(t)
	one.once.Do(func() {
		if one.dir, one.err = os.MkdirTemp("", "quorumbench-zookeeper-"); one.err == nil {
			one.cluster, one.err = cluster.Start(context.Background(), zookeeper.New(),
				cluster.Spec{Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: 1, Exec: root, Dir: one.dir, Settings: small()})
		}
	})
	if one.err != nil {
		t.Fatal(one.err)
	}
	return one.cluster.Access()
}

// ensemble starts an ensemble for a single test.
func ensemble(t testing.TB, n int) *cluster.Cluster {
	t.Helper()
	root := installed(t)
	c, err := cluster.Start(t.Context(), zookeeper.New(),
		cluster.Spec{Hosts: []host.Host{host.NewLocal(nil, nil)}, Members: n, Exec: root, Dir: t.TempDir(), Settings: small()})
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

// official returns a client from the common Go library.
func official(t testing.TB, a store.Access) *zk.Conn { return clients.ZooKeeper(t, a) }

// dialWire connects a new codec. If previous is not nil, the codec continues the previous codec's
// session.
func dialWire(t testing.TB, a store.Access, previous store.Codec) *storetest.Wire {
	t.Helper()
	return storetest.DialWith(t, a, zookeeper.New().Codecs(a), previous)
}
