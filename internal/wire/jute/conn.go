package jute

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Config configures a connection.
type Config struct {
	// Timeout is the requested session timeout in milliseconds. The server limits it to its own
	// bounds (2 to 20 ticks by default).
	Timeout int32
	// Session is the session to resume; the zero Session starts a new one.
	Session Session
	// LastZxid is the newest transaction that the session has seen. A member that does not have it
	// yet refuses the session by closing the connection.
	LastZxid int64
	// Auth is the credential for the scheme digest, NAME:PASSWORD; empty: no authentication.
	Auth string
	// Parts buffers incomplete responses. If it is nil, the connection has its own budget.
	Parts *parts.Budget
}

// Session identifies a session, so that it can be resumed on another connection, perhaps to another
// member.
type Session struct {
	ID       int64
	Password []byte
}

// noPassword is the password in a request for a new session, as the Java client sends it.
const noPassword = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Conn is the client side of one connection. Methods encode requests into Out, and Feed parses the
// bytes that were read and returns the replies. The bytes of a request are kept until its response
// arrives, so that the caller can build a further request from them. In the steady state no method
// allocates. Only one goroutine may use a Conn.
type Conn struct {
	// The output. out[0] is byte number origin of all output of the connection. All bytes before
	// out[sent] were written.
	out    []byte
	sent   int
	origin uint64

	// Requests that await their responses, oldest first: a ring buffer.
	ring  []request
	head  int // index of the oldest
	open  int
	turns int32  // the xid of the last request
	pings []ping // await their responses, oldest first
	first int    // index of the oldest in pings

	replies  []Reply
	parts    *parts.Budget
	partial  []byte // the beginning of an incomplete frame
	maxFrame int
	idle     int  // frames since the last response to a request
	watching bool // a watch was requested

	auth      string
	session   Session
	timeout   int32 // granted by the server, in milliseconds; 0 before that
	lastZxid  int64
	greeted   bool // the server's first frame arrived
	awaitAuth bool
	err       error
}

// request is a request that awaits its response.
type request struct {
	start, end uint64 // positions of its frame in all output of the connection
	xid        int32
	op         Op
	call       Call
	canceled   bool
}

// ping is a ping that awaits its response. All pings have the same xid.
type ping struct {
	end      uint64 // as in request
	call     Call
	asked    bool // the caller wants a Reply
	canceled bool
}

// Call identifies a request to its caller. The Reply contains it unchanged.
type Call struct {
	Tag   uint32
	Sub   uint8
	Extra uint8
}

// compactAt is how many bytes of answered requests the output may contain before it is compacted,
// while it cannot be emptied.
const compactAt = 16 << 10

// NewConn returns a connection whose output begins with the ConnectRequest.
func NewConn(cfg Config) *Conn {
	c := &Conn{
		ring: make([]request, 16), maxFrame: MaxFrame, parts: cfg.Parts,
		auth: cfg.Auth, session: cfg.Session, lastZxid: cfg.LastZxid,
	}
	if c.parts == nil {
		c.parts = parts.New(parts.DefaultMax)
	}
	c.connect(cfg.Timeout)
	return c
}

// connect writes the first frame, which has no header: ConnectRequest{protocolVersion int,
// lastZxidSeen long, timeOut int, sessionId long, passwd buffer, readOnly bool}. It never accepts a
// read-only member.
func (c *Conn) connect(timeout int32) {
	password := c.session.Password
	if c.session.ID == 0 {
		password = []byte(noPassword)
	}
	b := c.frame(4 + 8 + 4 + 8 + SizeBuffer(password) + 1)
	b = PutInt(b, 0)
	b = PutLong(b, c.lastZxid)
	b = PutInt(b, timeout)
	b = PutLong(b, c.session.ID)
	b = PutBuffer(b, password)
	PutBool(b, false)
}

// Ready reports whether requests can be sent: the server granted the session and accepted the
// credential, if there is one.
func (c *Conn) Ready() bool { return c.timeout > 0 && !c.awaitAuth && c.err == nil }

// Session returns the session that the server granted, or the requested one before that. It returns
// the zero Session after the server reported that the session had expired.
func (c *Conn) Session() Session { return c.session }

// Timeout returns the session timeout that the server granted, in milliseconds; 0 before that.
func (c *Conn) Timeout() int32 { return c.timeout }

