package nullserver

import (
	"context"
	"encoding/binary"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// serveOne serves a null cluster with one member and returns the member's address.
func serveOne(b testing.TB, o store.NullOptions) string {
	b.Helper()
	s, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, []net.Listener{l}) }()
	b.Cleanup(func() {
		cancel()
		storetest.AwaitEnd(b, "the null server", done)
	})
	return l.Addr().String()
}

// prepared returns a server that has a stopped clock and accepts no connections.
func prepared(t testing.TB, o store.NullOptions) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.UseClock(settle.NewClock())
	s.members = []string{"127.0.0.1:1"}
	return s
}

// floodConn sends requests in batches and reads the replies. It allocates no memory while doing so.
type floodConn struct {
	b    testing.TB
	net  net.Conn
	conn *jute.Conn
	buf  []byte
	path jute.Path
	data []byte
	put  bool
}

func newFloodConn(b testing.TB, address string, put bool) *floodConn {
	b.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = nc.Close() })
	h := &floodConn{
		b: b, net: nc, conn: jute.NewConn(jute.Config{Timeout: 30_000}), buf: make([]byte, 256<<10), put: put,
		path: jute.Path{Prefix: "/", Rest: []byte("bench")}, data: make([]byte, 256),
	}
	for !h.conn.Ready() {
		h.turn()
	}
	h.conn.Create(jute.Call{}, jute.NewNode{Path: h.path, Data: h.data, ACL: jute.OpenACL()})
	h.drain()
	return h
}

func (h *floodConn) turn() []jute.Reply {
	if out := h.conn.Out(); len(out) > 0 {
		n, err := h.net.Write(out)
		if h.conn.Wrote(n); err != nil {
			h.b.Fatal(err)
		}
	}
	n, err := h.net.Read(h.buf)
	if err != nil {
		h.b.Fatal(err)
	}
	replies, err := h.conn.Feed(h.buf[:n])
	if err != nil {
		h.b.Fatal(err)
	}
	return replies
}

func (h *floodConn) drain() {
	for h.conn.Open() > 0 {
		h.turn()
	}
}

// codes waits for all outstanding replies and returns their codes.
func (h *floodConn) codes() (all []jute.Code) {
	for h.conn.Open() > 0 {
		for _, r := range h.turn() {
			all = append(all, r.Code)
		}
	}
	return all
}

// run sends n requests in batches of 100.
func (h *floodConn) run(n int) {
	for ; n > 0; n -= 100 {
		for range min(n, 100) {
			if h.put {
				h.conn.SetData(jute.Call{}, h.path, h.data, jute.AnyVersion)
			} else {
				h.conn.GetData(jute.Call{}, h.path, false)
			}
		}
		h.drain()
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func bench(b *testing.B, o store.NullOptions, put bool) {
	h := newFloodConn(b, serveOne(b, o), put)
	h.run(1000)
	b.ReportAllocs()
	b.ResetTimer()
	began := cpu()
	h.run(b.N)
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op") // includes the client's CPU time
}

func BenchmarkGet(b *testing.B) { bench(b, store.NullOptions{Memory: true}, false) }
func BenchmarkPut(b *testing.B) { bench(b, store.NullOptions{Memory: true}, true) }
func BenchmarkGetCanned(b *testing.B) {
	bench(b, store.NullOptions{ValueSize: 256}, false)
}

// TestNoAllocations checks that in the steady state neither the server nor the client allocates
// memory.
func TestNoAllocations(t *testing.T) {
	for name, put := range map[string]bool{"get": false, "put": true} {
		h := newFloodConn(t, serveOne(t, store.NullOptions{Memory: true}), put)
		h.run(2000)
		if n := testing.AllocsPerRun(20, func() { h.run(1000) }); n > 1 { // by the runtime
			t.Errorf("%s: %v allocations in 1000 operations", name, n)
		}
	}
}

// TestCounts checks that the script applies only to operations on nodes, and that the server counts
// only these requests as operations.
func TestCounts(t *testing.T) {
	h := newFloodConn(t, serveOne(t, store.NullOptions{Memory: true, Script: "error=noauth every 4"}), true)
	for n := 2; n <= 24; n++ { // the first operation was a create
		h.conn.Exists(jute.Call{}, jute.Path{Prefix: "/"}, false)
		h.conn.Sync(jute.Call{}, jute.Path{Prefix: "/"})
		h.conn.SetData(jute.Call{}, h.path, h.data, jute.AnyVersion)
		for i, code := range h.codes() {
			if want := i == 2 && n%4 == 0; (code == jute.NoAuth) != want {
				t.Errorf("operation %d, request %d: %v", n, i, code)
			}
		}
	}
}

// FuzzConn feeds arbitrary bytes to a connection. It checks that nothing panics and that the server
// keeps running.
func FuzzConn(f *testing.F) {
	connect := make([]byte, 49)
	binary.BigEndian.PutUint32(connect, 45)
	binary.BigEndian.PutUint32(connect[28:], 16)
	f.Add(connect)
	f.Add([]byte("srvr"))
	c := jute.NewConn(jute.Config{})
	for mode := range jute.Mode(7) {
		c.Create(jute.Call{}, jute.NewNode{Path: jute.Path{Rest: []byte("/a")}, Data: []byte("v"), ACL: jute.OpenACL(), Mode: mode, TTL: 1, WithStat: true})
	}
	path := jute.Path{Rest: []byte("/a")}
	c.SetData(jute.Call{}, path, nil, 0)
	c.GetChildren(jute.Call{}, path, false)
	c.Multi(jute.Call{}, []jute.MultiOp{{Op: jute.OpSetData, Path: path, Version: 1}, {Op: jute.OpDelete, Path: path, Version: 9}})
	c.Delete(jute.Call{}, path, -1)
	c.CloseSession(jute.Call{})
	f.Add(c.Out())
	f.Fuzz(func(t *testing.T, in []byte) {
		s := prepared(t, store.NullOptions{Memory: true})
		here, there := net.Pipe()
		defer func() { _ = there.Close() }()
		c := s.open(here, 0)
		for len(in) > 0 && !c.closing {
			n := c.step(in, 0)
			if n == 0 {
				break
			}
			in = in[n:]
		}
	})
}
