package nullserver

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Sizes of one connection's buffers, in bytes.
const (
	readBuffer = 64 << 10
	flushAt    = 256 << 10 // written even though more of the batch is to be answered
	holdAt     = 4 << 20   // not read on while so much waits for a slow client
)

// linger is how long a closed connection still reads, and throws away, what
// the client had sent: closing with unread bytes would take back the last
// answers.
const linger = time.Second

// conn is a session on a network connection. One goroutine reads; answers that
// are due later come from the server's schedule. Whoever adds to the session's
// output writes it, unless somebody is at it already.
type conn struct {
	server *server
	net    net.Conn
	raw    *rawWriter // nil: only blocking writes are possible

	mu      sync.Mutex // guards what follows
	session *session
	spare   []byte     // the buffer that is not session.out
	writing bool       // somebody writes without holding mu
	written *sync.Cond // writing became false
	over    bool       // nothing is read or written any more

	touched bool // the schedule's own mark
}

func newConn(s *server, m *member, nc net.Conn) *conn {
	c := &conn{server: s, net: nc, session: s.newSession(m)}
	c.written = sync.NewCond(&c.mu)
	if sc, ok := nc.(syscall.Conn); ok && s.script.Chunk == 0 {
		if rc, err := sc.SyscallConn(); err == nil {
			c.raw = newRawWriter(rc)
		}
	}
	return c
}

// serve reads until the connection ends.
func (c *conn) serve() {
	buf := make([]byte, readBuffer)
	held := 0
	for {
		n, err := c.net.Read(buf[held:])
		if n == 0 && err != nil {
			return
		}
		held += n
		used, ok := c.take(buf[:held])
		if !ok {
			c.discard(buf)
			return
		}
		held = copy(buf, buf[used:held])
	}
}

// take answers the complete frames of in. It reports how much that was, and
// whether the connection goes on.
func (c *conn) take(in []byte) (used int, ok bool) {
	now := c.server.clock.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session
	s.now = now
	for !c.over {
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
			c.flush(true)
		}
	}
	c.schedule(now)
	c.flush(true)
	for c.writing && (s.closing || len(s.out) > holdAt) {
		c.written.Wait()
	}
	return used, !c.over
}

// schedule hands over what is due later.
func (c *conn) schedule(now int64) {
	s := c.session
	if s.first {
		s.first = false
		c.server.begin(now)
	}
	if len(s.later) == 0 {
		return
	}
	for _, p := range s.later {
		p.conn = c
	}
	c.server.schedule.add(s.later)
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

// flush writes the output, or as much as the network takes if the caller may
// not block; the rest is then written by a goroutine. The caller holds mu,
// which is released while a write blocks.
func (c *conn) flush(block bool) {
	if c.writing || c.over {
		return
	}
	if c.raw != nil && len(c.session.out) > 0 {
		c.tryWrite()
	}
	switch {
	case c.over:
	case len(c.session.out) == 0:
		c.finish()
	case block:
		c.writing = true
		c.drain()
	default:
		c.writing = true
		c.server.running.Go(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.drain()
		})
	}
}

// tryWrite writes what the network takes at once.
func (c *conn) tryWrite() {
	out := c.session.out
	n, err := c.raw.write(out)
	if err != nil {
		c.end()
		return
	}
	c.session.out = out[:copy(out, out[n:])]
}

// drain writes until there is no more output.
func (c *conn) drain() {
	for len(c.session.out) > 0 && !c.over {
		out := c.session.out
		c.session.out = c.spare[:0]
		c.mu.Unlock()
		err := c.server.write(c.net, out)
		c.mu.Lock()
		if c.spare = out; cap(out) > holdAt {
			c.spare = nil
		}
		if err != nil {
			c.end()
		}
	}
	c.writing = false
	c.finish()
	c.written.Broadcast()
}

// finish closes the connection when it is to be closed and all is written.
func (c *conn) finish() {
	if !c.session.closing || c.over {
		return
	}
	c.over = true
	if half, ok := c.net.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.net.SetReadDeadline(time.Now().Add(linger))
		return
	}
	_ = c.net.Close()
}

// end closes the connection at once. The caller holds mu.
func (c *conn) end() {
	c.over = true
	_ = c.net.Close()
}

// discard reads until the client has closed too, or long enough.
func (c *conn) discard(buf []byte) {
	for {
		if _, err := c.net.Read(buf); err != nil {
			return
		}
	}
}

// closeNow closes the connection as the script says, with all that is in flight.
func (c *conn) closeNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.closing = true
	c.flush(false)
}
