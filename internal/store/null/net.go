package null

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// ReadScript parses the script for a null server and checks the server's user. The parameter
// `names` lists the valid names for error=NAME. The parameter `local` is set if the server
// supports lag and refuse=local. The error does not contain the user, because a user without a
// colon may be a password.
func ReadScript(o store.NullOptions, names []string, local bool) (*Script, error) {
	if o.User != "" && !strings.Contains(o.User, ":") {
		return nil, errors.New("null server: the user has no password; write NAME:PASSWORD")
	}
	s, err := Parse(o.Script, names)
	if err == nil && !local && (s.Lag > 0 || s.NoLocal) {
		err = errors.New("this store's null server does not support lag or refuse=local; remove them from the script")
	}
	return s, err
}

// Conn is one connection to a server.
type Conn interface {
	comparable
	// Serve reads requests and answers them until the connection ends.
	Serve()
	// Socket returns the network connection. The server closes it when the server stops or Serve
	// returns.
	Socket() net.Conn
	// Hangup closes the connection, because a close@ in the script is due.
	Hangup()
}

// NetConfig configures how a server handles connections.
type NetConfig[C Conn, T comparable] struct {
	// Open returns a new connection to the given member, counted from 0.
	Open func(nc net.Conn, member int) C
	// HandleDue handles items that are due, in order. It must return quickly, because later items
	// wait for it.
	HandleDue func(batch []T)
	// MaxDue is the maximum number of items in a batch for HandleDue. It must be at least 1.
	MaxDue int
	// TLS is the TLS configuration, or nil for connections without TLS. If Protocol is not empty,
	// the server negotiates it with ALPN.
	TLS      *tls.Config
	Protocol string
}

// Base holds the part of a server that its connections use. The fields do not change while the
// server runs.
type Base struct {
	Script *Script
	Run    *Run // nil if every request is answered at once
	Clock  Clock

	running sync.WaitGroup
	done    chan struct{} // closed when the server stops
}

// Server runs the members of one null cluster. C is the type of its connections. T is the type of
// the items in its schedule, which must be a pointer type. Serve can be called only once.
type Server[C Conn, T comparable] struct {
	Base
	config   NetConfig[C, T]
	schedule *Schedule[T]

	mu    sync.Mutex // guards conns, which becomes nil when the server stops
	conns map[C]struct{}
}

// NewServer returns a server that follows a script.
func NewServer[C Conn, T comparable](script *Script, c NetConfig[C, T]) *Server[C, T] {
	s := &Server[C, T]{Base: Base{Script: script, done: make(chan struct{})}, config: c, conns: map[C]struct{}{}}
	if !script.Immediate() {
		s.Run = NewRun(script)
	}
	if c.TLS != nil && c.Protocol != "" {
		s.config.TLS = c.TLS.Clone()
		s.config.TLS.NextProtos = []string{c.Protocol}
	}
	return s
}

// UseClock sets the server's clock. It must be called before Serve. The default is the system's
// clock.
func (s *Server[C, T]) UseClock(c Clock) {
	s.Clock, s.schedule = c, NewSchedule[T](c, s.config.MaxDue)
}

// Serve runs one member on each listener until ctx ends. Then it closes all connections, waits for
// its goroutines, and returns nil. If a listener fails, it returns an error. In both cases it
// closes the listeners.
func (s *Server[C, T]) Serve(ctx context.Context, listeners []net.Listener) error {
	defer closeAll(listeners)
	if len(listeners) == 0 {
		return errors.New("null server: no listener was given")
	}
	if s.Clock == nil {
		clock, err := NewClock()
		if err != nil {
			return err
		}
		defer clock.Close()
		s.UseClock(clock)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for i, l := range listeners {
		s.running.Go(func() {
			if err := s.accept(l, i); err != nil {
				cancel(err)
			}
		})
	}
	s.running.Go(s.runSchedule)
	<-ctx.Done()
	closeAll(listeners)
	s.stop()
	s.running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, ctx.Err()) {
		return err
	}
	return nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}

