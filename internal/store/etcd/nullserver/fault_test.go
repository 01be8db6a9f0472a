package nullserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// rest reads until the server closes the connection. It returns the replies that have arrived.
func (c *rawClient) rest() map[uint32]*reply {
	c.t.Helper()
	replies := map[uint32]*reply{}
	for {
		f, p, err := c.frame()
		if errors.Is(err, io.EOF) {
			return replies
		}
		if err != nil {
			c.t.Fatal(err)
		}
		c.collect(f, p, replies)
	}
}

func TestCloseCuts(t *testing.T) {
	address := start(t, 1, options("close every 5"), nil)[0]
	c, other := dial(t, address), dial(t, address)
	other.sync()
	var ids []uint32
	for range 8 {
		ids = append(ids, c.get("k"))
	}
	c.flush()
	got := c.rest()
	for i, id := range ids {
		if answered := got[id] != nil; answered != (i < 4) {
			t.Errorf("operation %d: answered %t", i+1, answered)
		}
	}
	other.sync() // other connections are not affected
}

func TestCloseAtGivenTime(t *testing.T) {
	clock := settle.NewClock()
	address := start(t, 1, options("delay=1h; close@2s"), clock)[0]
	conns := []*rawClient{dial(t, address), dial(t, address)}
	for _, c := range conns {
		c.get("k")
		c.sync()
	}
	clock.Advance(int64(2 * time.Second))
	for _, c := range conns {
		if got := c.rest(); len(got) != 0 {
			t.Errorf("got replies: %v", got)
		}
	}
	dial(t, address).sync() // the server still accepts new connections
}

func TestGoAway(t *testing.T) {
	clock := settle.NewClock()
	c := dial(t, start(t, 1, options("goaway every 3; delay=1ms"), clock)[0])
	var ids []uint32
	for range 5 {
		ids = append(ids, c.get("k"))
	}
	c.flush()
	if last := c.goAway(h2.ErrCodeNo); last != ids[2] {
		t.Errorf("GOAWAY has the last stream %d, want %d", last, ids[2])
	}
	c.sync() // the server must have read all five requests before the clock advances
	clock.Advance(int64(time.Millisecond))
	got := c.rest()
	for i, id := range ids {
		if i < 3 {
			got[id].ok(t)
		} else if got[id] != nil {
			t.Errorf("operation %d was answered after GOAWAY", i+1)
		}
	}
}

func TestHalf(t *testing.T) {
	o := options("half every 2")
	o.Memory, o.ValueSize = false, 1000
	c := dial(t, start(t, 1, o, nil)[0])
	first := c.get("k")
	c.get("k")
	c.flush()
	c.finish(1)[first].ok(t)
	var err error
	for err == nil {
		_, _, err = c.frame()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the connection ended with %v, want an end in the middle of a frame", err)
	}
}

