package nullnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
)

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

// Config says what the connections of a server are.
type Config[C Conn, T any] struct {
	// Open begins a connection with a member, counted from 0.
	Open func(nc net.Conn, member int) C
	// Due does what is due, in its order, and returns soon: what comes behind
	// waits. A nil among them is a close@ of the script's, for Server.Hangup.
	Due func(batch []T)
	// MaxDue is how many are given to Due at once, at least 1.
	MaxDue int
	// BadRequest is what another server answers to a client that speaks this
	// protocol to it, for a script's mode http1.
	BadRequest string
}

// Server is the members of one null cluster, with connections of type C, for
// which things of a pointer type T are due later.
type Server[C Conn, T any] struct {
	*Base
	config   Config[C, T]
	schedule *timer.Schedule[T]

	mu    sync.Mutex // guards conns, which is nil once the server stops
	conns map[C]struct{}
}

// NewServer returns a server.
func NewServer[C Conn, T any](b *Base, c Config[C, T]) *Server[C, T] {
	return &Server[C, T]{Base: b, config: c, schedule: timer.NewSchedule[T](b.Clock, c.MaxDue), conns: map[C]struct{}{}}
}

// CloseAll closes listeners.
func CloseAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}

// Serve serves one member on each listener until ctx is done: then it closes
// everything, waits for all of its goroutines and returns nil. It returns an
// error when a listener fails; the listeners are closed in any case.
func (s *Server[C, T]) Serve(ctx context.Context, listeners []net.Listener) error {
	defer CloseAll(listeners)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for i, l := range listeners {
		s.Go(func() {
			if err := s.accept(l, i); err != nil {
				cancel(err)
			}
		})
	}
	s.Go(s.fire)
	<-ctx.Done()
	CloseAll(listeners)
	s.stop()
	s.running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, ctx.Err()) {
		return err
	}
	return nil
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
		c := s.config.Open(nc, member)
		if !s.enter(c) {
			_ = nc.Close()
			return nil
		}
		s.Go(func() {
			defer s.leave(c)
			if s.Script.Mode != null.Speaks {
				s.refuse(c.Socket(), n, s.config.BadRequest)
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
func (s *Server[C, T]) Later(items ...timer.Item[T]) { s.schedule.Add(items...) }

// Begin schedules what the script does at times counted from the first
// operation, which arrived now.
func (s *Server[C, T]) Begin(now int64) {
	for _, at := range s.Script.Closes {
		s.schedule.Add(timer.Item[T]{Due: now + int64(at)})
	}
}

// Hangup closes every open connection, as the script says.
func (s *Server[C, T]) Hangup() {
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
	var batch []T
	for {
		var ok bool
		if batch, ok = s.schedule.Next(batch[:0]); !ok {
			return
		}
		s.config.Due(batch)
		clear(batch)
	}
}
