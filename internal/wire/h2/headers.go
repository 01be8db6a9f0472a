package h2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

const (
	decoderTable = 4096      // HPACK's default, which the client does not change
	maxBlock     = 256 << 10 // maximum size of an encoded header block, in bytes
	memoLen      = 8         // maximum length of a remembered block, in bytes

	fieldOverhead = 32 // bytes added to the size of each field (RFC 9113, section 6.5.2)
)

// fields contains the fields that the client uses from a response's header block.
type fields struct {
	status  int32  // HTTP status, or 0 if the block has none
	grpc    int32  // gRPC status, or -1 if the block has none
	isGRPC  bool   // the content-type is gRPC's
	text    []byte // grpc-message
	content string // the content-type, if it is not gRPC's
	size    int    // size of the block's fields in bytes, computed as for MaxHeaderList
}

// memo remembers the decoded fields of a short block. The block has at most memoLen bytes, and each
// byte is a reference to a table entry (RFC 7541, section 6.1). Such a block always decodes to the
// same fields until the dynamic table changes. Servers send nearly all blocks in this form.
type memo struct {
	key    uint64 // the block's bytes, little endian
	length int    // length of the block, or 0 if the memo is empty
	fields fields
}

// headers handles the HEADERS frame at the start of b.
func (c *Conn) headers(h FrameHeader, b []byte) error {
	if h.Flags&^FlagEndStream == FlagEndHeaders && h.Length <= memoLen && h.Length > 0 {
		key := blockKey(b[FrameHeaderLen:], h.Length)
		for i := range c.memo {
			if c.memo[i].key == key && c.memo[i].length == h.Length {
				return c.apply(h.Stream, &c.memo[i].fields, h.Flags&FlagEndStream != 0)
			}
		}
	}
	return c.headersSlow(h, b[FrameHeaderLen:FrameHeaderLen+h.Length])
}

// blockKey returns the first n bytes of b as a number. n must be in the range 1 to memoLen.
func blockKey(b []byte, n int) (key uint64) {
	if len(b) >= memoLen { // mask the bytes after the block
		return binary.LittleEndian.Uint64(b) & (1<<(8*uint(n)) - 1)
	}
	for i, x := range b[:n] {
		key |= uint64(x) << (8 * i)
	}
	return key
}

