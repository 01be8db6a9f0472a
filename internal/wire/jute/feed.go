package jute

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Errors for servers that speak another protocol, and for a server that ends the session.
var (
	ErrHTTP      = errors.New("the server answered with HTTP, not ZooKeeper's protocol")
	ErrTLS       = errors.New("the server answered with a TLS alert: it expects TLS, or a different client certificate")
	ErrExpired   = errors.New("the session expired before the client resumed it")
	ErrAuth      = errors.New("the server refused the user's name and password")
	ErrMalformed = errors.New("the server sent a truncated response, which is not valid in ZooKeeper's protocol")
)

// End shows how a request ended, or that a Reply is a watch event.
type End uint8

// The values of End.
const (
	Answered End = iota // the reply arrived; it has a Body if Code is OK
	Notified            // not a reply to a request: a watch fired, and Body is the WatcherEvent
	NotSent             // the connection ended before the request was written completely
	Broken              // the connection ended before the reply arrived
)

// Reply reports the end of a request, or a watch event. Its bytes are valid until the next Feed.
type Reply struct {
	Call
	Op       Op
	End      End
	Code     Code
	Canceled bool
	// Zxid is the zxid of the member's newest transaction or, in a watch event since 3.9, of the
	// event's transaction.
	Zxid    int64
	Body    []byte // the record of the reply
	Request []byte // the record of the request
}

// Feed parses bytes that the caller has read and returns the replies. The returned slice and its
// contents are valid until the next Feed, provided that the caller does not overwrite the input.
// Even if it returns an error, Feed returns the replies that preceded the error. After an error the
// connection is unusable.
func (c *Conn) Feed(in []byte) ([]Reply, error) {
	c.replies = c.replies[:0]
	c.budget.Recycle()
	if c.err != nil {
		return nil, c.err
	}
	c.compact()
	if err := c.feed(in); err != nil {
		c.err = err
	}
	return c.replies, c.err
}

// feed parses the frames in the input buffer. If the input ends in the middle of a frame, feed
// keeps a copy of the frame's beginning. The next call completes the frame.
func (c *Conn) feed(in []byte) error {
	in, err := c.completePartial(in)
	if err != nil {
		return err
	}
	frameLen := 0
	for len(in) >= lengthLen {
		size, err := c.length(in)
		if err != nil {
			return err
		}
		if frameLen = lengthLen + size; len(in) < frameLen {
			break
		}
		if err := c.answer(in[lengthLen : lengthLen+size]); err != nil {
			return err
		}
		in, frameLen = in[frameLen:], 0
	}
	if len(in) > 0 {
		c.partial, err = c.budget.Append(nil, in, frameLen)
	}
	return err
}

// completePartial appends input to the incomplete frame from the last call, and processes the frame
// once it is complete. It returns the rest of the input.
func (c *Conn) completePartial(in []byte) (_ []byte, err error) {
	if len(c.partial) == 0 {
		return in, nil
	}
	if c.partial, in, err = c.budget.Fill(c.partial, in, lengthLen, 0); err != nil || len(c.partial) < lengthLen {
		return nil, err
	}
	size, err := c.length(c.partial)
	if err != nil {
		return nil, err
	}
	frameLen := lengthLen + size
	if c.partial, in, err = c.budget.Fill(c.partial, in, frameLen, frameLen); err != nil || len(c.partial) < frameLen {
		return nil, err
	}
	p := c.partial
	c.partial = nil
	c.budget.Release(p) // the contents of p stay valid until the next Feed
	return in, c.answer(p[lengthLen:])
}

// length reads and checks a frame's length.
func (c *Conn) length(b []byte) (int, error) {
	size := int64(int32(binary.BigEndian.Uint32(b)))
	if size >= 0 && size <= int64(c.maxFrame) && (c.greeted || size < maxGreeting) {
		return int(size), nil
	}
	switch {
	case !c.greeted && string(b[:4]) == "HTTP":
		return 0, ErrHTTP
	case !c.greeted && b[0] == 0x15 && b[1] == 0x03:
		return 0, ErrTLS
	case !c.greeted:
		return 0, fmt.Errorf("the server answered with %q, not ZooKeeper's protocol", b[:4])
	}
	return 0, fmt.Errorf("the server announced a response of %d bytes, but at most %d bytes are allowed", size, c.maxFrame)
}

