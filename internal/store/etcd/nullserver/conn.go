package nullserver

import (
	"errors"
	"net"

	"github.com/quorumbench/quorumbench/internal/store/null/nullnet"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// flushAt is how much output in bytes is written even though more of the batch
// is to be answered.
const flushAt = 256 << 10

// conn is a session on a network connection. One goroutine reads; answers that
// are due later come from the server's schedule.
type conn struct {
	nullnet.Writer // of the session's output; its lock guards the session
	server         *server
	session        *session
	touched        bool // the schedule's own mark
}

func newConn(s *server, m *member, nc net.Conn) *conn {
	c := &conn{server: s, session: s.newSession(m)}
	c.session.owner = c
	c.Init(s.Base, nc, &c.session.out, &c.session.closing)
	return c
}

// Serve implements nullnet.Conn.
func (c *conn) Serve() {
	if hub := c.session.member.hub; hub != nil {
		defer hub.remove(c, 0, -1)
	}
	c.Feed(c.take)
}

// take answers the complete frames of in. It reports how much that was, and
// whether the connection goes on.
func (c *conn) take(in []byte) (used, need int, goesOn bool) {
	now := c.server.Clock.Now()
	c.Lock()
	defer c.Unlock()
	s := c.session
	s.now = now
	for !c.Over() {
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
	c.schedule(now)
	c.Settle()
	return used, 0, !c.Over()
}

// schedule hands over what is due later.
func (c *conn) schedule(now int64) {
	s := c.session
	if s.first {
		s.first = false
		c.server.Begin(now)
	}
	if len(s.later) == 0 {
		return
	}
	for _, it := range s.later {
		it.What.conn = c
	}
	c.server.Later(s.later...)
	clear(s.later)
	s.later = s.later[:0]
}

// fail ends the connection after a mistake of the client's.
func (c *conn) fail(err error, in []byte) {
	s := c.session
	s.closing = true
	if wrong := (*protocolError)(nil); errors.As(err, &wrong) {
		s.out = h2.AppendGoAway(s.out, s.last, wrong.code)
	} else if errors.Is(err, errPreface) && isHTTP1(in) {
		s.out = append(s.out, notFoundPage...)
	}
}

// due gives the answers that are due, and writes each connection's once.
func (s *server) due(batch []*pending) {
	touched := s.touched
	for _, p := range batch {
		if p == nil {
			s.Hangup()
			continue
		}
		c := p.conn
		c.Lock()
		if !c.Over() && !c.session.closing {
			c.session.due(p)
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
