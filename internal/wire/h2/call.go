package h2

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/http2/hpack"
)

const (
	prefixLen   = 5 // of a gRPC message
	afterBlock  = FrameHeaderLen + prefixLen
	maxMetadata = 8 << 10
)

// Register makes a method known, such as "/etcdserverpb.KV/Range"; metadata
// says whether its calls carry what SetMetadata sets.
func (c *Conn) Register(path string, metadata bool) Method {
	c.methods = append(c.methods, method{path: path, metadata: metadata})
	return Method(len(c.methods) - 1)
}

// RegisterWith is Register of a method whose calls carry a header field of their own,
// with a name in lower case.
func (c *Conn) RegisterWith(path string, metadata bool, name, value string) Method {
	m := c.Register(path, metadata)
	c.methods[m].own = []hpack.HeaderField{{Name: name, Value: value}}
	return m
}

// SetMetadata sets a header field of all coming calls of methods with
// metadata. The name is in lower case.
func (c *Conn) SetMetadata(name, value string) error {
	if len(value) > maxMetadata {
		return fmt.Errorf("the header %s has %d bytes, and more than %d are not sent", name, len(value), maxMetadata)
	}
	c.enc.setMetadata(name, value)
	return nil
}

// Call opens a stream for one unary call whose message has size bytes, and
// returns where the caller is to write all of them before it calls any other
// method. Tag and sub come back in the Reply. The caller has asked Room.
func (c *Conn) Call(m Method, tag uint32, sub uint8, size int) []byte {
	h := &c.methods[m]
	frames := h.frames
	if h.gen != c.enc.gen {
		frames = c.encode(h)
	}
	s := c.opens(tag, sub)
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

// encode makes a method's frames. Those that fill the header table are not
// kept: the next call needs shorter ones.
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

// callBlocked is Call for a message that cannot be written at once: HEADERS go
// out, and the message waits with its stream.
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
