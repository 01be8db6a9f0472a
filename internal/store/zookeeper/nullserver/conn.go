package nullserver

import (
	"encoding/binary"
	"math"
	"net"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

func (s *Server) open(nc net.Conn, member int) *conn {
	c := &conn{server: s, session: session{server: s, tree: s.tree, member: member}}
	c.session.conn = c
	c.Init(&s.Base, nc, &c.out, &c.closing)
	return c
}

// Serve implements null.Conn.
func (c *conn) Serve() {
	c.Feed(c.handleFrames)
	tree, all := c.session.tree, c.session.tree.AllShards()
	tree.Lock(all)
	defer tree.Unlock(all)
	if c.watching {
		tree.removeWatches(c)
	}
}

// frameLen returns the length of the frame at the start of b, including the length field. It
// returns 0 if b is shorter than the length field (4 bytes).
func frameLen(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return 4 + int(binary.BigEndian.Uint32(b))
}

// handleFrames processes the complete frames in the input. It returns how many bytes it consumed,
// and whether the connection stays open.
func (c *conn) handleFrames(in []byte) (used int, keepOpen bool) {
	var now int64
	if c.server.Run != nil {
		now = c.server.Clock.Now()
	}
	var touched []*conn
	defer func() { deliver(touched) }()
	c.Lock()
	defer c.Unlock()
	tree, all := c.session.tree, c.session.tree.AllShards()
	tree.Lock(all)
	for !c.Ended() && !c.closing {
		n := c.step(in[used:], now)
		if n == 0 {
			break
		}
		if used += n; len(c.out) > flushAt {
			tree.Unlock(all)
			c.Flush(true)
			tree.Lock(all)
		}
	}
	c.takePendingEvents()
	touched, tree.watches.touched = tree.watches.touched, nil
	tree.Unlock(all)
	c.FlushAndWait()
	return used, !c.Ended()
}

// release moves to the output the delayed replies that are due, and schedules the next reply.
func (c *conn) release(now int64) {
	if len(c.postponed) > 0 {
		c.takePostponed(now)
	}
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
		c.server.Schedule(null.Item[*conn]{Due: c.marks[0].due, Value: c})
	}
}

// step processes the first complete frame in the input and returns the frame's length, or 0 if
// there is no complete frame. The caller holds the connection's and the tree's locks.
func (c *conn) step(in []byte, now int64) int {
	if len(in) < 4 {
		return 0
	}
	s := &c.session
	if !s.greeted {
		if text, ok := s.word(string(in[:4])); ok {
			c.out, c.closing = append(c.out, text...), true
			return len(in)
		}
	}
	n := frameLen(in)
	if n > maxRequest {
		c.closing = true
		return 0
	}
	if len(in) < n {
		return 0
	}
	if !s.greeted {
		var ok bool
		if c.out, ok = s.connect(in[4:n], c.out); !ok || s.id == 0 {
			c.closing = true
		}
		return n
	}
	if n < 12 {
		c.closing = true
		return n
	}
	c.request(int32(binary.BigEndian.Uint32(in[4:])), jute.Op(binary.BigEndian.Uint32(in[8:])), in[12:n], now)
	return n
}

// request replies to one request, either at once or later.
func (c *conn) request(xid int32, op jute.Op, record []byte, now int64) {
	s := &c.session
	r := jute.NewReader(record)
	c.takePendingEvents()
	switch {
	case c.silent:
		return
	case op == jute.OpPing, op == jute.OpSetWatches:
		start := len(c.out)
		c.out = finish(s.begin(c.out, xid), start, jute.OK)
	case op == jute.OpAuth:
		c.authenticate(&r)
	case !s.trusted && s.server.user != "" && op != jute.OpCloseSession:
		c.queueReply(now, 0, func(b []byte) []byte {
			start := len(b)
			return finish(s.begin(b, xid), start, jute.NoAuth)
		})
	case s.server.Run == nil, !isNodeOperation(op, record):
		ok := true
		c.queueReply(now, 0, func(b []byte) []byte {
			b, ok = s.reply(xid, op, &r, b)
			return b
		})
		if !ok {
			c.closing = true
		} else if op == jute.OpCloseSession {
			c.closeWhenDone(now)
		}
	default:
		c.scripted(xid, op, &r, now)
	}
}

