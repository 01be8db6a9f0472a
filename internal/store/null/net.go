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

// ReadScript reads the script of a null server and checks its user. names are those
// that error=NAME may have; local says whether the server knows lag and
// refuse=local. A user without a password may be a password, and is not shown.
func ReadScript(o store.NullOptions, names []string, local bool) (*Script, error) {
	if o.User != "" && !strings.Contains(o.User, ":") {
		return nil, errors.New("null server: the user has no password; write NAME:PASSWORD")
	}
	s, err := Parse(o.Script, names)
	if err == nil && !local && (s.Lag > 0 || s.NoLocal) {
		err = errors.New("the null server of this protocol has no lag, and refuses no level of a read")
	}
	return s, err
}

// Conn is one connection.
type Conn interface {
	comparable
	// Serve reads and answers until the connection ends.
	Serve()
	// Socket is what is closed when the server stops, or when Serve returns.
	Socket() net.Conn
	// Hangup closes the connection as a script's close@ says.
	Hangup()
}

// NetConfig says what the connections of a server are.
type NetConfig[C Conn, T comparable] struct {
	// Open begins a connection with a member, counted from 0.
	Open func(nc net.Conn, member int) C
	// Due does what is due, in its order, and returns soon: what comes behind
	// waits.
	Due func(batch []T)
	// MaxDue is how many are given to Due at once, at least 1.
	MaxDue int
	// TLS serves over TLS, nil is plain; Protocol, if not empty, is what TLS
	// negotiates.
	TLS      *tls.Config
	Protocol string
}

// Base is what connections need of their server. Its fields do not change while
// the server runs.
type Base struct {
	Script *Script
	Run    *Run // nil: everything is answered at once
	Clock  Clock

	running sync.WaitGroup
	done    chan struct{} // closed when the server stops
}

// Server is the members of one null cluster, with connections of type C, for
// which things of a pointer type T are due later. It serves once.
type Server[C Conn, T comparable] struct {
	Base
	config   NetConfig[C, T]
	schedule *Schedule[T]

	mu    sync.Mutex // guards conns, which is nil once the server stops
	conns map[C]struct{}
}

// NewServer returns a server that follows a script.
func NewServer[C Conn, T comparable](script *Script, c NetConfig[C, T]) *Server[C, T] {
	s := &Server[C, T]{Base: Base{Script: script, done: make(chan struct{})}, config: c, conns: map[C]struct{}{}}
	if !script.AtOnce() {
		s.Run = NewRun(script)
	}
	if c.TLS != nil && c.Protocol != "" {
		s.config.TLS = c.TLS.Clone()
		s.config.TLS.NextProtos = []string{c.Protocol}
	}
	return s
}

// UseClock makes the server follow a clock, before it serves; without it that is
// the system's.
func (s *Server[C, T]) UseClock(c Clock) {
	s.Clock, s.schedule = c, NewSchedule[T](c, s.config.MaxDue)
}

// Serve serves one member on each listener until ctx is done: then it closes
// everything, waits for all of its goroutines and returns nil. It returns an
// error when a listener fails; the listeners are closed in any case.
func (s *Server[C, T]) Serve(ctx context.Context, listeners []net.Listener) error {
	defer closeAll(listeners)
	if len(listeners) == 0 {
		return errors.New("null server: there is no listener, and so no member")
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
	s.running.Go(s.fire)
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

// accept serves a member's connections until its listener is closed.
func (s *Server[C, T]) accept(l net.Listener, member int) error {
	for n := uint64(1); ; n++ {
		nc, err := l.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			s.pause(10 * time.Millisecond) // others may close some meanwhile
			continue
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("null server: no connections can be accepted on %s: %w", l.Addr(), err)
		}
		if s.config.TLS != nil {
			nc = tls.Server(nc, s.config.TLS)
		}
		c := s.config.Open(nc, member)
		if !s.enter(c) {
			_ = nc.Close()
			return nil
		}
		s.running.Go(func() {
			defer s.leave(c)
			if s.Script.Mode != Speaks {
				s.refuse(nc, n)
				return
			}
			c.Serve()
		})
	}
}

// enter adds a connection, unless the server stops.
func (s *Server[C, T]) enter(c C) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server[C, T]) leave(c C) {
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

// Later lets Config.Due be given things when they are due.
func (s *Server[C, T]) Later(items ...Item[T]) { s.schedule.Add(items...) }

// Arrive numbers an operation that arrived now at a member, counted from 0, and
// decides about it; due is when that happens, by the Clock. The server has a Run.
func (s *Server[C, T]) Arrive(now int64, member int) (a Action, due int64) {
	a, due, first := s.Run.Arrive(now, member+1)
	if first {
		for _, at := range s.Script.Closes {
			s.schedule.Add(Item[T]{Due: now + int64(at)}) // nothing: a hangup
		}
	}
	return a, due
}

// hangup closes every open connection, as the script says.
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

// fire gives out what is due, until the server stops. It keeps its thread,
// which the kernel wakes at the time: otherwise another goroutine may be
// running there, and the rarest answers come later still.
func (s *Server[C, T]) fire() {
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
				s.config.Due(rest)
				break
			}
			s.config.Due(rest[:n])
			s.hangup()
			rest = rest[n+1:]
		}
		clear(batch)
	}
}

// write writes everything, in chunks if the script says so.
func (b *Base) write(to net.Conn, out []byte) error {
	chunk := b.Script.Chunk
	if chunk == 0 {
		_, err := to.Write(out)
		return err
	}
	for len(out) > 0 {
		n, err := to.Write(out[:min(chunk, len(out))])
		if err != nil {
			return err
		}
		if out = out[n:]; len(out) > 0 && b.Script.Pause > 0 {
			b.pause(b.Script.Pause)
		}
	}
	return nil
}

// pause waits, unless the server stops.
func (b *Base) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.done:
	}
}

// badRequest is what a web server says to what is no HTTP, or no request that
// it knows.
const badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 37\r\nConnection: close\r\n\r\n" +
	"<html><h1>400 Bad Request</h1></html>"

// garbageSize is how many random bytes a connection gets, more than the header
// of any protocol's first message takes.
const garbageSize = 4096

// refuse treats a member's n-th connection as the script's mode says, without
// ever speaking the protocol.
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
		// Such a server answers once it has read a request, or what it takes for one.
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
