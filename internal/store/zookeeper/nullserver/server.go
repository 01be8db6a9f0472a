// Package nullserver is a server that speaks enough of ZooKeeper's protocol to
// be benchmarked, with no store behind it: what the generator is calibrated
// against, and the ground truth of its accuracy tests. It answers at once, or
// as a null.Script says.
//
// One process can be several members that share what was written; the first
// leads. Client libraries take it for ZooKeeper as long as they create, delete,
// read and write nodes, alone or in a multi, list children, sync, and ask srvr,
// conf, dirs, ruok or mntr. Watches are accepted and never fire; access rights
// are not kept.
//
// Like ZooKeeper it answers a connection's requests in their order: an answer
// that is due waits for those before it. So a script's `never` silences its
// connection from that request on, and a delay holds back what comes behind it.
package nullserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// Options say how a null server behaves. The zero Options remember what was
// written and answer everything at once.
type Options struct {
	// Script is what happens to operations; ParseScript reads one. Only
	// operations on nodes count as such and follow it: not sync, exists of the
	// root, ping or the session's own. nil answers everything at once.
	Script *null.Script
	// NoMemory forgets writes, and answers every read with Value: the cheapest
	// server there is, for calibration.
	NoMemory bool
	Value    []byte
	// TLS serves over TLS.
	TLS *tls.Config
	// User, NAME:PASSWORD, must be given with the scheme digest before anything
	// else is answered.
	User string
	// Counts, if not nil, counts the operations.
	Counts *Counts
}

// ParseScript reads a script for this server: null.Parse with the names of
// the errors that it can answer.
func ParseScript(text string) (*null.Script, error) { return null.Parse(text, Errors()) }

// check says what makes no sense. A user without a password may be a password,
// and is not shown.
func (o *Options) check() error {
	if o.User != "" && !strings.Contains(o.User, ":") {
		return errors.New("null server: the user has no password; write NAME:PASSWORD")
	}
	if o.Script == nil {
		return nil
	}
	for _, r := range o.Script.Rules {
		if _, known := errorCode(r.Name); r.Kind == null.Error && !known {
			return fmt.Errorf("null server: there is no error %q; known are %s", r.Name, strings.Join(Errors(), ", "))
		}
	}
	return nil
}

// server is the members of one null cluster.
type server struct {
	options  Options
	script   *null.Script
	run      *null.Run // nil: answer everything at once
	clock    clock
	schedule schedule
	tree     *tree
	members  []string // addresses
	running  sync.WaitGroup
	done     chan struct{} // closed when the server stops

	mu    sync.Mutex // guards conns, which is nil once the server stops
	conns map[*conn]struct{}
}

// Serve serves one member of a null cluster on each listener, the first of
// which leads, until ctx is done: then it closes everything, waits for all of
// its goroutines and returns nil. It returns an error for Options that make no
// sense, or when a listener fails; the listeners are closed in any case.
func Serve(ctx context.Context, listeners []net.Listener, o Options) error {
	defer closeAll(listeners)
	if len(listeners) == 0 {
		return errors.New("null server: there is no listener, and so no member")
	}
	if err := o.check(); err != nil {
		return err
	}
	clock, err := newClock()
	if err != nil {
		return err
	}
	defer clock.close()
	s := &server{
		options: o, script: o.Script, clock: clock, schedule: schedule{clock: clock},
		tree: newTree(&o), done: make(chan struct{}), conns: map[*conn]struct{}{},
	}
	if s.script == nil {
		s.script = &null.Script{}
	}
	if !s.script.AtOnce() {
		s.run = null.NewRun(s.script)
	}
	for _, l := range listeners {
		s.members = append(s.members, l.Addr().String())
	}
	return s.serve(ctx, listeners)
}

func (s *server) serve(ctx context.Context, listeners []net.Listener) error {
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
func (s *server) accept(l net.Listener, member int) error {
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
		if s.options.TLS != nil {
			nc = tls.Server(nc, s.options.TLS)
		}
		c := newConn(s, member, nc)
		if !s.enter(c) {
			_ = nc.Close()
			return nil
		}
		s.running.Go(func() {
			defer s.leave(c)
			if s.script.Mode != null.Speaks {
				s.refuse(nc, n)
				return
			}
			c.serve()
		})
	}
}

// enter adds a connection, unless the server stops.
func (s *server) enter(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *server) leave(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

// stop closes all connections and the schedule.
func (s *server) stop() {
	close(s.done)
	s.schedule.stop()
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	for c := range conns {
		_ = c.net.Close()
	}
}
