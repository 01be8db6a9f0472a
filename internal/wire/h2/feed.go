package h2

import (
	"cmp"
	"errors"
	"fmt"
)

// Errors for servers that speak another protocol.
var (
	ErrHTTP1 = errors.New("the server answered with HTTP/1, not HTTP/2")
	ErrTLS   = errors.New("the server answered with a TLS alert: it expects TLS, or a different client certificate")
)

// Feed parses bytes that the caller has read, and returns replies for the calls that ended. The
// returned slice and its contents are valid until the next Feed, provided that the caller does not
// overwrite the input. Even if it returns an error, Feed returns the replies that preceded the
// error. After an error the connection is unusable.
func (c *Conn) Feed(in []byte) ([]Reply, error) {
	c.replies = c.replies[:0]
	c.budget.Recycle()
	if c.err != nil {
		return nil, c.err
	}
	c.inPlaceStreams = c.inPlaceStreams[:0]
	err := c.feed(in)
	if c.inPlaceCount > 0 {
		err = cmp.Or(err, c.keepHeld())
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

// feed parses the frames in the input buffer. If the input ends in the middle of a frame, feed
// keeps a copy of the frame's beginning. The next call completes the frame.
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
	frameLen := 0
	for len(in) >= FrameHeaderLen {
		h := ParseFrameHeader(in)
		if h.Length > DefaultMaxFrameSize {
			return errFrameLength(h)
		}
		if frameLen = FrameHeaderLen + h.Length; len(in) < frameLen {
			break
		}
		if err := c.frame(h, in); err != nil {
			return err
		}
		in, frameLen = in[frameLen:], 0
	}
	if len(in) > 0 {
		c.partial, err = c.budget.Append(nil, in, frameLen)
	}
	return err
}

// completePartial appends input to the incomplete frame from the last call, and handles the frame
// once it is complete. It returns the rest of the input.
func (c *Conn) completePartial(in []byte) (_ []byte, err error) {
	if len(c.partial) == 0 {
		return in, nil
	}
	if c.partial, in, err = c.budget.Fill(c.partial, in, FrameHeaderLen, 0); err != nil || len(c.partial) < FrameHeaderLen {
		return nil, err
	}
	h := ParseFrameHeader(c.partial)
	if h.Length > DefaultMaxFrameSize {
		return nil, errFrameLength(h)
	}
	frameLen := FrameHeaderLen + h.Length
	if c.partial, in, err = c.budget.Fill(c.partial, in, frameLen, frameLen); err != nil || len(c.partial) < frameLen {
		return nil, err
	}
	p := c.partial
	c.partial = nil
	c.budget.Release(p) // the contents of p stay valid until the next Feed
	return in, c.frame(h, p)
}

func errFrameLength(h FrameHeader) error {
	return fmt.Errorf("the server sent an HTTP/2 frame of %d bytes, but at most %d bytes are allowed",
		h.Length, DefaultMaxFrameSize)
}

// frame handles the complete frame at the start of b.
func (c *Conn) frame(h FrameHeader, b []byte) error {
	if c.blockStream != 0 && (h.Type != FrameContinuation || h.Stream != c.blockStream) {
		return errors.New("the server violated HTTP/2: another frame interrupted a header block")
	}
	switch h.Type {
	case FrameData:
		return c.data(h, b[FrameHeaderLen:FrameHeaderLen+h.Length])
	case FrameHeaders:
		return c.headers(h, b)
	}
	return c.controlFrame(h, b[FrameHeaderLen:FrameHeaderLen+h.Length])
}

// checkGreeting checks the first bytes that the server sends, which must be a SETTINGS frame (RFC
// 9113, section 3.4). If the bytes are an HTTP/1 response or a TLS alert, checkGreeting returns a
// specific error.
func (c *Conn) checkGreeting(in []byte) error {
	b := make([]byte, 0, FrameHeaderLen)
	b = append(b, c.partial...)
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
