package h2

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/http2/hpack"
)

const (
	prefixLen   = 5 // size of the prefix of a gRPC message, in bytes
	afterBlock  = FrameHeaderLen + prefixLen
	maxMetadata = 8 << 10
)

// Register adds a method, such as "/etcdserverpb.KV/Range". If metadata is true, calls of the
// method contain the header fields that SetMetadata sets.
func (c *Conn) Register(path string, metadata bool) Method {
	c.methods = append(c.methods, method{path: path, metadata: metadata})
	return Method(len(c.methods) - 1)
}

// RegisterWith adds a method in the same way as Register. In addition, all calls of the method
// contain the header field with the given name and value. The name must be in lower case.
func (c *Conn) RegisterWith(path string, metadata bool, name, value string) Method {
	m := c.Register(path, metadata)
	c.methods[m].methodFields = []hpack.HeaderField{{Name: name, Value: value}}
	return m
}

// SetMetadata sets a header field for all later calls of the methods that were registered with
// metadata. The name must be in lower case. The value can have at most maxMetadata bytes.
func (c *Conn) SetMetadata(name, value string) error {
	if len(value) > maxMetadata {
		return fmt.Errorf("the value of the header %s has %d bytes, but at most %d bytes can be sent", name, len(value), maxMetadata)
	}
	c.enc.setMetadata(name, value)
	return nil
}

// Call opens a stream for one unary call whose message has `size` bytes. It returns the buffer for
// the message, which the caller must fill before it calls any other method of c. The Reply to the
// call has the same tag and sub. The caller must first check that Room returns a positive number.
func (c *Conn) Call(m Method, tag uint32, sub uint8, size int) []byte {
	h := &c.methods[m]
	frames := h.frames
	if h.gen != c.enc.gen {
		frames = c.encode(h)
	}
	s := c.allocStream(tag, sub)
	n := size + prefixLen
	if n > c.maxFrame || int64(n) > c.connWindow || int64(n) > c.streamStart {
		return c.callBlocked(s, frames, size)
	}
	p := c.reserve(len(frames) + size)
	copy(p, frames)
	binary.BigEndian.PutUint32(p[5:], s.id)
	d := p[len(frames)-afterBlock : len(frames)]
	d[0], d[1], d[2] = byte(n>>16), byte(n>>8), byte(n)
	binary.BigEndian.PutUint32(d[5:], s.id)
	binary.BigEndian.PutUint32(d[10:], uint32(size))
	c.connWindow -= int64(n)
	s.end = c.origin + uint64(len(c.out))
	return p[len(frames):]
}

// encode returns the bytes that precede the message in a call of the method. It does not cache
// bytes that add entries to the header table: later calls can refer to these entries, and therefore
// need fewer bytes.
func (c *Conn) encode(h *method) []byte {
	b := append(h.frames[:0], make([]byte, FrameHeaderLen)...)
	b, once := c.enc.appendBlock(b, h)
	block := len(b) - FrameHeaderLen
	AppendFrameHeader(b[:0], block, FrameHeaders, FlagEndHeaders, 0)
	b = AppendFrameHeader(b, 0, FrameData, FlagEndStream, 0)
	b = append(b, make([]byte, prefixLen)...)
	h.frames = b
	if once {
		h.gen = c.enc.gen - 1
	} else {
		h.gen = c.enc.gen
	}
	return b
}

// callBlocked implements Call for a message that cannot be written immediately. It writes the
// HEADERS frame, and adds the message to Conn.blocked.
func (c *Conn) callBlocked(s *stream, frames []byte, size int) []byte {
	p := c.reserve(len(frames) - afterBlock)
	copy(p, frames)
	binary.BigEndian.PutUint32(p[5:], s.id)
	s.end = unfinished
	s.state |= isBlocked
	b := c.buffer()
	if cap(b) < prefixLen+size {
		b = make([]byte, prefixLen+size)
	}
	b = b[:prefixLen+size]
	b[0] = 0 // not compressed
	binary.BigEndian.PutUint32(b[1:], uint32(size))
	c.blocked = append(c.blocked, blocked{id: s.id, body: b, window: c.streamStart})
	c.blockedLen += len(b)
	return b[prefixLen:]
}
