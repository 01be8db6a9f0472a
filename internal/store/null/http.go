package null

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"time"
)

// HTTPService implements the protocol of one member. Its methods are called concurrently. Respond
// and Error append a whole response, with head and body, to b.
type HTTPService interface {
	// Operation reports whether a request is an operation on keys. The script applies only to
	// operations on keys. It does not apply to administrative requests or denied requests.
	Operation(r *HTTPRequest) bool
	// Respond executes a request and appends the response. If `wrong` is CorrectResponse, the
	// response must be correct. Otherwise `wrong` is the fault that the response must contain, such
	// as WrongKey or WrongValue.
	Respond(b []byte, r *HTTPRequest, wrong Kind) []byte
	// Error appends the error response for the NAME in a script's error=NAME.
	Error(b []byte, name string) []byte
	// MayWait reports whether a request may have to wait for a change. Such a request must not be
	// an Operation.
	MayWait(r *HTTPRequest) bool
	// Wait reports whether the request must wait now. If so, the service must call the function
	// `wake` when the change happens, but at most once. The server answers the request after this
	// call, or once maxWait has passed without a call.
	Wait(r *HTTPRequest, wake func()) (waits bool, maxWait time.Duration)
}

// NeverWaits implements MayWait and Wait for an HTTPService in which no request ever waits.
type NeverWaits struct{}

// MayWait implements HTTPService.
func (NeverWaits) MayWait(*HTTPRequest) bool { return false }

// Wait implements HTTPService.
func (NeverWaits) Wait(*HTTPRequest, func()) (waits bool, most time.Duration) { return false, 0 }

// HTTPServer implements store.NullServer.
type HTTPServer struct {
	Script *Script
	TLS    *tls.Config // nil for connections without TLS
	// AuthField is the lower-case name of the header field whose value is stored in
	// HTTPRequest.Auth.
	AuthField string
	// Member returns the service for member i, counted from 0. The parameter `all` contains the
	// listeners of all members in the same order.
	Member func(i int, all []net.Listener) HTTPService
}

// maxDue limits how many delayed responses are sent in one batch. A larger batch would delay its
// first response.
const maxDue = 64

// server holds the members of one null cluster.
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
		Open: s.open, HandleDue: s.sendDue, MaxDue: maxDue, TLS: o.TLS, Protocol: "http/1.1",
	})
	return s.Serve(ctx, listeners)
}

// keepBuffer is the maximum size in bytes of a response buffer that is kept for reuse.
const keepBuffer = 1 << 20

// conn is one connection. Its goroutine reads and answers requests. The server's schedule sends
// delayed responses. While a response is delayed, later requests on the connection wait.
type conn struct {
	Writer          // writes the contents of out; the Writer's lock guards the fields below
	server          *server
	service         HTTPService
	member          int    // index of the member that accepted the connection
	out             []byte // pending output
	closing         bool   // close the connection once out is written
	in              []byte // bytes that were read while a response was delayed
	request         HTTPRequest
	served          uint64
	responsePending bool // a response is delayed, or will never be sent
	isLast          bool // the current response is the connection's last one
	pending         pending
	waitingRequest  *pending // the request that waits for a change, or nil
}

// pending is a delayed response.
type pending struct {
	conn           *conn
	kind           Kind
	body           []byte
	waitingRequest *HTTPRequest // the request that waits for a change; if nil, body is the response
}

func (s *server) open(nc net.Conn, member int) *conn {
	c := &conn{server: s, service: s.services[member], member: member}
	c.Init(&s.Base, nc, &c.out, &c.closing)
	return c
}

// Serve implements Conn.
func (c *conn) Serve() { c.Feed(c.handleRequests) }

// handleRequests answers the complete requests in the input. While a response is delayed, it
// stores later requests in c.in.
func (c *conn) handleRequests(in []byte) (used int, keepOpen bool) {
	now := c.server.Clock.Now()
	c.Lock()
	defer c.Unlock()
	if c.responsePending || len(c.in) > 0 {
		c.in, used = append(c.in, in...), len(in)
		c.answerBuffered(now)
	} else if used = c.answer(in, now); c.responsePending || used < len(in) {
		c.in, used = append(c.in, in[used:]...), len(in)
	}
	c.FlushAndWait()
	return used, !c.Ended()
}

