package nullserver

import (
	"encoding/binary"
	"net"
	"sync"
	"syscall"
	"time"
)

// Sizes of one connection's buffers, in bytes.
const (
	readBuffer = 64 << 10
	maxRequest = 16 << 20 // of one request, far above jute.maxbuffer
	flushAt    = 256 << 10
	holdAt     = 4 << 20 // not read on while so much waits for a slow client
)

// linger is how long a closed connection still reads, and throws away, what
// the client had sent: closing with unread bytes would take back the last
// answers.
const linger = time.Second

// conn is a connection. One goroutine reads; answers that are due later are
// released by the server's schedule. Whoever adds to the output writes it,
// unless somebody is at it already.
type conn struct {
	server *server
	net    net.Conn
	raw    *rawWriter // nil: only blocking writes are possible

	mu        sync.Mutex // guards what follows
	session   session
	out       []byte // to be written
	spare     []byte // the buffer that is not out
	later     []byte // answers that wait for their time, in order
	marks     []mark // of later
	scheduled bool   // the schedule has this connection
	taken     uint64 // operations
	silent    bool   // nothing is answered any more
	writing   bool   // somebody writes without holding mu
	written   *sync.Cond
	closing   bool // close the connection when out is written
	over      bool // nothing is read or written any more
}

// mark says when the bytes of later up to end are due.
type mark struct {
	due   int64
	end   int
	close bool // the connection is closed then
}

func newConn(s *server, member int, nc net.Conn) *conn {
	c := &conn{server: s, net: nc, session: session{server: s, tree: s.tree, member: member}}
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
		switch need := frameLen(buf[:held]); {
		case need > maxRequest:
			return
		case need > len(buf):
			buf = append(make([]byte, 0, need), buf[:held]...)[:need]
		}
	}
}

// frameLen is the length of the frame that b begins with; 0 if that is not
// known yet.
func frameLen(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return 4 + int(binary.BigEndian.Uint32(b))
}

// take answers the complete frames of in. It reports how much that was, and
// whether the connection goes on.
func (c *conn) take(in []byte) (used int, ok bool) {
	var now int64
	if c.server.run != nil {
		now = c.server.clock.now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.tree.mu.Lock()
	for !c.over && !c.closing {
		n := c.step(in[used:], now)
		if n == 0 {
			break
		}
		if used += n; len(c.out) > flushAt {
			c.session.tree.mu.Unlock()
			c.flush(true)
			c.session.tree.mu.Lock()
		}
	}
	c.session.tree.mu.Unlock()
	c.flush(true)
	for c.writing && (c.closing || len(c.out) > holdAt) {
		c.written.Wait()
	}
	return used, !c.over
}

// release moves the answers that are due to the output, and lets the schedule
// come again for the next.
func (c *conn) release(now int64) {
	n, end := 0, 0
	for n < len(c.marks) && c.marks[n].due <= now && !c.closing {
		end, c.closing = c.marks[n].end, c.marks[n].close
		n++
	}
	if n > 0 {
		c.out = append(c.out, c.later[:end]...)
		c.later = c.later[:copy(c.later, c.later[end:])]
		c.marks = c.marks[:copy(c.marks, c.marks[n:])]
		for i := range c.marks {
			c.marks[i].end -= end
		}
	}
	if len(c.marks) > 0 && !c.closing && !c.scheduled {
		c.scheduled = true
		c.server.schedule.add(c.marks[0].due, c)
	}
}

// flush writes the output, or as much as the network takes if the caller may
// not block; the rest is then written by a goroutine. The caller holds mu,
// which is released while a write blocks.
func (c *conn) flush(block bool) {
	if c.writing || c.over {
		return
	}
	if c.raw != nil && len(c.out) > 0 {
		c.tryWrite()
	}
	switch {
	case c.over:
	case len(c.out) == 0:
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
	n, err := c.raw.write(c.out)
	if err != nil {
		c.end()
		return
	}
	c.out = c.out[:copy(c.out, c.out[n:])]
}

// drain writes until there is no more output.
func (c *conn) drain() {
	for len(c.out) > 0 && !c.over {
		out := c.out
		c.out = c.spare[:0]
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
	if !c.closing || c.over {
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