func (c *Conn) headersSlow(h FrameHeader, p []byte) error {
	if h.Flags&FlagPadded != 0 {
		if len(p) == 0 || int(p[0]) >= len(p) {
			return errPadding
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if h.Flags&FlagPriority != 0 {
		if len(p) < 5 {
			return errFrame(h)
		}
		p = p[5:]
	}
	if h.Stream == 0 {
		return errFrame(h)
	}
	if h.Flags&FlagEndHeaders == 0 {
		c.blockStream, c.blockEndsStream = h.Stream, h.Flags&FlagEndStream != 0
		c.block = append(c.block[:0], p...)
		return nil
	}
	return c.decode(h.Stream, p, h.Flags&FlagEndStream != 0)
}

// continuation handles a CONTINUATION frame.
func (c *Conn) continuation(h FrameHeader, p []byte) error {
	if c.blockStream == 0 {
		return errFrame(h)
	}
	if len(c.block)+len(p) > maxBlock {
		return fmt.Errorf("the server sent more than %d bytes of headers for one response", maxBlock)
	}
	c.block = append(c.block, p...)
	if h.Flags&FlagEndHeaders == 0 {
		return nil
	}
	id := c.blockStream
	c.blockStream = 0
	return c.decode(id, c.block, c.blockEndsStream)
}

// decode decodes a complete header block. It must decode even the block of a closed stream, because
// any block can change the dynamic table.
func (c *Conn) decode(id uint32, block []byte, end bool) error {
	c.fields = fields{grpc: -1}
	c.dec.SetEmitEnabled(true)
	if _, err := c.dec.Write(block); err != nil {
		return fmt.Errorf("the server sent headers that cannot be decoded: %w", err)
	}
	if err := c.dec.Close(); err != nil {
		return fmt.Errorf("the server sent headers that cannot be decoded: %w", err)
	}
	f := c.fields
	if f.size > MaxHeaderList {
		return fmt.Errorf("the server sent more than %d bytes of headers for one response", MaxHeaderList)
	}
	if key, ok := memoKey(block); ok {
		c.memo[c.memoNext] = memo{key, len(block), f}
		c.memoNext = (c.memoNext + 1) % len(c.memo)
	} else {
		c.memo = [4]memo{} // the dynamic table may have changed
	}
	return c.apply(id, &f, end)
}

// memoKey returns the key of a block. ok is false if the block cannot be remembered.
func memoKey(block []byte) (key uint64, ok bool) {
	if len(block) == 0 || len(block) > memoLen {
		return 0, false
	}
	for _, b := range block {
		if b <= 0x80 || b == 0xff { // not a reference, or a reference of more than one byte
			return 0, false
		}
	}
	return blockKey(block, len(block)), true
}

// takeField receives each decoded field from the HPACK decoder.
func (c *Conn) takeField(f hpack.HeaderField) {
	if c.fields.size += len(f.Name) + len(f.Value) + fieldOverhead; c.fields.size > MaxHeaderList {
		c.dec.SetEmitEnabled(false) // the method decode reports the error at the end of the block
		return
	}
	switch f.Name {
	case ":status":
		n, err := strconv.ParseUint(f.Value, 10, 16)
		if err != nil {
			n = 500
		}
		c.fields.status = int32(n)
	case "content-type":
		const want = "application/grpc"
		c.fields.isGRPC = len(f.Value) >= len(want) && f.Value[:len(want)] == want
		if !c.fields.isGRPC {
			c.fields.content = f.Value[:min(len(f.Value), 200)]
		}
	case "grpc-status":
		n, err := strconv.ParseUint(f.Value, 10, 16)
		if err != nil {
			n = StatusUnknown
		}
		c.fields.grpc = int32(n)
	case "grpc-message":
		c.fields.text = unescape(f.Value[:min(len(f.Value), MaxErrorText)])
	}
}

// apply processes the decoded header block of a stream.
func (c *Conn) apply(id uint32, f *fields, end bool) error {
	s := c.find(id)
	if s == nil || f.status >= 100 && f.status < 200 {
		// The fields of a normal response to a canceled call have less than 1 KiB, so such a
		// response counts as zero idle frames.
		if err := c.countIdle(f.size >> 10); err != nil {
			return err
		}
	}
	if s == nil {
		return c.checkClosed(FrameHeader{Stream: id})
	}
	if s.state&gotHeaders != 0 { // trailers
		if !end {
			return errors.New("the server violated HTTP/2: the trailers did not end the response")
		}
		c.finish(s, f)
		return nil
	}
	switch {
	case f.status >= 100 && f.status < 200 && !end: // informational; the real response follows
		return c.countIdle(1)
	case f.grpc >= 0 && end: // a response that consists only of trailers
		c.finish(s, f)
	case f.status != 200 || !f.isGRPC:
		c.notGRPC(s, f, end)
	case end:
		c.finish(s, f)
	default:
		s.state |= gotHeaders
	}
	return nil
}

// notGRPC ends a call if the response is not gRPC, for example if it is from a web server or proxy.
func (c *Conn) notGRPC(s *stream, f *fields, end bool) {
	if !end && s.state&isBlocked == 0 {
		c.out = AppendRSTStream(c.out, s.id, ErrCodeCancel)
	}
	text := fmt.Sprintf("the server answered with HTTP status %d and content-type %.100q, not with gRPC", f.status, f.content)
	c.endCall(s, Reply{Tag: s.tag, Sub: s.sub, Code: statusOfHTTP(int(f.status)), Text: []byte(text)})
}
