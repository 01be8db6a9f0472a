package jute

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Config is what a connection needs to know.
type Config struct {
	// Timeout is the session timeout to ask for, in milliseconds; the server
	// brings it into its own bounds (2 to 20 ticks by default).
	Timeout int32
	// Session is the one to take up again; the zero Session begins a new one.
	Session Session
	// LastZxid is the newest transaction that the session has seen. A member
	// that does not have it yet refuses the session by closing the connection.
	LastZxid int64
	// Auth is what the scheme digest is given, NAME:PASSWORD; empty: nothing.
	Auth string
	// Parts keeps answers that are not whole; nil: the connection has its own.
	Parts *parts.Budget
}

// Session is what takes a session up again, perhaps at another member.
type Session struct {
	ID       int64
	Password []byte
}

// noPassword is what a new session is asked for with, as the Java client does.
const noPassword = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Conn is the client side of one connection: requests are encoded into Out,
// Feed takes what was read and returns the answers. The bytes of a request are
// kept until it is answered, so that an answer can be followed by another
// request made of them. In the steady state no method allocates. A Conn
// belongs to one goroutine.
type Conn struct {
	// The output. The byte out[0] is number origin of all that is ever written;
	// before sent, everything was written.
	out    []byte
	sent   int
	origin uint64

	// Requests that wait for their answers, oldest first: a ring.
	ring  []request
	head  int // index of the oldest
	open  int
	turns int32  // the xid used last
	pings []ping // that wait for their answers, the oldest at first
	first int    // of pings

	replies  []Reply
	parts    *parts.Budget
	partial  []byte // a frame that is not whole yet
	maxFrame int
	idle     int  // frames since the last that answered a request
	watching bool // a watch was asked for

	auth      string
	session   Session
	timeout   int32 // as negotiated, in milliseconds; 0 before that
	lastZxid  int64
	greeted   bool // the server's first frame came
	awaitAuth bool
	err       error
}

// request is one whose answer is awaited.
type request struct {
	start, end uint64 // of its frame in all that is ever written
	xid        int32
	op         Op
	call       Call
	canceled   bool
}

// ping is one whose answer is awaited; they have no numbers of their own.
type ping struct {
	end      uint64 // as of a request
	call     Call
	asked    bool // by a caller who wants to know of the answer
	canceled bool
}

// Call names a request to its caller; all of it comes back in the Reply.
type Call struct {
	Tag   uint32
	Sub   uint8
	Extra uint8
}

// compactAt is how many bytes of answered requests the output may carry along
// when it cannot be emptied.
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

// connect writes the first frame, which has no header: ConnectRequest{
// protocolVersion int, lastZxidSeen long, timeOut int, sessionId long, passwd
// buffer, readOnly bool}. We never want a member that can only be read.
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

// Ready reports whether requests may be made: the session was granted and the
// name, if there is one, was taken.
func (c *Conn) Ready() bool { return c.timeout > 0 && !c.awaitAuth && c.err == nil }

// Session is the session that the server granted, or that it was asked for;
// the zero Session after the server said that it had expired.
func (c *Conn) Session() Session { return c.session }

// Timeout is the session timeout that the server granted, in milliseconds; 0
// before it did.
func (c *Conn) Timeout() int32 { return c.timeout }

// LastZxid is the newest transaction that an answer named.
func (c *Conn) LastZxid() int64 { return c.lastZxid }

// Open is the number of requests that wait for their answers, pings among them.
func (c *Conn) Open() int { return c.open + len(c.pings) - c.first }

// Held is how many bytes of requests are kept: what waits to be written, and
// what was written and is not answered.
func (c *Conn) Held() int { return len(c.out) - c.from() }

// from is where in out the oldest byte lies that is still needed.
func (c *Conn) from() int {
	if c.open == 0 {
		return c.sent
	}
	return min(c.sent, int(c.ring[c.head].start-c.origin))
}

// Out is what is to be written; it is valid until the next call of any method.
func (c *Conn) Out() []byte { return c.out[c.sent:] }

// Wrote says that the first n bytes of Out were written, or may have been.
func (c *Conn) Wrote(n int) { c.sent += n }

// compact forgets the bytes of answered requests.
func (c *Conn) compact() {
	from := c.from()
	if from < len(c.out) && (from < compactAt || from < len(c.out)/2) {
		return
	}
	c.origin += uint64(from)
	c.out = c.out[:copy(c.out, c.out[from:])]
	c.sent -= from
}

// frame begins a frame of size bytes and returns them to be written.
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

// call begins a request whose record has size bytes and returns them to be
// written.
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

// Cancel marks the requests with the tag: their answers are still awaited, and
// come back with Canceled set.
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

// Lost says that the connection ended. It returns a reply for every open
// request: NotSent if it was not written in full, else Broken.
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

// requestOf is a request's record as it was written.
func (c *Conn) requestOf(r *request) []byte {
	return c.out[r.start-c.origin+lengthLen+requestLen : r.end-c.origin]
}
