package httpd

import (
	"bytes"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/nullnet"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
)

// Sizes in bytes.
const (
	readBuffer = 64 << 10
	// writeInline is how much the schedule's goroutine writes itself: a socket
	// takes that at once from a connection that had nothing outstanding.
	writeInline = 16 << 10
	keepBuffer  = 1 << 20
)

// conn is one connection. Its own goroutine reads and answers; answers that are
// due later come from the server's schedule, and until then the next request
// waits.
type conn struct {
	server  *server
	service Service
	socket  net.Conn // as it was accepted
	net     net.Conn // the same, or TLS on it

	mu      sync.Mutex // guards what follows, and is held while an answer is written
	in      []byte     // read and not yet taken
	out     []byte
	request Request
	served  uint64
	busy    bool // an answer is due later, or never
	last    bool // the answer under way is the last one
	reset   bool // close without a farewell
	over    bool
	pending pending
}

// pending is an answer that is due later.
type pending struct {
	conn *conn
	kind null.Kind
	body []byte
}

// Socket implements nullnet.Conn.
func (c *conn) Socket() net.Conn { return c.socket }

// Serve implements nullnet.Conn.
func (c *conn) Serve() {
	if c.server.tls != nil {
		t := tls.Server(c.socket, c.server.tls)
		if err := t.Handshake(); err != nil {
			return
		}
		c.net = t
	}
	buf := make([]byte, readBuffer)
	for {
		n, err := c.net.Read(buf)
		if err != nil || !c.take(buf[:n]) {
			return
		}
	}
}

// take answers what is whole of in and what was kept before it, and reports
// whether the connection goes on.
func (c *conn) take(in []byte) bool {
	now := c.server.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return true // until the client has closed too
	}
	if len(c.in) > 0 {
		c.in = append(c.in, in...)
		in = c.in
	}
	used := c.answer(in, now)
	c.in = append(c.in[:0], in[used:]...)
	return c.flush()
}

// answer takes as many requests as it may and returns how many bytes those had.
func (c *conn) answer(in []byte, now int64) (used int) {
	for used < len(in) && !c.busy && !c.last {
		n, err := c.request.parse(in[used:], c.server.options.AuthField)
		if err != nil {
			c.out = AppendAnswer(c.out, "400 Bad Request", "", err.Error())
			c.last = true
			return len(in)
		}
		if c.request.Continue {
			c.out = append(c.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
		}
		if n == 0 {
			return used
		}
		used += n
		c.handle(now)
	}
	return used
}

// handle answers the request, or prepares the answer for later.
func (c *conn) handle(now int64) {
	c.served++
	s := c.server
	c.last = c.request.Close || s.Script.GoAway > 0 && c.served >= s.Script.GoAway
	if s.Run == nil || !c.service.Operation(&c.request) {
		at := len(c.out)
		c.out = c.service.Answer(c.out, &c.request, null.Answer)
		c.sayLast(at)
		return
	}
	a, due, first := s.Run.Arrive(now)
	if first {
		s.Begin(now)
	}
	p := &c.pending
	p.conn, p.kind = c, a.Kind
	switch a.Kind {
	case null.Error:
		p.body = c.service.Error(p.body[:0], a.Name)
	case null.Reset: // is not carried out
	default:
		p.body = c.service.Answer(p.body[:0], &c.request, a.Kind)
	}
	switch {
	case a.Kind == null.Never:
		c.busy = true
	case due <= now:
		c.perform()
	default:
		c.busy = true
		s.Later(timer.Item[*pending]{Due: due, What: p})
	}
}

// perform does with the pending answer what the script says.
func (c *conn) perform() {
	p := &c.pending
	c.busy = false
	at := len(c.out)
	switch p.kind {
	case null.Close:
		c.last = true
	case null.Reset:
		c.last, c.reset = true, true
	case null.Half:
		c.out = append(c.out, p.body[:len(p.body)/2]...)
		c.last = true
	case null.HugeFrame:
		c.out = append(c.out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n"...)
		c.busy = true
	case null.HugeMessage:
		c.out = append(c.out, "HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\n"...)
		c.busy = true
	default:
		c.out = append(c.out, p.body...)
		c.sayLast(at)
	}
	if cap(p.body) > keepBuffer {
		p.body = nil
	}
}

// sayLast adds to the answer from at on that it is the connection's last.
func (c *conn) sayLast(at int) {
	if !c.last {
		return
	}
	head := bytes.IndexByte(c.out[at:], '\n') + 1
	rest := append([]byte("Connection: close\r\n"), c.out[at+head:]...)
	c.out = append(c.out[:at+head], rest...)
}

// due performs the pending answer, whose time has come, and takes up what came
// meanwhile.
func (c *conn) due() {
	if c.over {
		return
	}
	c.perform()
	if len(c.in) > 0 {
		used := c.answer(c.in, c.server.Clock.Now())
		c.in = append(c.in[:0], c.in[used:]...)
	}
	c.flush()
}

// flush writes the output and closes the connection if that was its last.
func (c *conn) flush() bool {
	if len(c.out) > 0 {
		err := c.server.Write(c.net, c.out)
		if c.out = c.out[:0]; cap(c.out) > keepBuffer {
			c.out = nil
		}
		if err != nil {
			c.over = true
			_ = c.socket.Close()
			return false
		}
	}
	if !c.last || c.busy {
		return true
	}
	c.over = true
	if tcp, ok := c.socket.(*net.TCPConn); ok && c.reset {
		_ = tcp.SetLinger(0)
	} else if half, ok := c.net.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.socket.SetReadDeadline(time.Now().Add(nullnet.Linger))
		return true
	}
	_ = c.socket.Close()
	return false
}

// Hangup implements nullnet.Conn: all that is in flight is lost.
func (c *conn) Hangup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	_ = c.socket.Close()
}
