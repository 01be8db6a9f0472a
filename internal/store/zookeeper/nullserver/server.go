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

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/nullnet"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
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
	Counts *null.Counts
}

// ParseScript reads a script for this server: null.Parse with the names of
// the errors that it can answer.
func ParseScript(text string) (*null.Script, error) {
	s, err := null.Parse(text, Errors())
	if err == nil {
		err = s.Members()
	}
	return s, err
}

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

// maxDue is how many connections are served at once: more would make the
// first late.
const maxDue = 64

// server is the members of one null cluster. What is due later is a connection,
// once, because its answers keep their order.
type server struct {
	*nullnet.Server[*conn, *conn]
	options Options
	tree    *tree
	members []string // addresses
}

// Serve serves one member of a null cluster on each listener, the first of
// which leads, until ctx is done: then it closes everything, waits for all of
// its goroutines and returns nil. It returns an error for Options that make no
// sense, or when a listener fails; the listeners are closed in any case.
func Serve(ctx context.Context, listeners []net.Listener, o Options) error {
	defer nullnet.CloseAll(listeners)
	if len(listeners) == 0 {
		return errors.New("null server: there is no listener, and so no member")
	}
	if err := o.check(); err != nil {
		return err
	}
	clock, err := timer.NewClock()
	if err != nil {
		return err
	}
	defer clock.Close()
	s := newServer(o, clock)
	for _, l := range listeners {
		s.members = append(s.members, l.Addr().String())
	}
	return s.Serve(ctx, listeners)
}

func newServer(o Options, clock timer.Clock) *server {
	s := &server{options: o, tree: newTree(&o)}
	s.Server = nullnet.NewServer(nullnet.NewBase(o.Script, clock), nullnet.Config[*conn, *conn]{
		Open: s.open, Due: s.due, MaxDue: maxDue, BadRequest: nullnet.BadRequest,
	})
	return s
}

func (s *server) open(nc net.Conn, member int) *conn {
	if s.options.TLS != nil {
		nc = tls.Server(nc, s.options.TLS)
	}
	return newConn(s, member, nc)
}

// due gives the answers that are due.
func (s *server) due(batch []*conn) {
	for _, c := range batch {
		if c == nil {
			s.Hangup()
			continue
		}
		c.Lock()
		c.scheduled = false
		c.release(s.Clock.Now())
		c.Flush(false)
		c.Unlock()
	}
}
