package nullserver

import (
	"context"
	"encoding/binary"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/timer/timertest"
	"github.com/quorumbench/quorumbench/internal/store/storetest"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// serveOne serves one member and returns its address.
func serveOne(b testing.TB, o Options) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, []net.Listener{l}, o) }()
	b.Cleanup(func() {
		cancel()
		storetest.Ended(b, "the null server", done)
	})
	return l.Addr().String()
}

// hose sends requests in batches and reads the answers, without allocating.
type hose struct {
	b    testing.TB
	net  net.Conn
	conn *jute.Conn
	buf  []byte
	path jute.Path
	data []byte
	put  bool
}

func newHose(b testing.TB, address string, put bool) *hose {
	b.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = nc.Close() })
	h := &hose{
		b: b, net: nc, conn: jute.NewConn(jute.Config{Timeout: 30_000}), buf: make([]byte, 256<<10), put: put,
		path: jute.Path{Prefix: "/", Rest: []byte("bench")}, data: make([]byte, 256),
	}
	for !h.conn.Ready() {
		h.turn()
	}
	h.conn.Create(jute.Call{}, h.path, h.data, jute.OpenACL(), jute.Persistent, 0, false)
	h.drain()
	return h
}

func (h *hose) turn() int {
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
	return len(replies)
}

func (h *hose) drain() {
	for h.conn.Open() > 0 {
		h.turn()
	}
}

// run sends n requests, a hundred at a time.
func (h *hose) run(n int) {
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

func bench(b *testing.B, o Options, put bool) {
	h := newHose(b, serveOne(b, o), put)
	h.run(1000)
	b.ReportAllocs()
	b.ResetTimer()
	began := cpu()
	h.run(b.N)
	b.ReportMetric(float64(cpu()-began)/float64(b.N), "cpu-ns/op") // the hose's half too
}

func BenchmarkGet(b *testing.B) { bench(b, Options{}, false) }
func BenchmarkPut(b *testing.B) { bench(b, Options{}, true) }
func BenchmarkGetCanned(b *testing.B) {
	bench(b, Options{NoMemory: true, Value: make([]byte, 256)}, false)
}

// The steady state allocates nothing on either side.
func TestNoAllocations(t *testing.T) {
	for name, put := range map[string]bool{"get": false, "put": true} {
		h := newHose(t, serveOne(t, Options{}), put)
		h.run(2000)
		if n := testing.AllocsPerRun(20, func() { h.run(1000) }); n > 1 { // of the runtime's own
			t.Errorf("%s: %v allocations in 1000 operations", name, n)
		}
	}
}

func TestCounts(t *testing.T) {
	script, err := ParseScript("error=noauth every 4; wrong=value every 3")
	if err != nil {
		t.Fatal(err)
	}
	counts := &null.Counts{}
	h := newHose(t, serveOne(t, Options{Script: script, Counts: counts}), true)
	h.run(23) // and the create before
	h.conn.Exists(jute.Call{}, jute.Path{Prefix: "/"}, false)
	h.conn.Sync(jute.Call{}, jute.Path{Prefix: "/"})
	h.drain()
	if counts.Total() != 24 || counts.Of(null.Error) != 6 || counts.Of(null.WrongValue) != 6 || counts.Of(null.Answer) != 12 {
		t.Errorf("counted %d, of which %d errors, %d wrong", counts.Total(), counts.Of(null.Error), counts.Of(null.WrongValue))
	}
}

// FuzzConn feeds anything to a connection: nothing panics, and the server
// stays.
func FuzzConn(f *testing.F) {
	connect := make([]byte, 49)
	binary.BigEndian.PutUint32(connect, 45)
	binary.BigEndian.PutUint32(connect[28:], 16)
	f.Add(connect)
	f.Add([]byte("srvr"))
	c := jute.NewConn(jute.Config{})
	for mode := range jute.Mode(7) {
		c.Create(jute.Call{}, jute.Path{Rest: []byte("/a")}, []byte("v"), jute.OpenACL(), mode, 1, true)
	}
	path := jute.Path{Rest: []byte("/a")}
	c.SetData(jute.Call{}, path, nil, 0)
	c.GetChildren(jute.Call{}, path, false)
	c.Multi(jute.Call{}, []jute.MultiOp{{Op: jute.OpSetData, Path: path, Version: 1}, {Op: jute.OpDelete, Path: path, Version: 9}})
	c.Delete(jute.Call{}, path, -1)
	c.CloseSession(jute.Call{})
	f.Add(c.Out())
	f.Fuzz(func(t *testing.T, in []byte) {
		s := newServer(Options{}, timertest.NewClock())
		s.members = []string{"127.0.0.1:1"}
		here, there := net.Pipe()
		defer func() { _ = there.Close() }()
		c := newConn(s, 0, here)
		for len(in) > 0 && !c.closing {
			n := c.step(in, 0)
			if n == 0 {
				break
			}
			in = in[n:]
		}
	})
}
