package h2

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A long stream is a gRPC call with any number of messages in each direction, such as etcd's Watch.
// Each received message is a Reply with End == Message. Any other Reply with the stream's tag and
// sub means that the stream has ended.

// OpenStream opens a long stream and returns its ID. It writes the HEADERS frame immediately, as
// gRPC requires. The caller must first check that Room returns a positive number.
func (c *Conn) OpenStream(m Method, tag uint32, sub uint8) (id uint32) {
	h := &c.methods[m]
	frames := h.frames
	if h.gen != c.enc.gen {
		frames = c.encode(h)
	}
	s := c.allocStream(tag, sub)
	s.state = isLong
	s.window = c.streamStart
	p := c.reserve(len(frames) - afterBlock)
	copy(p, frames)
	binary.BigEndian.PutUint32(p[5:], s.id)
	s.end = c.origin + uint64(len(c.out))
	return s.id
}

// IsOpen reports whether a stream is open. If the last Feed returned a Reply that ends the stream,
// IsOpen returns false, even if the caller has not yet processed that Reply.
func (c *Conn) IsOpen(id uint32) bool { return c.find(id) != nil }

// Send sends a message of `size` bytes on a long stream, which must be open and not half-closed. It
// returns the buffer for the message, which the caller must fill before it calls any other method
// of c.
func (c *Conn) Send(id uint32, size int) []byte {
	s := c.find(id)
	n := size + prefixLen
	if s.state&isBlocked != 0 || n > c.maxFrame || int64(n) > c.connWindow || int64(n) > s.window {
		return c.sendBlocked(s, size)
	}
	p := c.reserve(FrameHeaderLen + n)
	AppendFrameHeader(p[:0], n, FrameData, 0, id)
	p = p[FrameHeaderLen:]
	putPrefix(p, size)
	c.connWindow -= int64(n)
	s.window -= int64(n)
	s.end = c.origin + uint64(len(c.out))
	return p[prefixLen:]
}

// putPrefix writes the prefix of an uncompressed message into p.
func putPrefix(p []byte, size int) {
	p[0] = 0
	binary.BigEndian.PutUint32(p[1:], uint32(size))
}

// sendBlocked implements Send for a message that cannot be written immediately. Later messages on
// the stream wait until this message is written.
func (c *Conn) sendBlocked(s *stream, size int) []byte {
	n := size + prefixLen
	s.end = unfinished
	b := c.blockedOf(s)
	if b == nil {
		s.state |= isBlocked
		c.blocked = append(c.blocked, blocked{id: s.id, body: c.buffer(), window: s.window, staysOpen: true})
		b = &c.blocked[len(c.blocked)-1]
	}
	at := len(b.body)
	if cap(b.body)-at < n {
		grown := make([]byte, at, max(2*cap(b.body), at+n))
		copy(grown, b.body)
		b.body = grown
	}
	b.body = b.body[:at+n]
	c.blockedLen += n
	putPrefix(b.body[at:], size)
	return b.body[at+prefixLen:]
}

// blockedOf returns the waiting data of a stream, or nil if there is none. It searches backwards
// because the latest entry is the most likely to match.
func (c *Conn) blockedOf(s *stream) *blocked {
	if s.state&isBlocked == 0 {
		return nil
	}
	for i := len(c.blocked) - 1; i >= 0; i-- {
		if c.blocked[i].id == s.id {
			return &c.blocked[i]
		}
	}
	return nil
}

// CloseSend half-closes a long stream: the client will send no further messages. The server can
// still send messages until it ends the stream. If the stream has ended, CloseSend does nothing.
func (c *Conn) CloseSend(id uint32) {
	s := c.find(id)
	if s == nil || s.state&halfClosed != 0 {
		return
	}
	s.state |= halfClosed
	if b := c.blockedOf(s); b != nil {
		b.staysOpen = false
		return
	}
	c.out = AppendFrameHeader(c.out, 0, FrameData, FlagEndStream, id)
	s.end = c.origin + uint64(len(c.out))
}

