package jute

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Config configures a connection.
type Config struct {
	// Timeout is the session timeout that the client requests, in milliseconds. The server limits
	// it to a range (by default 2 to 20 ticks).
	Timeout int32
	// Session is the session to resume. The zero Session starts a new session.
	Session Session
	// LastZxid is the highest zxid that the session has seen. A member that does not have this
	// transaction yet closes the connection.
	LastZxid int64
	// Auth is the user's NAME:PASSWORD for ZooKeeper's authentication scheme `digest`. If it is
	// empty, the connection does not authenticate.
	Auth string
	// BufferBudget provides the buffers for incomplete responses. If it is nil, the connection
	// creates its own budget.
	BufferBudget *parts.Budget
}

// Session identifies a session, so that another connection can resume it, possibly at another
// member.
type Session struct {
	ID       int64
	Password []byte
}

// noPassword is the password in a request for a new session. The Java client sends the same bytes.
const noPassword = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Conn is the client side of one connection. Methods encode requests into Out, and Feed parses
// bytes that the caller has read and returns the replies. The connection keeps the bytes of a
// request until the reply arrives, so that the caller can build another request from them. In the
// steady state no method allocates memory. Only one goroutine may use a Conn.
type Conn struct {
	// The output. out[0] is at the offset `origin` in the complete output of the connection. The
	// bytes before out[sent] were written.
	out    []byte
	sent   int
	origin uint64

	// The requests that have no reply yet, the oldest first, in a ring buffer.
	ring       []request
	head       int // index of the oldest request
	open       int
	lastXid    int32  // xid of the last request
	pings      []ping // pings, the oldest first
	oldestPing int    // index in `pings` of the oldest ping that has no reply yet

	replies        []Reply
	budget         *parts.Budget
	partial        []byte // the beginning of an incomplete frame
	maxFrame       int
	idle           int  // number of frames since the last reply to a request
	watchRequested bool // the client has requested a watch

	auth      string
	session   Session
	timeout   int32 // session timeout that the server granted, in milliseconds; 0 until then
	lastZxid  int64
	greeted   bool // the server's first frame has arrived
	awaitAuth bool
	err       error
}

// request is a request that has no reply yet.
type request struct {
	start, end uint64 // offsets of the request's frame in the complete output of the connection
	xid        int32
	op         Op
	call       Call
	canceled   bool
}

// ping is a ping that has no reply yet. All pings have the same xid.
type ping struct {
	end        uint64 // end of the ping's frame, as an offset in the complete output
	call       Call
	wantsReply bool // the caller wants a Reply
	canceled   bool
}

// Call identifies a request for the caller. The Reply contains an unchanged copy.
type Call struct {
	Tag   uint32
	Sub   uint8
	Extra uint8
}

// compactAt is a number of bytes. Answered requests are removed from the output if they occupy at
// least compactAt bytes and at least half of the output, or if the output contains nothing else.
const compactAt = 16 << 10

// NewConn returns a connection. Its output already contains the ConnectRequest.
func NewConn(cfg Config) *Conn {
	c := &Conn{
		ring: make([]request, 16), maxFrame: MaxFrame, budget: cfg.BufferBudget,
		auth: cfg.Auth, session: cfg.Session, lastZxid: cfg.LastZxid,
	}
	if c.budget == nil {
		c.budget = parts.New(parts.DefaultMax)
	}
	c.connect(cfg.Timeout)
	return c
}

// connect writes the first frame, which has no header: ConnectRequest{protocolVersion int,
// lastZxidSeen long, timeOut int, sessionId long, passwd buffer, readOnly bool}. It sets readOnly
// to false, so that a read-only member does not accept the connection.
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

// Ready reports whether the connection can send requests: the server has granted the session and,
// if Config.Auth is set, accepted the user.
func (c *Conn) Ready() bool { return c.timeout > 0 && !c.awaitAuth && c.err == nil }

// Session returns the session that the server granted. Until the server grants a session, Session
// returns the session in Config. If the server has reported that the session expired, it returns
// the zero Session.
func (c *Conn) Session() Session { return c.session }