// maxGreeting limits the size of the server's first frame, in bytes. A correct first frame has 37
// bytes.
const maxGreeting = 1 << 10

// answer processes one frame.
func (c *Conn) answer(b []byte) error {
	if !c.greeted {
		return c.readSession(b)
	}
	if len(b) < replyLen {
		return ErrMalformed
	}
	xid := int32(binary.BigEndian.Uint32(b))
	zxid := int64(binary.BigEndian.Uint64(b[4:]))
	code := Code(binary.BigEndian.Uint32(b[12:]))
	switch {
	case xid > 0:
	case xid == XidPing:
		return c.readPing(zxid, code)
	case xid == XidSetWatches:
		return c.countUnrequested()
	case xid == XidNotification:
		if !c.watchRequested {
			if err := c.countUnrequested(); err != nil {
				return err
			}
		}
		c.replies = append(c.replies, Reply{End: Notified, Zxid: zxid, Body: b[replyLen:]})
		return nil
	case xid == XidAuth:
		if c.awaitAuth = false; code != OK {
			return fmt.Errorf("%w: %v", ErrAuth, code)
		}
		return c.countUnrequested()
	}
	if c.open == 0 {
		return fmt.Errorf("the server answered request %d, but no request was open", xid)
	}
	r := &c.ring[c.head]
	if r.xid != xid {
		return fmt.Errorf("the server answered request %d before request %d, but must answer requests in order", xid, r.xid)
	}
	c.head = (c.head + 1) & (len(c.ring) - 1)
	c.open--
	c.idle = 0
	c.lastZxid = max(c.lastZxid, zxid)
	c.replies = append(c.replies, Reply{
		Call: r.call, Op: r.op, Code: code, Canceled: r.canceled, Zxid: zxid,
		Body: b[replyLen:], Request: c.requestOf(r),
	})
	return nil
}

// readPing processes the reply to a ping. The replies arrive in the order of the pings.
func (c *Conn) readPing(zxid int64, code Code) error {
	if c.oldestPing == len(c.pings) {
		return c.countUnrequested()
	}
	p := c.pings[c.oldestPing]
	if c.oldestPing++; 2*c.oldestPing >= len(c.pings) { // reuse the memory
		c.pings, c.oldestPing = c.pings[:copy(c.pings, c.pings[c.oldestPing:])], 0
	}
	if !p.wantsReply {
		return c.countUnrequested()
	}
	c.idle = 0
	c.replies = append(c.replies, Reply{Call: p.call, Op: OpPing, Code: code, Canceled: p.canceled, Zxid: zxid})
	return nil
}

// maxIdle limits the number of frames between two replies to requests. A server that sends more is
// flooding the connection.
const maxIdle = 20_000

// countUnrequested counts a frame that is not a reply to a request. It returns an error if too many
// such frames have arrived since the last reply to a request.
func (c *Conn) countUnrequested() error {
	if c.idle++; c.idle > maxIdle {
		return errors.New("the server floods the connection with frames that answer no request")
	}
	return nil
}

// readSession processes the server's first frame: ConnectResponse{protocolVersion int, timeOut int,
// sessionId long, passwd buffer, readOnly bool}. Servers before 3.4 omit readOnly. If the session
// has expired, timeOut and sessionId are 0.
func (c *Conn) readSession(b []byte) error {
	c.greeted = true
	r := NewReader(b)
	_, timeout, id, password := r.Int(), r.Int(), r.Long(), r.Buffer()
	switch {
	case !r.OK():
		return ErrMalformed
	case timeout <= 0 || id == 0:
		was := c.session.ID
		c.session, c.lastZxid = Session{}, 0
		return fmt.Errorf("%w: 0x%x", ErrExpired, was)
	}
	c.timeout, c.session = timeout, Session{ID: id, Password: bytes.Clone(password)}
	if c.auth != "" {
		c.authenticate()
	}
	return nil
}

// Notification parses the body of a watch event: WatcherEvent{type int, state int, path string}.
func (r *Reply) Notification() (what WatchEvent, path []byte, ok bool) {
	b := NewReader(r.Body)
	what, _, path = WatchEvent(b.Int()), b.Int(), b.Buffer()
	return what, path, b.OK()
}
