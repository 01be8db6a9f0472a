package passive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/passive"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// recordingSink is a store.TapProvider and a Sink that keeps what it receives.
type recordingSink struct {
	feed func(h *decodedConn, ofClient bool, b []byte) error // may be nil

	mu    sync.Mutex
	conns map[uint32]*decodedConn
	gaps  []call.Gap
}

// decodedConn contains what was decoded from one connection.
type decodedConn struct {
	sink          *recordingSink
	received      [2][]byte // bytes from the member and from the client
	lastTime      int64
	timeDecreased bool // whether a time decreased
	feedCount     int
	endCount      int
}

func (l *recordingSink) Tap(cfg store.TapConfig) store.Tap {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &decodedConn{sink: l}
	l.conns[cfg.Conn] = h
	return h
}

func (l *recordingSink) Call(*call.Call) {}

func (l *recordingSink) Gap(g call.Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = append(l.gaps, g)
}

func (h *decodedConn) Feed(ofClient bool, at int64, b []byte) error {
	h.feedCount++
	if h.sink.feed != nil {
		return h.sink.feed(h, ofClient, b)
	}
	side := 0
	if ofClient {
		side = 1
	}
	h.received[side] = append(h.received[side], b...)
	h.lastTime, h.timeDecreased = at, h.timeDecreased || at < 0
	return nil
}

func (h *decodedConn) Open() int { return 0 }
func (h *decodedConn) End(int64) { h.endCount++ }

// smallBufferListener accepts connections with small buffers.
type smallBufferListener struct{ net.Listener }

func (l smallBufferListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	return c, err
}

// forward runs a relay in front of a member. The sink `all` keeps everything that the relay
// decodes.
func forward(t *testing.T, to string, all *recordingSink) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all.conns = map[uint32]*decodedConn{}
	began := time.Now()
	r := passive.NewRelay(passive.RelayConfig{MemberAddress: to, Tap: passive.TapConfig{Provider: all, Sink: all}, Now: func() int64 { return int64(time.Since(began)) }, Notify: func(why string) { t.Error(why) }})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, smallBufferListener{l}) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// member starts a server that runs until the test ends. The server calls the function `serve` for