// Timeout returns the session timeout that the server granted, in milliseconds. It returns 0 until
// the server has granted a session.
func (c *Conn) Timeout() int32 { return c.timeout }

// LastZxid returns the highest zxid in Config and in the replies so far.
func (c *Conn) LastZxid() int64 { return c.lastZxid }

// Open returns the number of requests, including pings, that have no reply yet.
func (c *Conn) Open() int { return c.open + len(c.pings) - c.oldestPing }

// BufferedBytes returns how many bytes are buffered for requests that are not yet written or have
// no reply yet.
func (c *Conn) BufferedBytes() int { return len(c.out) - c.oldestNeeded() }

// oldestNeeded returns the index in out of the first byte that is still needed.
func (c *Conn) oldestNeeded() int {
	if c.open == 0 {
		return c.sent
	}
	return min(c.sent, int(c.ring[c.head].start-c.origin))
}

// Out returns the bytes to write. They are valid until the next call of any method of c.
func (c *Conn) Out() []byte { return c.out[c.sent:] }

// Wrote informs the Conn that the first n bytes of Out were written, or may have been written.
func (c *Conn) Wrote(n int) { c.sent += n }

// compact removes the bytes of answered requests from the output.
func (c *Conn) compact() {
	from := c.oldestNeeded()
	if from < len(c.out) && (from < compactAt || from < len(c.out)/2) {
		return
	}
	c.origin += uint64(from)
	c.out = c.out[:copy(c.out, c.out[from:])]
	c.sent -= from
}

// frame appends a frame to the output: a length prefix, and `size` bytes that the caller must fill.
// It returns these bytes.
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

// call appends a request whose record has `size` bytes. It returns the bytes of the record, which
// the caller must fill.
func (c *Conn) call(op Op, call Call, size int) []byte {
	start := c.origin + uint64(len(c.out))
	b := c.frame(RequestHeaderLen + size)
	if c.lastXid == math.MaxInt32 {
		c.lastXid = 0
	}
	c.lastXid++
	if c.open == len(c.ring) {
		c.growRing()
	}
	r := &c.ring[(c.head+c.open)&(len(c.ring)-1)]
	*r = request{start: start, end: c.origin + uint64(len(c.out)), xid: c.lastXid, op: op, call: call}
	c.open++
	return PutInt(PutInt(b, c.lastXid), int32(op))
}

func (c *Conn) growRing() {
	ring := make([]request, 2*len(c.ring))
	n := copy(ring, c.ring[c.head:])
	copy(ring[n:], c.ring[:c.head])
	c.ring, c.head = ring, 0
}

// Cancel marks the requests with the given tag as canceled. The replies to these requests still
// arrive, and have Canceled set.
func (c *Conn) Cancel(tag uint32) {
	for i := range c.open {
		if r := &c.ring[(c.head+i)&(len(c.ring)-1)]; r.call.Tag == tag {
			r.canceled = true
		}
	}
	for i := range c.pings[c.oldestPing:] {
		if p := &c.pings[c.oldestPing+i]; p.wantsReply && p.call.Tag == tag {
			p.canceled = true
		}
	}
}

// Lost handles the end of the connection, and returns a reply for every request that has none. The
// reply's End is NotSent if the request was not written completely, and Broken otherwise.
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
	for i := range c.pings[c.oldestPing:] {
		p := &c.pings[c.oldestPing+i]
		if !p.wantsReply {
			continue
		}
		end := Broken
		if p.end > written {
			end = NotSent
		}
		c.replies = append(c.replies, Reply{Call: p.call, Op: OpPing, End: end, Canceled: p.canceled})
	}
	c.open, c.pings, c.oldestPing = 0, nil, 0
	c.budget.Release(c.partial)
	c.partial = nil
	return c.replies
}

// requestOf returns the record of a request as it was sent.
func (c *Conn) requestOf(r *request) []byte {
	return c.out[r.start-c.origin+lengthLen+RequestHeaderLen : r.end-c.origin]
}