// accept serves the connections to one member until the member's listener is closed.
func (s *Server[C, T]) accept(l net.Listener, member int) error {
	for n := uint64(1); ; n++ {
		nc, err := l.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			s.pause(10 * time.Millisecond) // other connections may close in the meantime
			continue
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("null server: cannot accept connections on %s: %w", l.Addr(), err)
		}
		if s.config.TLS != nil {
			nc = tls.Server(nc, s.config.TLS)
		}
		c := s.config.Open(nc, member)
		if !s.addConn(c) {
			_ = nc.Close()
			return nil
		}
		s.running.Go(func() {
			defer s.removeConn(c)
			if s.Script.Mode != NormalMode {
				s.refuse(nc, n)
				return
			}
			c.Serve()
		})
	}
}

// addConn adds a connection and returns true. If the server is stopping, it only returns false.
func (s *Server[C, T]) addConn(c C) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server[C, T]) removeConn(c C) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	_ = c.Socket().Close()
}

// stop closes all connections and the schedule.
func (s *Server[C, T]) stop() {
	close(s.done)
	s.schedule.Stop()
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	for c := range conns {
		_ = c.Socket().Close()
	}
}

// Schedule adds items to the schedule, which passes them to NetConfig.HandleDue when they are due.
func (s *Server[C, T]) Schedule(items ...Item[T]) { s.schedule.Add(items...) }

// Arrive assigns a number to an operation that arrived now at a member (counted from 0). It returns
// the script's action and the time of the action on the server's Clock. Run must not be nil.
func (s *Server[C, T]) Arrive(now int64, member int) (a Action, due int64) {
	a, due, first := s.Run.Arrive(now, member+1)
	if first {
		for _, at := range s.Script.Closes {
			s.schedule.Add(Item[T]{Due: now + int64(at)}) // an empty item means a hangup
		}
	}
	return a, due
}

// hangup closes every open connection, because a close@ in the script is due.
func (s *Server[C, T]) hangup() {
	s.mu.Lock()
	conns := make([]C, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.Hangup()
	}
}

// runSchedule delivers due items until the server stops. It locks its OS thread so that the kernel
// wakes this thread at the correct time. Otherwise another goroutine might be running on the thread
// and delay the item.
func (s *Server[C, T]) runSchedule() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var nothing T
	var batch []T
	for {
		var ok bool
		if batch, ok = s.schedule.Next(batch[:0]); !ok {
			return
		}
		for rest := batch; len(rest) > 0; {
			n := slices.Index(rest, nothing)
			if n < 0 {
				s.config.HandleDue(rest)
				break
			}
			s.config.HandleDue(rest[:n])
			s.hangup()
			rest = rest[n+1:]
		}
		clear(batch)
	}
}

// write writes all of out. If the script sets a chunk size, it writes in chunks.
func (b *Base) write(conn net.Conn, out []byte) error {
	chunk := b.Script.Chunk
	if chunk == 0 {
		_, err := conn.Write(out)
		return err
	}
	for len(out) > 0 {
		n, err := conn.Write(out[:min(chunk, len(out))])
		if err != nil {
			return err
		}
		if out = out[n:]; len(out) > 0 && b.Script.Pause > 0 {
			b.pause(b.Script.Pause)
		}
	}
	return nil
}

// pause sleeps for d. It returns earlier if the server stops.
func (b *Base) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.done:
	}
}

// badRequest is the response of a web server to an unknown request, or to bytes that are not HTTP.
const badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 37\r\nConnection: close\r\n\r\n" +
	"<html><h1>400 Bad Request</h1></html>"

// garbageSize is how many random bytes a connection receives. It is more than the header of the
// first message in any protocol.
const garbageSize = 4096

// refuse handles connection number n of a member. It is used in the modes in which the server does
// not speak the protocol.
func (b *Base) refuse(nc net.Conn, n uint64) {
	switch b.Script.Mode {
	case Garbage:
		random := rand.New(rand.NewPCG(b.Script.Seed, n))
		garbage := make([]byte, garbageSize)
		for i := range garbage {
			garbage[i] = byte(random.Uint32())
		}
		_ = b.write(nc, garbage)
	case HTTP1:
		// A web server responds only after it has read a request, or bytes that it mistakes for a
		// request.
		if _, err := nc.Read(make([]byte, 1)); err != nil {
			return
		}
		_ = b.write(nc, []byte(badRequest))
		if half, ok := nc.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	_, _ = io.Copy(io.Discard, nc)
}
