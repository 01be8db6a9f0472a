// Package nullserver is a server that speaks enough of etcd's gRPC over HTTP/2
// to be benchmarked, with no store behind it: what the generator is calibrated
// against, and the ground truth of its accuracy tests. It answers at once, or
// as a null.Script says.
//
// One process can be several members that share what was written; the first
// leads. The official client (go.etcd.io/etcd/client/v3) takes it for etcd as
// long as it asks for Put, Get, Delete, Txn, Status or MemberList; leases and
// watches are answered as unimplemented.
package nullserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Options say how a null server behaves. The zero Options remember what was
// written and answer everything at once.
type Options struct {
	// Script is what happens to operations; ParseScript reads one. Only
	// operations on keys count as such and follow it, administration does not.
	// nil answers everything at once.
	Script *null.Script
	// NoMemory forgets writes, and answers every read with the key asked for
	// and Value: the cheapest server there is, for calibration.
	NoMemory bool
	Value    []byte
	// TLS serves over TLS; the protocol h2 is added to what it negotiates.
	TLS *tls.Config
	// User, NAME:PASSWORD, turns authentication on.
	User string
	// Window is the size in bytes of the flow-control windows that clients
	// get, from 1 to 2^31-1. 0 is so large that they never wait.
	Window int
	// MaxStreams is how many requests one connection may have in flight;
	// 0 for no limit.
	MaxStreams int
	// Counts, if not nil, counts the operations. Without it the server keeps
	// no figures at all.
	Counts *Counts
}

// ParseScript reads a script for this server: null.Parse with the names of
// the errors that it can answer.
func ParseScript(text string) (*null.Script, error) { return null.Parse(text, Errors()) }

// check says what makes no sense. A user without a password may be a password,
// and is not shown.
func (o *Options) check() error {
	switch {
	case o.Window < 0 || o.Window > h2.MaxWindow:
		return fmt.Errorf("null server: a window of %d bytes is impossible; it is 1 to 2147483647, or 0 for the default", o.Window)
	case o.MaxStreams < 0:
		return fmt.Errorf("null server: a connection cannot have %d requests in flight; write at least 1, or 0 for no limit", o.MaxStreams)
	case o.User != "" && !strings.Contains(o.User, ":"):
		return errors.New("null server: the user has no password; write NAME:PASSWORD")
	case o.Script == nil:
		return nil
	}
	known := scriptErrors()
	for _, r := range o.Script.Rules {
		if r.Kind == null.Error && known[r.Name] == nil {
			return fmt.Errorf("null server: there is no error %q; known are %s", r.Name, strings.Join(Errors(), ", "))
		}
	}
	return nil
}

// defaultWindow is a window that nobody fills.
const defaultWindow = 1 << 30

// server is the members of one null cluster.
type server struct {
	options  Options
	script   *null.Script
	run      *null.Run // nil: answer everything at once
	clock    clock
	schedule schedule
	tls      *tls.Config
	members  []*member
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
	clock, err := newClock()
	if err != nil {
		closeAll(listeners)
		return err
	}
	defer clock.close()
	return serve(ctx, listeners, o, clock)
}

func serve(ctx context.Context, listeners []net.Listener, o Options, clock clock) error {
	defer closeAll(listeners)
	s, err := newServer(listeners, o, clock)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for i, l := range listeners {
		s.running.Go(func() {
			if err := s.accept(l, s.members[i]); err != nil {
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

func newServer(listeners []net.Listener, o Options, clock clock) (*server, error) {
	if len(listeners) == 0 {
		return nil, errors.New("null server: there is no listener, and so no member")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
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
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
		s.tls = o.TLS.Clone()
		if !slices.Contains(s.tls.NextProtos, "h2") {
			s.tls.NextProtos = append([]string{"h2"}, s.tls.NextProtos...)
		}
	}
	s.newMembers(listeners, scheme)
	return s, nil
}

// newMembers makes one member for each listener, with one store for all.
func (s *server) newMembers(listeners []net.Listener, scheme string) {
	var keeper keeper = newMemory()
	if s.options.NoMemory {
		keeper = &canned{value: s.options.Value}
	}
	var urls []string
	for _, l := range listeners {
		urls = append(urls, scheme+l.Addr().String())
	}
	for i := range listeners {
		s.members = append(s.members, &member{
			identity: newIdentity(MemberID(i + 1)), keeper: keeper, members: members(urls),
			user: s.options.User, errors: scriptErrors(),
		})
	}
}

func (s *server) newSession(m *member) *session {
	window := int64(s.options.Window)
	if window == 0 {
		window = defaultWindow
	}
	session := newSession(m, window)
	session.run, session.script = s.run, s.script
	session.counts, session.maxStreams = s.options.Counts, s.options.MaxStreams
	return session
}

// accept serves a member's connections until its listener is closed.
func (s *server) accept(l net.Listener, m *member) error {
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
		if s.tls != nil {
			nc = tls.Server(nc, s.tls)
		}
		c := newConn(s, m, nc)
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