// LastZxid returns the newest transaction id of any response.
func (c *Conn) LastZxid() int64 { return c.lastZxid }

// Open returns the number of requests that await their responses, including pings.
func (c *Conn) Open() int { return c.open + len(c.pings) - c.first }

// Held returns the number of buffered bytes of requests that are not yet written or not yet
// answered.
func (c *Conn) Held() int { return len(c.out) - c.oldestNeeded() }

// oldestNeeded returns the index in out of the oldest byte that is still needed.
func (c *Conn) oldestNeeded() int {
	if c.open == 0 {
		return c.sent
	}
	return min(c.sent, int(c.ring[c.head].start-c.origin))
}

// Out returns the bytes to write. They are valid until the next call of any method.
func (c *Conn) Out() []byte { return c.out[c.sent:] }

// Wrote records that the first n bytes of Out were written, or may have been.
func (c *Conn) Wrote(n int) { c.sent += n }

// compact discards the bytes of answered requests.
func (c *Conn) compact() {
	from := c.oldestNeeded()
	if from < len(c.out) && (from < compactAt || from < len(c.out)/2) {
		return
	}
	c.origin += uint64(from)
	c.out = c.out[:copy(c.out, c.out[from:])]
	c.sent -= from
}

// frame starts a frame of size bytes and returns them for the caller to fill.
func (c *Conn) frame(size int) []byte {
	at := len(c.out)
	n := lengthLen + size
	if cap(c.out)-at < n {
		c.out = slices.Grow(c.out, n)
	}
	c.out = c.out[:at+n]
	binary.BigEndian.PutUint32(c.out[at:], uint32(size))
	return c.out[at+lengthLen:]
}

// call starts a request whose record has size bytes and returns them for the caller to fill.
func (c *Conn) call(op Op, call Call, size int) []byte {
	start := c.origin + uint64(len(c.out))
	b := c.frame(requestLen + size)
	if c.turns == math.MaxInt32 {
		c.turns = 0
	}
	c.turns++
	if c.open == len(c.ring) {
		c.growRing()
	}
	r := &c.ring[(c.head+c.open)&(len(c.ring)-1)]
	*r = request{start: start, end: c.origin + uint64(len(c.out)), xid: c.turns, op: op, call: call}
	c.open++
	return PutInt(PutInt(b, c.turns), int32(op))
}

func (c *Conn) growRing() {
	ring := make([]request, 2*len(c.ring))
	n := copy(ring, c.ring[c.head:])
	copy(ring[n:], c.ring[:c.head])
	c.ring, c.head = ring, 0
}

// Cancel marks the requests with the tag. Their responses are still awaited, and their replies have
// Canceled set.
func (c *Conn) Cancel(tag uint32) {
	for i := range c.open {
		if r := &c.ring[(c.head+i)&(len(c.ring)-1)]; r.call.Tag == tag {
			r.canceled = true
		}
	}
	for i := range c.pings[c.first:] {
		if p := &c.pings[c.first+i]; p.asked && p.call.Tag == tag {
			p.canceled = true
		}
	}
}

// Lost records that the connection ended. It returns a reply for every open request: NotSent if the
// request was not written completely, otherwise Broken.
func (c *Conn) Lost() []Reply {
	c.replies = c.replies[:0]
	written := c.origin + uint64(c.sent)
	for i := range c.open {
		r := &c.ring[(c.head+i)&(len(c.ring)-1)]
		end := Broken
		if r.end > written {
			end = NotSent
		}
		c.replies = append(c.replies, Reply{
			Call: r.call, Op: r.op, End: end, Canceled: r.canceled, Request: c.requestOf(r),
		})
	}
	for i := range c.pings[c.first:] {
		p := &c.pings[c.first+i]
		if !p.asked {
			continue
		}
		end := Broken
		if p.end > written {
			end = NotSent
		}
		c.replies = append(c.replies, Reply{Call: p.call, Op: OpPing, End: end, Canceled: p.canceled})
	}
	c.open, c.pings, c.first = 0, nil, 0
	c.parts.GiveBack(c.partial)
	c.partial = nil
	return c.replies
}

// requestOf returns the record of a request as it was written.
func (c *Conn) requestOf(r *request) []byte {
	return c.out[r.start-c.origin+lengthLen+requestLen : r.end-c.origin]
}