// isNodeOperation reports whether a request is an operation on nodes. The script applies only to
// such operations. An `exists` request for the root does not count, because clients send it as a
// request without effect.
func isNodeOperation(op jute.Op, record []byte) bool {
	switch op {
	case jute.OpExists:
		return len(record) != 6 // 6 bytes: the length 1, "/", and watch
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete,
		jute.OpGetData, jute.OpSetData, jute.OpGetChildren, jute.OpGetChildren2, jute.OpMulti:
		return true
	}
	return false
}

// authenticate handles AuthPacket{type int, scheme string, auth buffer}.
func (c *conn) authenticate(r *jute.Reader) {
	s := &c.session
	r.Int()
	scheme, auth := string(r.Buffer()), string(r.Buffer())
	code := jute.OK
	if user := s.server.user; user != "" && (scheme != "digest" || auth != user) {
		code, c.closing = jute.AuthFailed, true
	} else {
		s.trusted = true
	}
	start := len(c.out)
	c.out = finish(s.begin(c.out, jute.XidAuth), start, code)
}

// queueReply appends a reply to the output or, if the reply must wait, to the delayed replies.
func (c *conn) queueReply(now, due int64, add func([]byte) []byte) {
	if len(c.marks) > 0 {
		due = max(due, c.marks[len(c.marks)-1].due)
	}
	if len(c.marks) == 0 && due <= now {
		c.out = add(c.out)
		return
	}
	c.later = add(c.later)
	c.marks = append(c.marks, mark{due: due, end: len(c.later)})
	c.release(now)
}

// closeWhenDone closes the connection once all delayed replies are written.
func (c *conn) closeWhenDone(now int64) {
	if len(c.marks) == 0 {
		c.closing = true
		return
	}
	c.marks[len(c.marks)-1].close = true
	c.release(now)
}

// scripted executes an operation and replies as the script demands.
func (c *conn) scripted(xid int32, op jute.Op, r *jute.Reader, now int64) {
	s := &c.session
	a, due := s.server.Arrive(now, s.member)
	ok := true
	c.queueReply(now, due, func(b []byte) []byte {
		start := len(b)
		if code := failure(a); code != jute.OK {
			return finish(s.begin(b, xid), start, code)
		}
		s.lie = a.Kind
		b, ok = s.reply(xid, op, r, b)
		s.lie, s.answeredZxid = null.CorrectResponse, 0
		return c.replaceReply(a.Kind, op, b, start)
	})
	if c.received++; c.received == s.server.Script.GoAway || a.Kind == null.Close || a.Kind == null.Half || !ok {
		c.closeWhenDone(now)
		c.silent = true
	}
	c.silent = c.silent || a.Kind == null.Never
}

// replaceReply replaces the reply in b[start:] with the reply that the script demands.
func (c *conn) replaceReply(kind null.Kind, op jute.Op, b []byte, start int) []byte {
	data := start + replyLen // offset of the value's length field in the reply to a getData
	hasData := op == jute.OpGetData && len(b) > data+4
	switch kind {
	case null.Never, null.Close:
		return b[:start]
	case null.Half:
		return b[:start+(len(b)-start)/2]
	case null.HugeFrame:
		binary.BigEndian.PutUint32(b[start:], math.MaxInt32)
	case null.HugeMessage:
		if hasData {
			binary.BigEndian.PutUint32(b[data:], math.MaxInt32)
		}
	case null.WrongKey, null.WrongValue: // a reply contains no key, but its value may contain the key
		if hasData {
			size := int(binary.BigEndian.Uint32(b[data:]))
			if size > 0 {
				b[data+4+size/2] ^= 1
			}
		}
	}
	return b
}