// ResetStream ends a long stream and informs the server. Later frames on the stream are ignored. If
// the stream has ended, ResetStream does nothing.
func (c *Conn) ResetStream(id uint32) {
	if s := c.find(id); s != nil {
		c.out = AppendRSTStream(c.out, id, ErrCodeCancel)
		c.closeStream(s)
	}
}

// messages handles the payload of a DATA frame on a long stream. The payload can contain several
// complete messages and parts of messages. Complete messages stay in the input buffer.
func (c *Conn) messages(s *stream, h FrameHeader, p []byte) error {
	if s.unackedBytes += uint32(h.Length); s.unackedBytes >= MaxWindow/2 && h.Flags&FlagEndStream == 0 {
		c.out = AppendWindowUpdate(c.out, s.id, s.unackedBytes)
		s.unackedBytes = 0
	}
	for len(p) > 0 {
		if s.prefixBytes == 0 && len(p) >= prefixLen && p[0] == 0 {
			size := int64(binary.BigEndian.Uint32(p[1:]))
			if size <= int64(len(p)-prefixLen) && size <= int64(c.maxMessage) {
				end := prefixLen + int(size)
				c.replies = append(c.replies, Reply{Tag: s.tag, Sub: s.sub, End: Message, Body: p[prefixLen:end:end]})
				c.idle = 0
				p = p[end:]
				continue
			}
		}
		var err error
		if p, err = c.part(s, p); err != nil {
			return err
		}
	}
	if h.Flags&FlagEndStream != 0 {
		c.finishLong(s, &fields{grpc: -1})
	}
	return nil
}

// part appends the next part of a message that spans several frames. It returns the bytes in p that
// follow this part.
func (c *Conn) part(s *stream, p []byte) (rest []byte, err error) {
	n := copy(s.prefix[s.prefixBytes:], p)
	s.prefixBytes += uint8(n)
	p = p[n:]
	if s.prefixBytes < prefixLen {
		return p, nil
	}
	if s.prefix[0] != 0 {
		return nil, errors.New("the server sent a compressed gRPC message, although the client accepts no compression")
	}
	size := int64(binary.BigEndian.Uint32(s.prefix[1:]))
	if size > int64(c.maxMessage) {
		return nil, fmt.Errorf("the server announced a message of %d bytes, but at most %d bytes are accepted", size, c.maxMessage)
	}
	s.state |= isPooled
	if s.msg, p, err = c.budget.Fill(s.msg, p, int(size), int(size)); err != nil {
		return nil, err
	}
	if int64(len(s.msg)) == size {
		c.idle = 0
		c.replies = append(c.replies, Reply{Tag: s.tag, Sub: s.sub, End: Message, Body: s.msg})
		c.budget.Release(s.msg)
		s.state &^= isPooled
		s.msg, s.prefixBytes = nil, 0
	}
	return p, nil
}

// finishLong ends a long stream. f contains the fields of the stream's last header block.
func (c *Conn) finishLong(s *stream, f *fields) {
	r := Reply{Tag: s.tag, Sub: s.sub, Code: uint32(f.grpc), Text: f.text}
	switch {
	case f.grpc < 0:
		r.Code, r.Text = StatusUnknown, []byte("the server ended the stream without a gRPC status")
	case s.prefixBytes != 0 && f.grpc == StatusOK:
		r.Code, r.Text = StatusInternal, []byte("the server ended the stream in the middle of a message")
	}
	if s.state&halfClosed == 0 {
		c.out = AppendRSTStream(c.out, s.id, ErrCodeCancel)
		s.state &^= isBlocked
		c.unblock(s.id)
	}
	c.endCall(s, r)
}

// moveWindows applies a change of SETTINGS_INITIAL_WINDOW_SIZE to the windows of open streams (RFC
// 9113, section 6.9.2).
func (c *Conn) moveWindows(change int64) error {
	if change == 0 {
		return nil
	}
	for i := range c.table {
		if s := &c.table[i]; s.id != 0 && s.state&(isLong|isBlocked) == isLong {
			if s.window += change; s.window > MaxWindow {
				return errWindow
			}
		}
	}
	return nil
}
