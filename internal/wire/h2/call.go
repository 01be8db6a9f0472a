package h2

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/http2/hpack"
)

const (
	prefixLen   = 5 // length of the prefix of a gRPC message
	afterBlock  = FrameHeaderLen + prefixLen
	maxMetadata = 8 << 10
)

// Register adds a method, such as "/etcdserverpb.KV/Range". If metadata is set, its calls carry the
// fields of SetMetadata.
func (c *Conn) Register(path string, metadata bool) Method {
	c.methods = append(c.methods, method{path: path, metadata: metadata})
	return Method(len(c.methods) - 1)
}

// RegisterWith is Register for a method whose calls carry an additional header field. The name is
// in lower case.
func (c *Conn) RegisterWith(path string, metadata bool, name, value string) Method {
	m := c.Register(path, metadata)
	c.methods[m].own = []hpack.HeaderField{{Name: name, Value: value}}
	return m
}

// SetMetadata sets a header field of all later calls of methods with metadata. The name is in lower
// case. The value has at most maxMetadata bytes.
func (c *Conn) SetMetadata(name, value string) error {
	if len(value) > maxMetadata {
		return fmt.Errorf("the header %s has %d bytes, and more than %d are not sent", name, len(value), maxMetadata)
	}
	c.enc.setMetadata(name, value)
	return nil
}

// Call opens a stream for one unary call whose message has size bytes. It returns the buffer for
// the message, which the caller must fill before it calls any other method. The Reply has the same
// tag and sub. Room must be positive.
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

// encode returns a method's frames. It does not cache frames that fill the header table, because
// later calls need shorter ones.
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

// callBlocked is Call for a message that cannot be written immediately. The HEADERS frame is
// written, and the message waits in Conn.blocked.
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