// answerBuffered answers the requests that arrived while a response was delayed.
func (c *conn) answerBuffered(now int64) {
	used := c.answer(c.in, now)
	c.in = append(c.in[:0], c.in[used:]...)
}

// answer answers requests until a response must be delayed. It returns the number of bytes that it
// consumed.
func (c *conn) answer(in []byte, now int64) (used int) {
	for used < len(in) && !c.responsePending && !c.isLast {
		n, err := c.request.parse(in[used:], c.server.authField)
		if err != nil {
			c.out = AppendResponse(c.out, "400 Bad Request", "", err.Error())
			c.isLast, used = true, len(in)
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
	c.closing = c.closing || c.isLast && !c.responsePending
	return used
}

// handle answers one request, or schedules its response.
func (c *conn) handle(now int64) {
	c.served++
	s := c.server
	c.isLast = c.request.Close || s.Script.GoAway > 0 && c.served >= s.Script.GoAway
	if c.wait(now) {
		return
	}
	if s.Run == nil || !c.service.Operation(&c.request) {
		at := len(c.out)
		c.out = c.service.Respond(c.out, &c.request, CorrectResponse)
		c.announceClose(at)
		return
	}
	a, due := s.Arrive(now, c.member)
	p := &c.pending
	p.conn, p.kind = c, a.Kind
	switch a.Kind {
	case Error:
		p.body = c.service.Error(p.body[:0], a.Name)
	case Reset: // the operation is not executed
	default:
		p.body = c.service.Respond(p.body[:0], &c.request, a.Kind)
	}
	switch {
	case a.Kind == Never:
		c.responsePending = true
	case due <= now:
		c.perform()
	default:
		c.responsePending = true
		s.Schedule(Item[*pending]{Due: due, Value: p})
	}
}

// wait reports whether the request must wait for a change. If so, it schedules the response.
func (c *conn) wait(now int64) bool {
	if !c.service.MayWait(&c.request) {
		return false
	}
	p := &pending{conn: c, waitingRequest: c.request.copied()}
	waits, most := c.service.Wait(p.waitingRequest, func() { c.server.Schedule(Item[*pending]{Value: p}) })
	if waits {
		c.responsePending, c.waitingRequest = true, p
		c.server.Schedule(Item[*pending]{Due: now + int64(most), Value: p})
	}
	return waits
}

// answerWaiting answers a request that waited for a change, unless it was already answered.
func (c *conn) answerWaiting(p *pending) {
	if c.waitingRequest != p {
		return
	}
	c.waitingRequest, c.responsePending = nil, false
	at := len(c.out)
	c.out = c.service.Respond(c.out, p.waitingRequest, CorrectResponse)
	c.announceClose(at)
}

// perform sends the pending response with the fault that the script requires, if any.
func (c *conn) perform() {
	p := &c.pending
	c.responsePending = false
	at := len(c.out)
	switch p.kind {
	case Close:
		c.isLast = true
	case Reset:
		c.isLast = true
		c.Reset()
	case Half:
		c.out = append(c.out, p.body[:len(p.body)/2]...)
		c.isLast = true
	case HugeFrame:
		c.out = append(c.out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n"...)
		c.responsePending = true
	case HugeMessage:
		c.out = append(c.out, "HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\n"...)
		c.responsePending = true
	default:
		c.out = append(c.out, p.body...)
		c.announceClose(at)
	}
	if cap(p.body) > keepBuffer {
		p.body = nil
	}
}

// announceClose adds the header field Connection: close to the response at out[at:] if this is
// the last response on the connection.
func (c *conn) announceClose(at int) {
	if !c.isLast {
		return
	}
	head := bytes.IndexByte(c.out[at:], '\n') + 1
	rest := append([]byte("Connection: close\r\n"), c.out[at+head:]...)
	c.out = append(c.out[:at+head], rest...)
}

// sendDue sends the delayed responses that are due, and then answers the requests that arrived in
// the meantime.
func (s *server) sendDue(batch []*pending) {
	for _, p := range batch {
		c := p.conn
		c.Lock()
		if !c.Ended() {
			if p.waitingRequest != nil {
				c.answerWaiting(p)
			} else {
				c.perform()
			}
			c.answerBuffered(s.Clock.Now())
			c.Flush(false)
		}
		c.Unlock()
	}
}