// each connection.
func member(t *testing.T, serve func(c *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Add(1)
	go func() {
		defer all.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Add(1)
			go func() {
				defer all.Done()
				defer func() { _ = c.Close() }()
				serve(c.(*net.TCPConn))
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return l.Addr().String()
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// random returns n bytes that depend only on the seed.
func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

// Several connections transfer much data in both directions at the same time. The buffers at both
// ends are small, so the relay cannot write everything immediately. The data arrives unchanged,
// half-closed connections continue in the other direction, and the decoded bytes equal the sent
// bytes.
func TestBytesAreForwardedUnchanged(t *testing.T) {
	const conns, size = 4, 2 << 20
	narrow := func(c *net.TCPConn) { _, _ = c.SetReadBuffer(64<<10), c.SetWriteBuffer(64<<10) }
	to := member(t, func(c *net.TCPConn) {
		narrow(c)
		asked, err := io.ReadAll(c) // until the client has sent everything
		if err != nil {
			t.Error(err)
		}
		sum := sha256.Sum256(asked)
		if _, err := c.Write(append(sum[:], random(uint64(asked[0]), size)...)); err != nil {
			t.Error(err)
		}
	})
	l := &recordingSink{}
	addr, stop := forward(t, to, l)
	var all sync.WaitGroup
	for i := range conns {
		c := dial(t, addr)
		narrow(c)
		all.Add(1)
		go func() {
			defer all.Done()
			say := append([]byte{byte(i)}, random(uint64(100+i), size)...)
			if _, err := c.Write(say); err != nil {
				t.Error(err)
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
			got, err := io.ReadAll(c)
			sum := sha256.Sum256(say)
			if want := append(sum[:], random(uint64(i), size)...); err != nil || !bytes.Equal(got, want) {
				t.Errorf("connection %d: %d bytes arrived, not the %d sent; %v", i, len(got), len(want), err)
			}
		}()
	}
	all.Wait()
	stop()
	if len(l.gaps) > 0 || len(l.conns) != conns {
		t.Fatalf("%d connections were decoded, with the gaps %v", len(l.conns), l.gaps)
	}
	for _, h := range l.conns {
		i := h.received[1][0]
		sum := sha256.Sum256(h.received[1])
		if h.endCount != 1 || h.timeDecreased || !bytes.Equal(h.received[1][1:], random(uint64(100+int(i)), size)) || !bytes.Equal(h.received[0], append(sum[:], random(uint64(i), size)...)) {
			t.Errorf("connection %d: %d and %d bytes were decoded, and the connection ended %d times", i, len(h.received[1]), len(h.received[0]), h.endCount)
		}
	}
}

// Calls alternate on many connections at once. Each reply is decoded after all bytes of its
// request.
func TestAnswersAreDecodedAfterTheirRequests(t *testing.T) {
	const conns, calls = 20, 200
	to := member(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	l := &recordingSink{}
	early := false
	l.feed = func(h *decodedConn, ofClient bool, b []byte) error {
		h.received[0] = append(h.received[0], b...) // in the order of decoding
		if ofClient {
			h.lastTime++
		} else if h.lastTime--; h.lastTime != 0 {
			early = true
		}
		return nil
	}
	addr, stop := forward(t, to, l)
	var all sync.WaitGroup
	for range conns {
		c := dial(t, addr)
		all.Add(1)
		go func() {
			defer all.Done()
			var b [8]byte
			for n := range uint64(calls) {
				binary.BigEndian.PutUint64(b[:], n)
				if _, err := c.Write(b[:]); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(c, b[:]); err != nil || binary.BigEndian.Uint64(b[:]) != n {
					t.Errorf("the reply %x arrived for call %d, %v", b, n, err)
					return
				}
			}
		}()
	}
	all.Wait()
	stop()
	if early || len(l.conns) != conns {
		t.Errorf("a reply was decoded before its request: %v; %d connections", early, len(l.conns))
	}
	for n, h := range l.conns {
		for i := range uint64(calls) {
			if binary.BigEndian.Uint64(h.received[0][16*i:]) != i || binary.BigEndian.Uint64(h.received[0][16*i+8:]) != i {
				t.Fatalf("connection %d: call %d is not at its position in the decoded bytes", n, i)
			}
		}
	}
}

// A blocked tap does not delay forwarding. The memory of the backlog is limited. The end of a
// connection's recording is reported once, and another connection with little data is still
// decoded.
func TestBytesAreForwardedWhileDecodingIsBlocked(t *testing.T) {
	const size = 48 << 20 // exceeds the limit of one connection's backlog
	to := member(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c); _, _ = c.Write([]byte("all")) })
	goOn := make(chan struct{})
	most := 0
	l := &recordingSink{feed: func(h *decodedConn, ofClient bool, b []byte) error {
		<-goOn
		h.received[1] = append(h.received[1], b...)
		most = max(most, len(h.received[1]))
		return nil
	}}
	began := time.Now() // shortly before the relay's clock starts
	addr, stop := forward(t, to, l)
	say := func(b []byte) {
		c := dial(t, addr)
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		_ = c.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || string(got) != "all" {
			t.Fatalf("%q arrived, %v", got, err)
		}
	}
	much := random(7, size)
	say(much)
	passed := time.Since(began)
	say([]byte("little"))
	close(goOn)
	stop()
	if len(l.gaps) != 1 || l.gaps[0].Conn != 1 || l.gaps[0].Reason != "the connection's bytes arrived faster than they could be decoded, so the rest of the connection is not recorded" {
		t.Fatalf("the gaps are %+v", l.gaps)
	}
	if at := time.Duration(l.gaps[0].At); at > passed {
		t.Errorf("the gap begins at %v, but all bytes had been forwarded after %v", at, passed)
	}
	if most == 0 || most > 17<<20 || !bytes.HasPrefix(much, l.conns[1].received[1]) {
		t.Errorf("%d bytes of the first connection were decoded, or the decoded bytes differ from the sent bytes", most)
	}
	if got := string(l.conns[2].received[1]); got != "littleall" {
		t.Errorf("the decoded bytes of the second connection are %q", got)
	}
	for n, h := range l.conns {
		if h.endCount != 1 {
			t.Errorf("connection %d ended %d times", n, h.endCount)
		}
	}
}

// A piece of one byte needs much more memory than one byte. The limit counts this memory, too.
func TestManySmallPiecesAreBounded(t *testing.T) {
	if got := passive.MaxPieces(); got > 16<<20/64 {
		t.Errorf("up to %d pieces of one connection may wait, which exceeds the memory limit", got)
	}
}

// A tap that returned an error is not called again.
func TestBytesAreForwardedAfterAnError(t *testing.T) {
	to := member(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	l := &recordingSink{feed: func(*decodedConn, bool, []byte) error { return errors.New("it is nothing that I know") }}
	addr, stop := forward(t, to, l)
	c := dial(t, addr)
	var b [4]byte
	for range 100 {
		if _, err := c.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, b[:]); err != nil || string(b[:]) != "ping" {
			t.Fatal(b, err)
		}
	}
	stop()
	if h := l.conns[1]; len(l.gaps) != 1 || h.feedCount != 1 || h.endCount != 1 {
		t.Errorf("%d pieces were fed to the tap, the connection ended %d times, and the gaps are %v", h.feedCount, h.endCount, l.gaps)
	}
}

// When the relay ends, connections in the middle of a transfer or with a slow peer end, too. All
// forwarded bytes are decoded.
func TestClosingTheRelayEndsConnections(t *testing.T) {
	arrived := make(chan struct{}, 3)
	to := member(t, func(c *net.TCPConn) {
		var b [5]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Error(err)
		}
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, hidesLength{c})
	})
	l := &recordingSink{}
	addr, stop := forward(t, to, l)
	var conns []*net.TCPConn
	for range 3 {
		c := dial(t, addr)
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for range conns {
		<-arrived
	}
	stop()
	for _, c := range conns {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection is still open after the relay ended")
		}
	}
	for n, h := range l.conns {
		if h.endCount != 1 || string(h.received[1]) != "hello" {
			t.Errorf("connection %d: %q was decoded, and the connection ended %d times", n, h.received[1], h.endCount)
		}
	}
}

type hidesLength struct{ io.Reader }

// slowly is a context that does not call its AfterFunc functions immediately after its
// cancellation, as is permitted for any context. It calls them one by one. After each call, it
// waits for a short time, in which the called function can cause other functions to be withdrawn.
type slowly struct {
	context.Context
	done chan struct{}

	withdrawn chan struct{} // receives a value if a function is withdrawn after the cancellation

	mu    sync.Mutex
	ended bool
	calls []func() // in order of registration; nil if withdrawn
}

func (s *slowly) Done() <-chan struct{} { return s.done }

func (s *slowly) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return context.Canceled
	}
	return nil
}

