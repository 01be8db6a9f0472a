package jute

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// What a server that is no ZooKeeper server said, or one that ends a session.
var (
	ErrHTTP      = errors.New("the server answered with HTTP, not ZooKeeper's protocol")
	ErrTLS       = errors.New("the server answered with a TLS alert: it wants TLS, or other certificates")
	ErrExpired   = errors.New("the session expired before it was taken up again")
	ErrAuth      = errors.New("the server refused the user's name and password")
	ErrMalformed = errors.New("the server sent an answer that is cut off: it is not ZooKeeper's protocol")
)

// End says how a request ended.
type End uint8

// The ends.
const (
	Answered End = iota // with a Code, and a Body if that is OK
	Notified            // no request: a watch fired, and Body is its WatcherEvent
	NotSent             // the connection ended before the request was written in full
	Broken              // the connection ended before the answer came
)

// Reply is a request's end, or a watch event. Its bytes are valid until the
// next Feed.
type Reply struct {
	Call
	Op       Op
	End      End
	Code     Code
	Canceled bool
	Zxid     int64  // the newest transaction that the member had, or of a watch event its own (since 3.9); 0 or less if it does not say
	Body     []byte // the answer's record
	Request  []byte // the request's record
}

// Feed takes what was read and returns what was answered; the slice and what
// it points to are valid until the next Feed, and while in is not reused. An
// error is the connection's end; replies that came before it are returned with
// it.
func (c *Conn) Feed(in []byte) ([]Reply, error) {
	c.replies = c.replies[:0]
	c.parts.Turn()
	if c.err != nil {
		return nil, c.err
	}
	c.compact()
	if err := c.feed(in); err != nil {
		c.err = err
	}
	return c.replies, c.err
}

// feed parses frames where they lie. Only one that is not whole is copied: its
// beginning waits for the next call.
func (c *Conn) feed(in []byte) error {
	in, err := c.completePartial(in)
	if err != nil {
		return err
	}
	whole := 0
	for len(in) >= lengthLen {
		size, err := c.length(in)
		if err != nil {
			return err
		}
		if whole = lengthLen + size; len(in) < whole {
			break
		}
		if err := c.answer(in[lengthLen : lengthLen+size]); err != nil {
			return err
		}
		in, whole = in[whole:], 0
	}
	if len(in) > 0 {
		c.partial, err = c.parts.Append(nil, in, whole)
	}
	return err
}

// completePartial completes the frame that the last call left, takes it, and
// returns the rest.
func (c *Conn) completePartial(in []byte) (_ []byte, err error) {
	if len(c.partial) == 0 {
		return in, nil
	}
	if c.partial, in, err = c.parts.Fill(c.partial, in, lengthLen, 0); err != nil || len(c.partial) < lengthLen {
		return nil, err
	}
	size, err := c.length(c.partial)
	if err != nil {
		return nil, err
	}
	whole := lengthLen + size
	if c.partial, in, err = c.parts.Fill(c.partial, in, whole, whole); err != nil || len(c.partial) < whole {
		return nil, err
	}
	p := c.partial
	c.partial = nil
	c.parts.GiveBack(p) // answers may lie in it until the next call
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
	return 0, fmt.Errorf("the server sent an answer of %d bytes, and more than %d are not allowed", size, c.maxFrame)
}

// maxGreeting bounds the first answer, which has 37 bytes.
const maxGreeting = 1 << 10

// answer takes one frame.
func (c *Conn) answer(b []byte) error {
	if !c.greeted {
		return c.granted(b)
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
		return c.pinged(zxid, code)
	case xid == XidSetWatches:
		return c.unasked()
	case xid == XidNotification:
		if !c.watching {
			if err := c.unasked(); err != nil {
				return err
			}
		}
		c.replies = append(c.replies, Reply{End: Notified, Zxid: zxid, Body: b[replyLen:]})
		return nil
	case xid == XidAuth:
		if c.awaitAuth = false; code != OK {
			return fmt.Errorf("%w: %v", ErrAuth, code)
		}
		return c.unasked()
	}
	if c.open == 0 {
		return fmt.Errorf("the server answered request %d, and none was open", xid)
	}
	r := &c.ring[c.head]
	if r.xid != xid {
		return fmt.Errorf("the server answered request %d where %d was next: it does not keep their order", xid, r.xid)
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

// pinged takes the answer to a ping. They come in the order of the pings.
func (c *Conn) pinged(zxid int64, code Code) error {
	if c.first == len(c.pings) {
		return c.unasked()
	}
	p := c.pings[c.first]
	if c.first++; 2*c.first >= len(c.pings) { // its memory is used again
		c.pings, c.first = c.pings[:copy(c.pings, c.pings[c.first:])], 0
	}
	if !p.asked {
		return c.unasked()
	}
	c.idle = 0
	c.replies = append(c.replies, Reply{Call: p.call, Op: OpPing, Code: code, Canceled: p.canceled, Zxid: zxid})
	return nil
}

// maxIdle is how many frames in a row may answer no request: some come beside
// the answers, and more are a flood.
const maxIdle = 20_000

// unasked counts a frame that answers no request.
func (c *Conn) unasked() error {
	if c.idle++; c.idle > maxIdle {
		return errors.New("the server floods the connection with answers to nothing")
	}
	return nil
}

// granted takes the first frame: ConnectResponse{protocolVersion int, timeOut
// int, sessionId long, passwd buffer, readOnly bool}, the last of which servers
// before 3.4 leave out. A session that is over is answered by zeros.
func (c *Conn) granted(b []byte) error {
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

// Notification reads a watch event: WatcherEvent{type int, state int, path
// string}.
func (r *Reply) Notification() (what WatchEvent, path []byte, ok bool) {
	b := NewReader(r.Body)
	what, _, path = WatchEvent(b.Int()), b.Int(), b.Buffer()
	return what, path, b.OK()
}
