package zookeeper_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// shared is one standalone server for all tests that do not disturb it.
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

// patience bounds every wait: no test hangs for ever.
const patience = 2 * time.Minute

// version is the one that is installed unless another is asked for.
const version = "3.9.5"

// installed obtains the server once, and returns its folder.
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
			t.Skip(tool.Missing)
		}
	}
	root, err := install.Ensure(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// small is what several Java machines need on one test machine.
func small() *zookeeper.Settings {
	no := false
	return &zookeeper.Settings{Heap: "160m", ForceSync: &no, TickTime: 500}
}

// server is the shared server's access.
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

// ensemble starts members of their own.
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

type silent struct{}

func (silent) Printf(string, ...any) {}

// official opens the client that Go programs use.
func official(t testing.TB, a store.Access) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(a.Endpoints, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c
			}
		case <-time.After(patience):
			t.Fatal("the official client gets no session")
		}
	}
}

// wireConn drives one codec over a socket, synchronously.
type wireConn struct {
	t    testing.TB
	conn net.Conn
	c    store.Codec
	buf  []byte
	tag  uint32
}

func dialWire(t testing.TB, a store.Access, previous store.Codec) *wireConn {
	t.Helper()
	conn, err := net.Dial("tcp", a.Endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	if a.TLS != nil {
		conn = tls.Client(conn, a.TLS)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	c := zookeeper.New().Codecs(a)(store.Dialed{Endpoint: a.Endpoints[0], Previous: previous})
	w := &wireConn{t: t, conn: conn, c: c, buf: make([]byte, 64<<10)}
	w.c.Tick(0)
	return w
}

func (w *wireConn) flush() {
	w.t.Helper()
	for out := w.c.Out(); len(out) > 0; out = w.c.Out() {
		n, err := w.conn.Write(out)
		w.c.Wrote(n)
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// try writes what there is, reads once, and returns the events.
func (w *wireConn) try() ([]store.Event, error) {
	w.flush()
	n, err := w.conn.Read(w.buf)
	if err != nil {
		return nil, err
	}
	return w.c.Feed(w.buf[:n], nil)
}

func (w *wireConn) turn() []store.Event {
	w.t.Helper()
	events, err := w.try()
	if err != nil {
		w.t.Fatal(err)
	}
	return events
}

func (w *wireConn) ready() {
	w.t.Helper()
	for w.c.Room() == 0 {
		w.turn()
	}
}

// do runs one operation to its end; its bytes are copied.
func (w *wireConn) do(op store.Op) store.Event {
	w.t.Helper()
	w.tag++
	op.Tag = w.tag
	w.ready()
	w.c.Submit(&op)
	for {
		for _, e := range w.turn() {
			if e.Tag == op.Tag && e.What == store.Done {
				e.Key, e.Value, e.Text = bytes.Clone(e.Key), bytes.Clone(e.Value), bytes.Clone(e.Text)
				return e
			}
		}
	}
}

// want runs an operation that is to end with the outcome.
func (w *wireConn) want(o kv.Outcome, op store.Op) store.Event {
	w.t.Helper()
	e := w.do(op)
	if e.Outcome != o {
		w.t.Fatalf("%v of %.40q: %v (%s), want %v", op.Kind, op.Key, e.Outcome, e.Text, o)
	}
	return e
}