// AfterFunc is the method that package context calls on contexts of other packages.
func (s *slowly) AfterFunc(f func()) (stop func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.calls)
	s.calls = append(s.calls, f)
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		was := s.calls[i] != nil
		if s.calls[i] = nil; was && s.ended {
			s.withdrawn <- struct{}{}
		}
		return was
	}
}

func (s *slowly) end() {
	s.mu.Lock()
	s.ended = true
	close(s.done)
	n := len(s.calls)
	s.mu.Unlock()
	for i := range n {
		s.mu.Lock()
		f := s.calls[i]
		s.calls[i] = nil
		s.mu.Unlock()
		if f != nil {
			f()
			select {
			case <-s.withdrawn:
			case <-time.After(50 * time.Millisecond): // no function is being withdrawn
			}
		}
	}
}

// The goroutines that forward connections may notice the cancellation of ctx later than Serve, and
// after the listener has been closed. Their connections still end.
func TestEndReachesLateConnections(t *testing.T) {
	to := member(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := &recordingSink{conns: map[uint32]*decodedConn{}}
	r := passive.NewRelay(passive.RelayConfig{MemberAddress: to, Tap: passive.TapConfig{Provider: all, Sink: all}, Now: func() int64 { return 1 }, Notify: func(why string) { t.Error(why) }})
	ctx := &slowly{Context: context.Background(), done: make(chan struct{}), withdrawn: make(chan struct{}, 16)}
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, l) }()
	c := dial(t, l.Addr().String())
	if _, err := c.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	ctx.end()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the relay and its connection are still running")
		_ = c.CloseWrite()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// If one side resets a connection, the relay closes the other side.
func TestResetClosesBothSides(t *testing.T) {
	ended := make(chan struct{})
	to := member(t, func(c *net.TCPConn) {
		_, _ = io.Copy(io.Discard, hidesLength{c})
		close(ended)
	})
	l := &recordingSink{}
	addr, stop := forward(t, to, l)
	c := dial(t, addr)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	settle.Eventually(t, "the tap receives the connection", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.conns) == 1
	})
	_ = c.SetLinger(0)
	_ = c.Close()
	<-ended
	stop()
	if h := l.conns[1]; h.endCount != 1 {
		t.Errorf("the connection ended %d times", h.endCount)
	}
}

// A queue slot is reused after its connection has ended.
func TestSlotsOfConnectionsAreReused(t *testing.T) {
	to := member(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	l := &recordingSink{}
	addr, stop := forward(t, to, l)
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range 25 {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				say := random(uint64(i), 1000)
				_, _ = c.Write(say)
				_ = c.(*net.TCPConn).CloseWrite()
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, say) {
					t.Errorf("%d bytes returned, %v", len(got), err)
				}
				_ = c.Close()
			}
		}()
	}
	all.Wait()
	stop()
	if len(l.conns) != 200 {
		t.Errorf("%d connections are decoded", len(l.conns))
	}
	for n, h := range l.conns {
		if h.endCount != 1 || len(h.received[0]) != 1000 || !slices.Equal(h.received[0], h.received[1]) {
			t.Errorf("connection %d: %d and %d bytes were decoded, and the connection ended %d times", n, len(h.received[1]), len(h.received[0]), h.endCount)
		}
	}
}
