package h2

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// controlFrame handles every frame except DATA and HEADERS.
func (c *Conn) controlFrame(h FrameHeader, p []byte) error {
	if err := c.countIdle(1); err != nil {
		return err
	}
	switch h.Type {
	case FrameSettings:
		return c.settings(h, p)
	case FrameWindowUpdate:
		return c.windowUpdate(h, p)
	case FramePing:
		return c.ping(h, p)
	case FrameRSTStream:
		return c.rstStream(h, p)
	case FrameGoAway:
		return c.goAway(h, p)
	case FrameContinuation:
		return c.continuation(h, p)
	case FramePushPromise:
		return errors.New("the server violated HTTP/2: it sent a push, although the client disabled pushes")
	case FramePriority:
		if h.Stream == 0 || len(p) != 5 {
			return errFrame(h)
		}
	}
	return nil // frames of other types are ignored (RFC 9113, section 4.1)
}

// countControl counts an acknowledgement in the output. It returns an error if too many
// acknowledgements wait to be written. Without this limit, a server that sends control frames but
// reads nothing could fill the client's memory.
func (c *Conn) countControl() error {
	if c.control++; c.control > maxControl {
		return errors.New("the server floods the connection with control frames")
	}
	return nil
}

func (c *Conn) settings(h FrameHeader, p []byte) error {
	if h.Stream != 0 || len(p)%6 != 0 || (h.Flags&FlagAck != 0 && len(p) > 0) {
		return errFrame(h)
	}
	if h.Flags&FlagAck != 0 {
		return nil
	}
	if !c.greeted {
		c.greeted, c.limit = true, 1<<31-1 // unlimited without this setting
	}
	for ; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.out = AppendFrameHeader(c.out, 0, FrameSettings, FlagAck, 0)
	return c.countControl()
}

func (c *Conn) setting(id uint16, value uint32) error {
	switch id {
	case SettingHeaderTableSize:
		c.enc.resize(value)
	case SettingMaxConcurrentStreams:
		c.limit = int(min(value, 1<<31-1))
	case SettingMaxFrameSize:
		if value < DefaultMaxFrameSize || value > 1<<24-1 {
			return fmt.Errorf("the server violated HTTP/2: a maximum frame size of %d bytes is not allowed", value)
		}
		c.maxFrame = int(value)
	case SettingInitialWindowSize:
		if value > MaxWindow {
			return errWindow
		}
		change := int64(value) - c.streamStart
		c.streamStart = int64(value)
		for i := range c.blocked {
			if c.blocked[i].window += change; c.blocked[i].window > MaxWindow {
				return errWindow
			}
		}
		return c.moveWindows(change)
	}
	return nil
}

var errWindow = errors.New("the server violated HTTP/2: a window is larger than 2^31-1 bytes")

func (c *Conn) windowUpdate(h FrameHeader, p []byte) error {
	if len(p) != 4 {
		return errFrame(h)
	}
	n := int64(binary.BigEndian.Uint32(p) & MaxWindow)
	if n == 0 {
		return errFrame(h)
	}
	if h.Stream == 0 {
		if c.connWindow += n; c.connWindow > MaxWindow {
			return errWindow
		}
		return nil
	}
	s := c.find(h.Stream)
	if s == nil {
		return c.checkClosed(h)
	}
	if s.state&isBlocked == 0 {
		if s.state&isLong == 0 {
			return nil // the request is already written, so the stream's window no longer matters
		}
		if s.window += n; s.window > MaxWindow {
			return errWindow
		}
		return nil
	}
	for i := range c.blocked {
		if b := &c.blocked[i]; b.id == s.id {
			if b.window += n; b.window > MaxWindow {
				return errWindow
			}
		}
	}
	return nil
}

func (c *Conn) ping(h FrameHeader, p []byte) error {
	if h.Stream != 0 || len(p) != 8 {
		return errFrame(h)
	}
	if h.Flags&FlagAck != 0 {
		return nil
	}
	c.out = AppendPing(c.out, FlagAck, p)
	return c.countControl()
}

func (c *Conn) rstStream(h FrameHeader, p []byte) error {
	if len(p) != 4 || h.Stream == 0 {
		return errFrame(h)
	}
	s := c.find(h.Stream)
	if s == nil {
		return c.checkClosed(h)
	}
	code := binary.BigEndian.Uint32(p)
	r := Reply{Tag: s.tag, Sub: s.sub, End: Reset, Code: code}
	if code == ErrCodeRefusedStream {
		r.End = Refused
	}
	r.Text = []byte("the server reset the stream: " + ErrCodeName(code))
	c.replies = append(c.replies, r)
	c.closeStream(s)
	return nil
}

// goAway handles a GOAWAY frame. After it, the connection opens no further streams. The frame
// contains the ID of the last stream that the server may have processed. The server has not
// processed streams with higher IDs, so goAway ends them (RFC 9113, section 6.8). The other streams
// continue.
func (c *Conn) goAway(h FrameHeader, p []byte) error {
	if h.Stream != 0 || len(p) < 8 {
		return errFrame(h)
	}
	if c.goAways++; c.goAways > MaxGoAways {
		return errors.New("the server floods the connection with GOAWAY frames")
	}
	c.draining = true
	last := binary.BigEndian.Uint32(p) & LastStreamID
	code := binary.BigEndian.Uint32(p[4:])
	c.goAwayText = "the server announced that it closes the connection: " + ErrCodeName(code)
	if debug := p[8:]; len(debug) > 0 {
		c.goAwayText += fmt.Sprintf(" (%q)", debug[:min(len(debug), 200)])
	}
	text := []byte(c.goAwayText)
	c.eachInOrder(func(s *stream) {
		if s.id > last {
			c.replies = append(c.replies, Reply{Tag: s.tag, Sub: s.sub, End: Unprocessed, Code: code, Text: text})
			c.closeStream(s)
		}
	})
	return nil
}
