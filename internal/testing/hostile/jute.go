package hostile

import (
	"encoding/binary"
	"io"
	"net"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// juteConn is the server's end of a ZooKeeper connection. An upstream server provides the correct
// responses.
type juteConn struct {
	net.Conn
	up     net.Conn
	served int // number of requests so far
}

// juteCall is a received request.
type juteCall struct {
	xid  int32
	op   jute.Op
	body []byte // the bytes after xid and op
}

type juteAnswer struct {
	xid  int32
	zxid int64
	code int32
	body []byte
}

// juteHooks contains functions that a server calls in place of responding correctly. Where a
// function is nil, the server responds correctly.
type juteHooks struct {
	word func(c *juteConn, word string) // called for a four-letter word
	// Called at the start of a session. The parameter `granted` is the upstream server's frame.
	greet func(c *juteConn, granted []byte) bool
	// Called for each request. The parameter `a` is the correct response.
	answer func(c *juteConn, r *juteCall, a juteAnswer) bool
}

// juteKind returns a kind. If a hook returns false, the server closes the connection.
func juteKind(name string, h juteHooks) Kind {
	return Kind{Name: name, serve: func(nc net.Conn, upstream string) {
		up, err := net.Dial("tcp", upstream)
		if err != nil {
			return
		}
		defer func() { _ = up.Close() }()
		c := &juteConn{Conn: nc, up: up}
		first := make([]byte, 4)
		if _, err := io.ReadFull(nc, first); err != nil {
			return
		}
		if first[0] != 0 {
			c.answerWord(string(first), h.word)
			return
		}
		c.session(first, h)
	}}
}

// answerWord responds to a four-letter word.
func (c *juteConn) answerWord(word string, respond func(*juteConn, string)) {
	if respond != nil {
		respond(c, word)
		return
	}
	if _, err := c.up.Write([]byte(word)); err == nil {
		_, _ = io.Copy(c, c.up) // the upstream server closes the connection after its response
	}
}

// session serves a session. The parameter `length` is the length field of the session's first
// frame.
func (c *juteConn) session(length []byte, h juteHooks) {
	connect, err := body(c, length)
	if err != nil || !c.forward(connect) {
		return
	}
	granted, err := frame(c.up)
	if err != nil {
		return
	}
	if h.greet != nil {
		if !h.greet(c, granted) {
			return
		}
	} else if !c.send(granted) {
		return
	}
	for {
		b, err := frame(c)
		if err != nil || len(b) < 8 || !c.forward(b) {
			return
		}
		r := &juteCall{int32(binary.BigEndian.Uint32(b)), jute.Op(binary.BigEndian.Uint32(b[4:])), b[8:]}
		got, err := frame(c.up)
		if err != nil || len(got) < 16 {
			return
		}
		a := juteAnswer{
			int32(binary.BigEndian.Uint32(got)), int64(binary.BigEndian.Uint64(got[4:])),
			int32(binary.BigEndian.Uint32(got[12:])), got[16:],
		}
		if r.xid > 0 {
			c.served++
		}
		if h.answer == nil || r.xid < 0 {
			if !c.send(got) {
				return
			}
		} else if !h.answer(c, r, a) {
			return
		}
	}
}

// forward sends a frame to the upstream server.
func (c *juteConn) forward(b []byte) bool {
	_, err := c.up.Write(framed(b))
	return err == nil
}

// send sends a frame.
func (c *juteConn) send(b []byte) bool { return c.raw(framed(b)) }

func (c *juteConn) raw(b []byte) bool {
	_, err := c.Write(b)
	return err == nil
}

// reply sends a response.
func (c *juteConn) reply(a juteAnswer) bool { return c.send(a.bytes()) }

// bytes returns a response's frame without the length field.
func (a *juteAnswer) bytes() []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(a.xid))
	b = binary.BigEndian.AppendUint64(b, uint64(a.zxid))
	return append(binary.BigEndian.AppendUint32(b, uint32(a.code)), a.body...)
}

// framed returns a frame with its length field.
func framed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// frame reads a frame and returns it without the length field.
func frame(from io.Reader) ([]byte, error) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(from, length); err != nil {
		return nil, err
	}
	return body(from, length)
}

func body(from io.Reader, length []byte) ([]byte, error) {
	b := make([]byte, min(binary.BigEndian.Uint32(length), 16<<20))
	_, err := io.ReadFull(from, b)
	return b, err
}
