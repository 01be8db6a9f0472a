package null

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"time"
)

// HTTPService is one member's protocol. Its methods are called by several
// goroutines at once, and append a whole answer, head and body, to b.
type HTTPService interface {
	// Operation reports whether a request is an operation on keys. Only those
	// follow the script, administration and what is denied does not.
	Operation(r *HTTPRequest) bool
	// Answer carries a request out; wrong is null.Answer, or null.WrongKey or
	// null.WrongValue, by which the answer to a read is to be wrong.
	Answer(b []byte, r *HTTPRequest, wrong Kind) []byte
	// Error is the answer that a script's error=NAME asks for.
	Error(b []byte, name string) []byte
	// Waits reports whether the request, which is no Operation, may wait for a change.
	Waits(r *HTTPRequest) bool
	// Wait reports whether it is to wait now. Then wake is called once at most,
	// when what it waits for has changed, and it is answered then, or after most.
	Wait(r *HTTPRequest, wake func()) (waits bool, most time.Duration)
}

// NoWaiting has the methods of an HTTPService whose requests never wait.
type NoWaiting struct{}

// Waits implements HTTPService.
func (NoWaiting) Waits(*HTTPRequest) bool { return false }

// Wait implements HTTPService.
func (NoWaiting) Wait(*HTTPRequest, func()) (waits bool, most time.Duration) { return false, 0 }

// HTTPServer is a store.NullServer.
type HTTPServer struct {
	Script *Script
	TLS    *tls.Config // nil is plain
	// AuthField is the request field, in lower case, that Request.Auth holds.
	AuthField string
	// Member returns the service of a member, counted from 0; each listens on
	// one of all.
	Member func(i int, all []net.Listener) HTTPService
}

// maxDue is how many connections are served at once: more would make the
// first late.
const maxDue = 64

// server is the members of one null cluster.
type server struct {
	*Server[*conn, *pending]
	authField string
	services  []HTTPService
}

// Serve implements store.NullServer.
func (o *HTTPServer) Serve(ctx context.Context, listeners []net.Listener) error {
	s := &server{authField: o.AuthField}
	for i := range listeners {
		s.services = append(s.services, o.Member(i, listeners))
	}
	s.Server = NewServer(o.Script, NetConfig[*conn, *pending]{
		Open: s.open, Due: s.due, MaxDue: maxDue, TLS: o.TLS, Protocol: "http/1.1",
	})
	return s.Serve(ctx, listeners)
}

// keepBuffer is the largest answer in bytes whose memory is kept for the next.
const keepBuffer = 1 << 20

// conn is one connection. Its own goroutine reads and answers; answers that are
// due later come from the server's schedule, and until then the next request
// waits.
type conn struct {
	Writer  // of out; its lock guards what follows
	server  *server
	service HTTPService
	member  int    // whose it is, counted from 0
	out     []byte // to be written
	closing bool   // close the connection when out is written
	in      []byte // read while an answer was due
	request HTTPRequest
	served  uint64
	busy    bool // an answer is due later, or never
	last    bool // the answer under way is the last one
	pending pending
	waiting *pending // the request that waits for a change
}

// pending is an answer that is due later.
type pending struct {
	conn *conn
	kind Kind
	body []byte
	asks *HTTPRequest // that waits for a change; nil: the answer is there
}

func (s *server) open(nc net.Conn, member int) *conn {
	c := &conn{server: s, service: s.services[member], member: member}
	c.Init(&s.Base, nc, &c.out, &c.closing)
	return c
}

// Serve implements nullnet.Conn.
func (c *conn) Serve() { c.Feed(c.take) }

// take answers the complete requests of in; while an answer is due it keeps
// them for later.
func (c *conn) take(in []byte) (used int, goesOn bool) {
	now := c.server.Clock.Now()
	c.Lock()
	defer c.Unlock()
	if c.busy || len(c.in) > 0 {
		c.in, used = append(c.in, in...), len(in)
		c.answerKept(now)
	} else if used = c.answer(in, now); c.busy || used < len(in) {
		c.in, used = append(c.in, in[used:]...), len(in)
	}
	c.Settle()
	return used, !c.Over()
}

// answerKept takes up what came while an answer was due.
func (c *conn) answerKept(now int64) {
	used := c.answer(c.in, now)
	c.in = append(c.in[:0], c.in[used:]...)
}

// answer takes as many requests as it may and returns how many bytes those had.
func (c *conn) answer(in []byte, now int64) (used int) {
	for used < len(in) && !c.busy && !c.last {
		n, err := c.request.parse(in[used:], c.server.authField)
		if err != nil {
			c.out = AppendAnswer(c.out, "400 Bad Request", "", err.Error())
			c.last, used = true, len(in)
			break
		}
		if c.request.Continue {
			c.out = append(c.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
		}
		if n == 0 {
			break
		}
		used += n
		c.handle(now)
	}
	c.closing = c.closing || c.last && !c.busy
	return used
}

// handle answers the request, or prepares the answer for later.
func (c *conn) handle(now int64) {
	c.served++
	s := c.server
	c.last = c.request.Close || s.Script.GoAway > 0 && c.served >= s.Script.GoAway
	if c.wait(now) {
		return
	}
	if s.Run == nil || !c.service.Operation(&c.request) {
		at := len(c.out)
		c.out = c.service.Answer(c.out, &c.request, Answer)
		c.sayLast(at)
		return
	}
	a, due := s.Arrive(now, c.member)
	p := &c.pending
	p.conn, p.kind = c, a.Kind
	switch a.Kind {
	case Error:
		p.body = c.service.Error(p.body[:0], a.Name)
	case Reset: // is not carried out
	default:
		p.body = c.service.Answer(p.body[:0], &c.request, a.Kind)
	}
	switch {
	case a.Kind == Never:
		c.busy = true
	case due <= now:
		c.perform()
	default:
		c.busy = true
		s.Later(Item[*pending]{Due: due, What: p})
	}
}

// wait lets the request wait for a change, if it is one that does.
func (c *conn) wait(now int64) bool {
	if !c.service.Waits(&c.request) {
		return false
	}
	p := &pending{conn: c, asks: c.request.copied()}
	waits, most := c.service.Wait(p.asks, func() { c.server.Later(Item[*pending]{What: p}) })
	if waits {
		c.busy, c.waiting = true, p
		c.server.Later(Item[*pending]{Due: now + int64(most), What: p})
	}
	return waits
}

// answerWaiting answers the request that waited, unless it was before.
func (c *conn) answerWaiting(p *pending) {
	if c.waiting != p {
		return
	}
	c.waiting, c.busy = nil, false
	at := len(c.out)
	c.out = c.service.Answer(c.out, p.asks, Answer)
	c.sayLast(at)
}

// perform does with the pending answer what the script says.
func (c *conn) perform() {
	p := &c.pending
	c.busy = false
	at := len(c.out)
	switch p.kind {
	case Close:
		c.last = true
	case Reset:
		c.last = true
		c.Reset()
	case Half:
		c.out = append(c.out, p.body[:len(p.body)/2]...)
		c.last = true
	case HugeFrame:
		c.out = append(c.out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n"...)
		c.busy = true
	case HugeMessage:
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

// due performs the pending answers whose time has come, and takes up what came
// meanwhile.
func (s *server) due(batch []*pending) {
	for _, p := range batch {
		c := p.conn
		c.Lock()
		if !c.Over() {
			if p.asks != nil {
				c.answerWaiting(p)
			} else {
				c.perform()
			}
			c.answerKept(s.Clock.Now())
			c.Flush(false)
		}
		c.Unlock()
	}
}
