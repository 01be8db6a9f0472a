// Package httpd is what the null servers of protocols over HTTP/1.1 share:
// connections, requests, and the script that says when each is answered. What
// the answers are is a Service's.
package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/nullnet"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
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

// maxDue is how many connections are served at once: more would make the
// first late.
const maxDue = 64

// server is the members of one null cluster.
type server struct {
	*nullnet.Server[*conn, *pending]
	options  Options
	tls      *tls.Config
	services []Service
}

// Serve serves one service on each listener until ctx is done: then it closes
// everything, waits for all of its goroutines and returns nil. It returns an
// error when a listener fails; the listeners are closed in any case.
func Serve(ctx context.Context, listeners []net.Listener, services []Service, o Options) error {
	if len(listeners) == 0 {
		return errors.New("null server: there is no listener, and so no member")
	}
	clock, err := timer.NewClock()
	if err != nil {
		nullnet.CloseAll(listeners)
		return err
	}
	defer clock.Close()
	s := &server{options: o, services: services}
	s.Server = nullnet.NewServer(nullnet.NewBase(o.Script, clock), nullnet.Config[*conn, *pending]{
		Open: s.open, Due: s.due, MaxDue: maxDue, BadRequest: nullnet.BadRequest,
	})
	if o.TLS != nil {
		s.tls = o.TLS.Clone()
		s.tls.NextProtos = []string{"http/1.1"}
	}
	return s.Serve(ctx, listeners)
}

func (s *server) open(nc net.Conn, member int) *conn {
	if s.tls != nil {
		nc = tls.Server(nc, s.tls)
	}
	return newConn(s, s.services[member], nc)
}
