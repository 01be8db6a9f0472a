// Package httpd is what the null servers of protocols over HTTP/1.1 share:
// connections, requests, and the script that says when each is answered. What
// the answers are is a Service's.
package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// Service is one member's protocol. Its methods are called by several
// goroutines at once, and append a whole answer, head and body, to b.
type Service interface {
	// Operation reports whether a request is an operation on keys. Only those
	// follow the script, administration and what is denied does not.
	Operation(r *Request) bool
	// Answer carries a request out; wrong is null.Answer, or null.WrongKey or
	// null.WrongValue, by which the answer to a read is to be wrong.
	Answer(b []byte, r *Request, wrong null.Kind) []byte
	// Error is the answer that a script's error=NAME asks for.
	Error(b []byte, name string) []byte
}

// Options say how a server behaves.
type Options struct {
	Script *null.Script // nil answers everything at once
	TLS    *tls.Config  // nil is plain
	// AuthField is the request field, in lower case, that Request.Auth holds.
	AuthField string
}

// server is the members of one null cluster.
type server struct {
	options  Options
	script   *null.Script
	run      *null.Run // nil: answer everything at once
	clock    clock
	schedule schedule
	tls      *tls.Config
	accepted atomic.Uint64
	running  sync.WaitGroup
	done     chan struct{} // closed when the server stops

	mu    sync.Mutex // guards conns, which is nil once the server stops
	conns map[*conn]struct{}
}

// Serve serves one service on each listener until ctx is done: then it closes
// everything, waits for all of its goroutines and returns nil. It returns an
// error when a listener fails; the listeners are closed in any case.
func Serve(ctx context.Context, listeners []net.Listener, services []Service, o Options) error {
	defer closeAll(listeners)
	clock, err := newClock()
	if err != nil {
		return err
	}
	defer clock.close()
	s := &server{
		options: o, script: o.Script, clock: clock, schedule: schedule{clock: clock},
		done: make(chan struct{}), conns: map[*conn]struct{}{},
	}
	if s.script == nil {
		s.script = &null.Script{}
	}
	if !s.script.AtOnce() {
		s.run = null.NewRun(s.script)
	}
	if o.TLS != nil {
		s.tls = o.TLS.Clone()
		s.tls.NextProtos = []string{"http/1.1"}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for i, l := range listeners {
		s.running.Go(func() {
			if err := s.accept(l, services[i]); err != nil {
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

func (s *server) accept(l net.Listener, service Service) error {
	for {
		nc, err := l.Accept()
		if err != nil {
			select {
			case <-s.done:
				return nil
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		c := &conn{server: s, service: service, socket: nc, net: nc}
		if !s.add(c) {
			_ = nc.Close()
			return nil
		}
		s.running.Go(func() {
			defer s.remove(c)
			s.serve(c)
		})
	}
}

func (s *server) serve(c *conn) {
	if s.script.Mode != null.Speaks {
		s.refuse(c.net, s.accepted.Add(1))
		return
	}
	if s.tls != nil {
		t := tls.Server(c.net, s.tls)
		if err := t.Handshake(); err != nil {
			return
		}
		c.net = t
	}
	c.serve()
}

func (s *server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *server) remove(c *conn) {
	_ = c.socket.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// stop ends every connection and the schedule.
func (s *server) stop() {
	close(s.done)
	s.schedule.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.socket.Close()
	}
	s.conns = nil
}

func (s *server) open() (conns []*conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

// garbageSize is how many random bytes a connection gets.
const garbageSize = 4096

// refuse treats the n-th connection as the script's mode says, without ever
// speaking the protocol.
func (s *server) refuse(nc net.Conn, n uint64) {
	switch s.script.Mode {
	case null.Garbage:
		random := rand.New(rand.NewPCG(s.script.Seed, n))
		b := make([]byte, garbageSize)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		_ = s.write(nc, b)
	case null.HTTP1:
		// Some other web server, which knows nothing of what is asked.
		if _, err := nc.Read(make([]byte, 1)); err != nil {
			return
		}
		_ = s.write(nc, []byte(badRequestPage))
		if half, ok := nc.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	_, _ = io.Copy(io.Discard, nc)
}

const badRequestPage = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 37\r\nConnection: close\r\n\r\n" +
	"<html><h1>400 Bad Request</h1></html>"
