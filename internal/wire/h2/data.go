package h2

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
)

// data handles a DATA frame. If the frame contains a complete message, data leaves the message in
// the input buffer. Otherwise it collects the parts of the message in a separate buffer.
func (c *Conn) data(h FrameHeader, p []byte) error {
	c.unacked += len(p)
	if h.Flags&FlagPadded != 0 {
		if len(p) == 0 || int(p[0]) >= len(p) {
			return errPadding
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if len(p) == 0 && h.Flags&FlagEndStream == 0 {
		if err := c.countIdle(1); err != nil {
			return err
		}
	}
	s := c.find(h.Stream)
	if s == nil {
		return c.checkClosed(h)
	}
	if s.state&gotHeaders == 0 {
		return errors.New("the server violated HTTP/2: it sent DATA before HEADERS")
	}
	if s.state&isLong != 0 {
		return c.messages(s, h, p)
	}
	if len(p) >= prefixLen && s.prefixBytes == 0 && p[0] == 0 && int(binary.BigEndian.Uint32(p[1:])) == len(p)-prefixLen {
		s.prefixBytes = prefixLen
		s.msg = p[prefixLen:]
		s.state |= isComplete | isInPlace
		c.inPlaceStreams = append(c.inPlaceStreams, s.id)
		c.inPlaceCount++
	} else if err := c.assemble(s, p); err != nil {
		return err
	}
	if h.Flags&FlagEndStream != 0 {
		c.finish(s, &fields{grpc: -1})
	}
	return nil
}

var errPadding = errors.New("the server violated HTTP/2: a frame's padding is longer than the frame")

// assemble appends p, the next part of a call's message, to the parts that have already arrived.
func (c *Conn) assemble(s *stream, p []byte) error {
	n := copy(s.prefix[s.prefixBytes:], p)
	s.prefixBytes += uint8(n)
	p = p[n:]
	if s.prefixBytes < prefixLen {
		return nil
	}
	if s.prefix[0] != 0 {
		return errors.New("the server sent a compressed gRPC message, although the client accepts no compression")
	}
	length := int64(binary.BigEndian.Uint32(s.prefix[1:]))
	if length > int64(c.maxMessage) {
		return fmt.Errorf("the server announced a response of %d bytes, but at most %d bytes are accepted",
			length, c.maxMessage)
	}
	if s.state&isComplete != 0 {
		if len(p) > 0 {
			return errSecondMessage
		}
		return nil
	}
	if int64(len(s.msg))+int64(len(p)) > length {
		return errSecondMessage
	}
	s.state |= isPooled
	var err error
	s.msg, err = c.budget.Append(s.msg, p, int(length))
	if int64(len(s.msg)) == length {
		s.state |= isComplete
	}
	return err
}

var errSecondMessage = errors.New("the server sent more than one message in response to a unary call")

// keepHeld copies messages out of the input if their calls did not end in this Feed. The copy is
// necessary because the caller will reuse the input.
func (c *Conn) keepHeld() (failed error) {
	for _, id := range c.inPlaceStreams {
		s := c.find(id)
		if s == nil || s.state&isInPlace == 0 {
			continue
		}
		kept, err := c.budget.Append(nil, s.msg, len(s.msg))
		failed = cmp.Or(failed, err)
		s.msg = kept
		s.state = s.state&^isInPlace | isPooled
	}
	c.inPlaceCount = 0
	return failed
}

// checkClosed returns an error if the frame's stream was never opened. A frame for a closed stream
// is allowed, because the call may have been canceled, or the server may have answered before it
// received the whole request.
func (c *Conn) checkClosed(h FrameHeader) error {
	if h.Stream&1 == 0 || h.Stream >= c.next {
		return fmt.Errorf("the server violated HTTP/2: it sent a frame for stream %d, which was never opened", h.Stream)
	}
	return nil
}

// finish ends a call. f contains the fields of the call's last header block.
func (c *Conn) finish(s *stream, f *fields) {
	if s.state&isLong != 0 {
		c.finishLong(s, f)
		return
	}
	if f.grpc == StatusOK && s.state&(isComplete|isBlocked) == isComplete {
		c.replies = append(c.replies, Reply{Tag: s.tag, Sub: s.sub, Body: s.msg})
		c.closeStream(s)
		return
	}
	r := Reply{Tag: s.tag, Sub: s.sub, Code: uint32(f.grpc), Text: f.text}
	switch {
	case f.grpc == StatusOK && s.state&isComplete != 0:
		r.Body = s.msg
	case f.grpc == StatusOK:
		r.Code, r.Text = StatusInternal, []byte("the server returned status OK without a message")
	case f.grpc < 0:
		r.Code, r.Text = StatusUnknown, []byte("the server ended the response without a gRPC status")
	}
	c.endCall(s, r)
}

// endCall ends a call with the reply r. If the server responded before it received the whole
// request, endCall resets the stream, because the client will not send the rest of the request.
func (c *Conn) endCall(s *stream, r Reply) {
	if s.state&isBlocked != 0 {
		c.out = AppendRSTStream(c.out, s.id, ErrCodeCancel)
	}
	c.replies = append(c.replies, r)
	c.closeStream(s)
}
