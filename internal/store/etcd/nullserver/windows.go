package nullserver

import (
	"encoding/binary"
	"slices"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// returnWindow records that n bytes of DATA, including padding, were received. When the received
// bytes reach half of the window, returnWindow sends a window update, which returns the bytes to
// the client. Stream 0 stands for the connection.
func (s *session) returnWindow(received *int, n int, stream uint32) {
	if *received += n; *received >= window/2 {
		s.out = h2.AppendWindowUpdate(s.out, stream, uint32(*received))
		*received = 0
	}
}

// settings applies a SETTINGS frame from the client.
func (s *session) settings(f h2.FrameHeader, p []byte) error {
	if f.Stream != 0 {
		return newProtocolError(h2.ErrCodeProtocol, "a SETTINGS frame is on a stream")
	}
	if f.Flags&h2.FlagAck != 0 {
		return nil
	}
	if len(p)%6 != 0 {
		return newProtocolError(h2.ErrCodeFrameSize, "a SETTINGS frame is cut off")
	}
	for ; len(p) > 0; p = p[6:] {
		if err := s.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	s.out = h2.AppendFrameHeader(s.out, 0, h2.FrameSettings, h2.FlagAck, 0)
	s.pump()
	return nil
}

func (s *session) setting(id uint16, v uint32) error {
	switch id {
	case h2.SettingHeaderTableSize:
		s.replies.plain = s.replies.plain || v < tableSize
	case h2.SettingInitialWindowSize:
		if v > h2.MaxWindow {
			return newProtocolError(h2.ErrCodeFlowControl, "the initial window is too large")
		}
		s.send.initial = int64(v)
	case h2.SettingMaxFrameSize:
		if v < h2.DefaultMaxFrameSize || v > 1<<24-1 {
			return newProtocolError(h2.ErrCodeProtocol, "the maximum frame size is out of range")
		}
		s.send.maxFrame = int(v)
	}
	return nil
}

// windowUpdate applies a WINDOW_UPDATE frame from the client.
func (s *session) windowUpdate(f h2.FrameHeader, p []byte) error {
	if len(p) != 4 {
		return newProtocolError(h2.ErrCodeFrameSize, "a WINDOW_UPDATE does not have 4 bytes")
	}
	increment := int64(binary.BigEndian.Uint32(p) & h2.MaxWindow)
	switch {
	case increment == 0:
		return newProtocolError(h2.ErrCodeProtocol, "a WINDOW_UPDATE has the increment 0")
	case f.Stream > s.last:
		return newProtocolError(h2.ErrCodeProtocol, "a WINDOW_UPDATE is for a stream that is not open")
	}
	window := &s.send.connection
	if f.Stream != 0 {
		window = s.streamWindow(f.Stream)
	}
	if window == nil {
		return nil // the reply was sent already
	}
	if *window += increment; *window > h2.MaxWindow {
		return newProtocolError(h2.ErrCodeFlowControl, "a window grows too large")
	}
	s.pump()
	return nil
}

// streamWindow returns a pointer to the variable that holds the difference between a stream's
// window and the initial window. It returns nil if the window is no longer needed.
func (s *session) streamWindow(id uint32) *int64 {
	for _, p := range s.send.blocked {
		if p.stream == id {
			return &p.window
		}
	}
	if st := s.find(id); st != nil {
		if st.longState != nil {
			return &st.longState.out.window
		}
		return &st.windowGrowth
	}
	for _, p := range s.waiting {
		if p.stream == id {
			return &p.window
		}
	}
	return nil
}

// unblock removes a stream's reply from the replies that wait for a window. It returns the reply,
// or nil if no reply of the stream waits.
func (s *session) unblock(id uint32) *pending {
	i := slices.IndexFunc(s.send.blocked, func(p *pending) bool { return p.stream == id })
	if i < 0 {
		return nil
	}
	p := s.send.blocked[i]
	s.send.blocked = slices.Delete(s.send.blocked, i, i+1)
	return p
}

// pump sends as much of the waiting replies as the client's windows allow, the oldest first.
func (s *session) pump() {
	s.send.blocked = slices.DeleteFunc(s.send.blocked, func(p *pending) bool {
		if !s.push(p) {
			return false
		}
		if !p.long {
			s.ended()
			s.recycle(p)
		}
		return true
	})
}

// push sends as much of a reply as the client's windows allow. It returns true if it has sent
// the whole reply.
func (s *session) push(p *pending) bool {
	for p.sent < len(p.body) {
		n := min(int64(len(p.body)-p.sent), int64(s.send.maxFrame), s.send.connection, s.send.initial+p.window)
		if n <= 0 {
			return false
		}
		s.out = h2.AppendFrameHeader(s.out, int(n), h2.FrameData, 0, p.stream)
		s.out = append(s.out, p.body[p.sent:p.sent+int(n)]...)
		p.sent += int(n)
		p.window -= n
		s.send.connection -= n
	}
	if p.long {
		p.body, p.sent = p.body[:0], 0
	} else {
		s.out = s.replies.appendEnd(s.out, p.stream)
	}
	return true
}

// find returns the open stream with this ID if its request is incomplete or the stream is
// long-lived. Otherwise it returns nil.
func (s *session) find(id uint32) *stream {
	if st := s.newest; st != nil && st.id == id {
		return st
	}
	return s.streams[id]
}

// ended must be called when a request has ended. After GOAWAY was sent, the end of the last request
// closes the connection.
func (s *session) ended() {
	s.open--
	if s.goneAway && s.open == 0 {
		s.closing = true
	}
}
