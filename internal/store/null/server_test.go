package null

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// patience limits every wait, so that no test hangs forever.
const patience = 2 * time.Minute

// delayedConn is a connection that sends back each byte one microsecond after it has read the byte.
type delayedConn struct {
	Writer
	server  *Server[*delayedConn, *delayedConn]
	taken   chan<- struct{} // signals that a byte was read
	out     []byte
	closing bool
}

func (c *delayedConn) Serve() {
	defer c.End()
	b := make([]byte, 1)
	for {
		if _, err := c.Socket().Read(b); err != nil {
			return
		}
		now := c.server.Clock.Now()
		if c.server.Run != nil {
			c.server.Arrive(now, 0)
		}
		c.server.Schedule(Item[*delayedConn]{Due: now + 1000, Value: c})
		c.taken <- struct{}{}
	}
}

// serve runs one member. It returns a connection to the member and a function that stops the
// member.
func serve(t *testing.T, text string, clock Clock, taken chan<- struct{}) (net.Conn, func()) {
	t.Helper()
	script, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var s *Server[*delayedConn, *delayedConn]
	s = NewServer(script, NetConfig[*delayedConn, *delayedConn]{
		MaxDue: 2,
		Open: func(nc net.Conn, _ int) *delayedConn {
			c := &delayedConn{server: s, taken: taken}
			c.Init(&s.Base, nc, &c.out, &c.closing)
			return c
		},
		HandleDue: func(batch []*delayedConn) {
			for _, c := range batch {
				c.Lock()
				c.out = append(c.out, "x"...)
				c.Flush(false)
				c.Unlock()
			}
		},
	})
	s.UseClock(clock)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, []net.Listener{l}) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = c.Close() })
	return c, func() {
		cancel()
		storetest.AwaitEnd(t, "the null server", ended)
	}
}

// TestDue checks that items are delivered exactly when they are due, and that the script closes
// connections only after the items that were due before.
func TestDue(t *testing.T) {
	clock := settle.NewClock()
	taken := make(chan struct{}, 9) // buffered, so that sends never block
	c, stop := serve(t, "close@5us", clock, taken)
	defer stop()
	if _, err := c.Write([]byte("123")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-taken
	}
	clock.Advance(999)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.Read(make([]byte, 9)); n > 0 || err == nil {
		t.Fatalf("read %d bytes before the response was due, %v", n, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	clock.Advance(1)
	if _, err := io.ReadFull(c, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	clock.Advance(4000)
	if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestStops checks that stopping a server closes its open connections, even if their clients send
// nothing.
func TestStops(t *testing.T) {
	for _, text := range []string{"", "mode=silent", "mode=http1"} {
		c, stop := serve(t, text, settle.NewClock(), nil)
		stop()
		var timeout net.Error
		if b, err := io.ReadAll(c); len(b) > 0 || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%q: %q, %v", text, b, err)
		}
	}
}

func TestModes(t *testing.T) {
	read := func(text string, n int) []byte {
		c, stop := serve(t, text, settle.NewClock(), nil)
		defer stop()
		_, _ = c.Write([]byte("hello"))
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	if page := read("mode=http1", 16); !strings.HasPrefix(string(page), "HTTP/1.1 400 ") {
		t.Errorf("%q", page)
	}
	if one, two := read("mode=garbage; seed=1", garbageSize), read("mode=garbage; seed=1; chunk=1000", garbageSize); !bytes.Equal(one, two) {
		t.Error("servers with the same seed sent different garbage")
	}
	if one, two := read("mode=garbage; seed=1", 8), read("mode=garbage; seed=2", 8); bytes.Equal(one, two) {
		t.Error("servers with different seeds sent the same garbage")
	}
}

// TestListenerFails checks that Serve returns an error if a listener fails.
func TestListenerFails(t *testing.T) {
	s := NewServer(&Script{}, NetConfig[*delayedConn, *delayedConn]{MaxDue: 1})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Serve(t.Context(), []net.Listener{failing{l}})
	if err == nil || !strings.HasPrefix(err.Error(), "null server: cannot accept connections on 127.0.0.1:") {
		t.Error(err)
	}
}

type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) { return nil, io.ErrUnexpectedEOF }