func TestHugeFrame(t *testing.T) {
	c := dial(t, start(t, 1, options("huge=frame every 1"), nil)[0])
	c.get("k")
	c.flush()
	for {
		head := make([]byte, h2.FrameHeaderLen)
		if _, err := io.ReadFull(c.in, head); err != nil {
			t.Fatal(err)
		}
		f := h2.ParseFrameHeader(head)
		if f.Type == h2.FrameData {
			if f.Length != 1<<24-1 {
				t.Errorf("the frame's length is %d, want the maximum of 1<<24-1", f.Length)
			}
			return
		}
		if _, err := c.in.Discard(f.Length); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHugeMessage(t *testing.T) {
	c := dial(t, start(t, 1, options("huge=message every 1"), nil)[0])
	id := c.get("k")
	if got := c.sync()[id]; len(got.body) != 5 || binary.BigEndian.Uint32(got.body[1:]) != 1<<32-1 || got.grpc != "" {
		t.Errorf("got %+v", got)
	}
}

// TestChunks checks that responses are correct if they are sent in pieces of three bytes.
func TestChunks(t *testing.T) {
	c := dial(t, start(t, 1, options("chunk=3"), nil)[0])
	c.put("key", strings.Repeat("v", 500))
	var ids []uint32
	for range 20 {
		ids = append(ids, c.get("key"))
	}
	got := c.sync()
	for _, id := range ids {
		got[id].ok(t)
		if n := len(got[id].decode(t).Kvs[0].Value); n != 500 {
			t.Fatalf("the value has %d bytes, want 500", n)
		}
	}
}

func TestChunksWithPause(t *testing.T) {
	begin := time.Now() // the server starts to send as soon as the client connects
	c := dial(t, start(t, 1, options("chunk=10/1ms"), nil)[0])
	c.sync()
	// The server sends its settings (15 bytes), a window update (13 bytes), an acknowledgment of
	// the client's settings (9 bytes) and the response to the PING (17 bytes).
	if took := time.Since(begin); took < 3*time.Millisecond {
		t.Errorf("sending 54 bytes in chunks of 10 bytes took only %s", took)
	}
}

func TestModes(t *testing.T) {
	t.Run("http1", func(t *testing.T) {
		c := dial(t, start(t, 1, options("mode=http1"), nil)[0])
		c.flush()
		page, err := io.ReadAll(c.in)
		if err != nil || !bytes.HasPrefix(page, []byte("HTTP/1.1 400 ")) {
			t.Errorf("%q, %v", page, err)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		o := options("mode=garbage; seed=1")
		read := func(address string) []byte {
			c := dial(t, address)
			c.flush()
			b := make([]byte, 4096)
			if _, err := io.ReadFull(c.in, b); err != nil {
				t.Fatal(err)
			}
			return b
		}
		if a, b := read(start(t, 1, o, nil)[0]), read(start(t, 1, o, nil)[0]); !bytes.Equal(a, b) {
			t.Error("two servers with the same seed sent different garbage")
		}
	})
	t.Run("silent", func(t *testing.T) {
		c := dial(t, start(t, 1, options("mode=silent"), nil)[0])
		c.flush()
		if err := c.net.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c.in); err != nil || len(b) != 0 {
			t.Errorf("the server sent %q before it closed the connection, %v", b, err)
		}
	})
}

// TestHTTP1Request checks that the response to a request for etcd's /metrics explains that
// there are no metrics.
func TestHTTP1Request(t *testing.T) {
	nc, err := net.Dial("tcp", start(t, 1, store.NullOptions{Memory: true}, nil)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(5 * time.Minute)) // ends a test that hangs
	if _, err := io.WriteString(nc, "GET /metrics HTTP/1.1\r\nHost: null\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(nc)
	if err != nil || !strings.HasPrefix(string(page), "HTTP/1.1 404 ") || !strings.HasSuffix(string(page), notFound) {
		t.Errorf("%q, %v", page, err)
	}
}

// TestServeLeavesNoGoroutine checks that none of the server's goroutines is running after Serve
// has returned.
func TestServeLeavesNoGoroutine(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(options("delay=1h; chunk=1/1h"))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, []net.Listener{l}) }()
	for range 3 {
		c := dial(t, l.Addr().String())
		c.get("k")
		c.flush()
		if _, err := c.in.ReadByte(); err != nil { // the server has started to send
			t.Fatal(err)
		}
	}
	cancel()
	storetest.AwaitEnd(t, "the null server", served)
	stacks := make([]byte, 1<<20)
	for until := time.Now().Add(time.Minute); ; { // a goroutine may still need some time to end
		runtime.Gosched()
		s := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(s, "nullserver.(*Server)") && !strings.Contains(s, "nullserver.(*conn)") {
			return
		}
		if time.Now().After(until) {
			t.Fatal(s)
		}
	}
}

func TestRefusesInvalidOptions(t *testing.T) {
	for want, o := range map[string]store.NullOptions{
		"the user has no password":                  {User: "secret"},
		`unknown value of error: "odd"; use one of`: {Script: "error=odd every 1"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v; want %s", err, want)
		}
	}
	s, err := New(store.NullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(context.Background(), nil); err == nil {
		t.Error("Serve accepted an empty list of listeners")
	}
}
