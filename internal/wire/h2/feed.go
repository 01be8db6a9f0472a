package h2

import (
	"errors"
	"fmt"
)

// What a server that is no HTTP/2 server said.
var (
	ErrHTTP1 = errors.New("the server answered with HTTP/1, not HTTP/2")
	ErrTLS   = errors.New("the server answered with a TLS alert: it wants TLS, or other certificates")
)

// Feed takes what was read and returns the calls that ended; the slice and
// what it points to are valid until the next Feed, and while in is not reused.
// An error is the connection's end; calls that ended before it are returned
// with it.
func (c *Conn) Feed(in []byte) ([]Reply, error) {
	c.replies = c.replies[:0]
	if c.err != nil {
		return nil, c.err
	}
	for i, b := range c.retired {
		c.release(b)
		c.retired[i] = nil
	}
	c.retired, c.held = c.retired[:0], c.held[:0]
	err := c.feed(in)
	if c.nheld > 0 {
		c.keepHeld()
	}
	if c.unacked >= MaxWindow/2 {
		c.out = AppendWindowUpdate(c.out, 0, uint32(c.unacked))
		c.unacked = 0
	}
	if len(c.blocked) > 0 {
		c.pump()
	}
	if err != nil {
		err = c.fail(err)
	}
	return c.replies, err
}

// feed parses frames where they lie. Only one that is not whole is copied: its
// beginning waits for the next call.
func (c *Conn) feed(in []byte) error {
	if !c.greeted {
		if err := c.checkGreeting(in); err != nil {
			return err
		}
	}
	in, err := c.completePartial(in)
	if err != nil {
		return err
	}
	for len(in) >= FrameHeaderLen {
		h := ParseFrameHeader(in)
		if h.Length > DefaultMaxFrameSize {
			return errFrameLength(h)
		}
		size := FrameHeaderLen + h.Length
		if len(in) < size {
			break
		}
		if err := c.frame(h, in); err != nil {
			return err
		}
		in = in[size:]
	}
	if len(in) > 0 {
		// The other buffer: answers of this call may lie in the one just used.
		c.turn ^= 1
		c.partial[c.turn] = append(c.partial[c.turn][:0], in...)
	}
	return nil
}

// completePartial completes the frame that the last call left, handles it, and
// returns the rest.
func (c *Conn) completePartial(in []byte) ([]byte, error) {
	p := c.partial[c.turn]
	if len(p) == 0 {
		return in, nil
	}
	p, in = fill(p, in, FrameHeaderLen)
	c.partial[c.turn] = p
	if len(p) < FrameHeaderLen {
		return nil, nil
	}
	h := ParseFrameHeader(p)
	if h.Length > DefaultMaxFrameSize {
		return nil, errFrameLength(h)
	}
	p, in = fill(p, in, FrameHeaderLen+h.Length)
	c.partial[c.turn] = p
	if len(p) < FrameHeaderLen+h.Length {
		return nil, nil
	}
	c.partial[c.turn] = p[:0]
	return in, c.frame(h, p)
}

// fill moves bytes from in to p until p has n.
func fill(p, in []byte, n int) (_, rest []byte) {
	take := min(max(0, n-len(p)), len(in))
	return append(p, in[:take]...), in[take:]
}

func errFrameLength(h FrameHeader) error {
	return fmt.Errorf("the server sent an HTTP/2 frame of %d bytes, and more than %d are not allowed",
		h.Length, DefaultMaxFrameSize)
}

// longFrame is how many bytes a DATA frame has at least that is not counted as
// one of a flood: an answer has an end after some thousands of them.
const longFrame = 1 << 10

// frame handles a whole frame; b begins with it and may go on behind it.
func (c *Conn) frame(h FrameHeader, b []byte) error {
	if c.blockOf != 0 && (h.Type != FrameContinuation || h.Stream != c.blockOf) {
		return errors.New("the server broke HTTP/2: a header block was interrupted")
	}
	if h.Length < longFrame || h.Type != FrameData {
		if c.idle++; c.idle > maxIdle {
			return errors.New("the server floods the connection with frames that answer nothing")
		}
	}
	switch h.Type {
	case FrameData:
		return c.data(h, b[FrameHeaderLen:FrameHeaderLen+h.Length])
	case FrameHeaders:
		return c.headers(h, b)
	}
	return c.controlFrame(h, b[FrameHeaderLen:FrameHeaderLen+h.Length])
}

// checkGreeting looks at the first bytes of a server: they must be a SETTINGS
// frame (RFC 9113, section 3.4), and what is known to come instead has a
// sentence of its own.
func (c *Conn) checkGreeting(in []byte) error {
	b := make([]byte, 0, FrameHeaderLen)
	b = append(b, c.partial[c.turn]...)
	b = append(b, in[:min(len(in), max(0, FrameHeaderLen-len(b)))]...)
	switch {
	case len(b) >= 5 && string(b[:5]) == "HTTP/":
		return ErrHTTP1
	case len(b) >= 2 && b[0] == 0x15 && b[1] == 0x03:
		return ErrTLS
	case len(b) < FrameHeaderLen:
		return nil
	}
	h := ParseFrameHeader(b)
	if h.Type != FrameSettings || h.Flags&FlagAck != 0 || h.Stream != 0 || h.Length > DefaultMaxFrameSize {
		return fmt.Errorf("the server does not speak HTTP/2: its first bytes are %q", b)
	}
	return nil
}
