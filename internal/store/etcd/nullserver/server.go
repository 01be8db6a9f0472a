// Package nullserver implements a server that speaks etcd's gRPC over HTTP/2 but has no real
// store. It is used to measure the load generator itself. It also provides known results for
// tests of the load generator's accuracy. It replies at once, or as a script specifies.
//
// One process can act as several members that share the same data. The first member is the leader.
// etcd's official client (go.etcd.io/etcd/client/v3) works with the null server for Put, Get,
// Delete, Txn, Status, MemberList, leases, and Watch for future writes. Leases never expire, and
// replies do not contain the lease of a key. Without NullOptions.Memory there are neither watches
// nor leases.
package nullserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// maxDue limits the number of due replies that are prepared before they are written. A larger
// batch would delay its first reply.
const maxDue = 256

// New returns a null server. Its script counts and affects only operations on keys, not
// administrative requests.
func New(o store.NullOptions) (*Server, error) {
	script, err := null.ReadScript(o, errorNames(), true)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o}
	s.Server = null.NewServer(script, null.NetConfig[*conn, *pending]{
		Open: s.open, HandleDue: s.sendDue, MaxDue: maxDue, TLS: o.TLS, Protocol: "h2",
	})
	return s, nil
}

// Serve implements store.NullServer. All members share the same data.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	scheme := "http://"
	if s.options.TLS != nil {
		scheme = "https://"
	}
	first := member{user: s.options.User, errors: scriptErrors(), noLocal: s.Script.NoLocal}
	if s.options.Memory {
		first.hub = newHub(s)
		first.backend = newMemory(first.hub, s.Script.Lag, func() int64 { return s.Clock.Now() })
	} else {
		first.backend = &cannedBackend{value: bytes.Repeat([]byte("0"), s.options.ValueSize)}
	}
	for _, l := range listeners {
		first.members = append(first.members, scheme+l.Addr().String())
	}
	for i := range listeners {
		m := first
		m.identity = newIdentity(memberID(i + 1))
		s.members = append(s.members, &m)
	}
	return s.Server.Serve(ctx, listeners)
}

// flushAt is the size of the output, in bytes, above which the output is written at once, even if
// some requests that have arrived are not answered yet.
const flushAt = 256 << 10

func (s *Server) open(nc net.Conn, member int) *conn {
	c := &conn{server: s, session: newSession(s.members[member], s.Script)}
	c.session.owner, c.session.maxStreams = c, s.options.MaxStreams
	if s.Run != nil {
		c.session.arrive = func(now int64) (null.Action, int64) { return s.Arrive(now, member) }
	}
	c.Init(&s.Base, nc, &c.session.out, &c.session.closing)
	return c
}

// Serve implements null.Conn. Before Serve returns, it removes the connection's watchers.
func (c *conn) Serve() {
	if hub := c.session.member.hub; hub != nil {
		defer hub.remove(c, 0, -1)
	}
	c.Feed(c.handleFrames)
}

// handleFrames handles all complete frames in the input. It returns their total length, and whether
// the connection stays open.
func (c *conn) handleFrames(in []byte) (used int, keepOpen bool) {
	now := c.server.Clock.Now()
	c.Lock()
	defer c.Unlock()
	s := c.session
	s.now = now
	for !c.Ended() {
		n, err := s.step(in[used:])
		if err != nil {
			c.fail(err, in[used:])
			break
		}
		if n == 0 {
			break
		}
		used += n
		if len(s.out) > flushAt {
			c.Flush(true)
		}
	}
	c.server.Schedule(s.later...)
	clear(s.later)
	s.later = s.later[:0]
	c.FlushAndWait()
	return used, !c.Ended()
}

// fail ends the connection after the client has violated the protocol.
func (c *conn) fail(err error, in []byte) {
	s := c.session
	s.closing = true
	if wrong := (*protocolError)(nil); errors.As(err, &wrong) {
		s.out = h2.AppendGoAway(s.out, s.last, wrong.code)
	} else if errors.Is(err, errPreface) && isHTTP1(in) {
		s.out = append(s.out, notFoundPage...)
	}
}

// sendDue sends the replies that are due. It writes only once to each connection.
func (s *Server) sendDue(batch []*pending) {
	touched := s.touched
	for _, p := range batch {
		c := p.conn
		c.Lock()
		if !c.Ended() && !c.session.closing {
			c.session.sendReply(p)
		}
		c.Unlock()
		if !c.touched {
			c.touched = true
			touched = append(touched, c)
		}
	}
	for _, c := range touched {
		c.touched = false
		c.Lock()
		c.Flush(false)
		c.Unlock()
	}
	clear(touched)
	s.touched = touched[:0]
}

// notFound is the response to HTTP/1.1 requests, for example to a request for etcd's /metrics.
const notFound = "This is quorumbench's null server: it speaks etcd's gRPC over HTTP/2 and has no metrics.\n"

var notFoundPage = fmt.Sprintf("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"+
	"Connection: close\r\n\r\n%s", len(notFound), notFound)

// isHTTP1 reports whether the input begins with an HTTP/1 request.
func isHTTP1(in []byte) bool {
	line, _, _ := strings.Cut(string(in[:min(len(in), 4096)]), "\n")
	words := strings.Fields(line)
	return len(words) == 3 && strings.HasPrefix(words[2], "HTTP/1.")
}
