package nullserver

import (
	"encoding/binary"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// receiveWindow is how much the client may send (RFC 9113, section 5.2). What
// was received is given back when it is half a window.
type receiveWindow struct {
	connection int64 // the connection's window when nothing is owed
	stream     int64 // each stream's, once the client knows the settings
	received   int64 // not given back yet
	settled    bool  // the client has acknowledged the settings
}

// newReceiveWindow makes windows of the given size; a connection's cannot be
// below the protocol's default.
func newReceiveWindow(size int64) receiveWindow {
	return receiveWindow{connection: max(size, h2.DefaultWindow), stream: size}
}

// streamLimit is the window of a stream that begins now. A client that has not
// seen the settings may still use the default.
func (r *receiveWindow) streamLimit() int64 {
	if r.settled {
		return r.stream
	}
	return max(r.stream, h2.DefaultWindow)
}

// consume takes n bytes of DATA, padding included, off the connection's window.
func (s *session) consume(n int) error {
	r := &s.receive
	r.received += int64(n)
	if r.received > r.connection {
		return broken(h2.ErrCodeFlowControl, "the client sends more than the connection's window allows")
	}
	if r.received >= r.connection/2 {
		s.out = h2.AppendWindowUpdate(s.out, 0, uint32(r.received))
		r.received = 0
	}
	return nil
}

// consumeStream takes n bytes off a stream's window.
func (s *session) consumeStream(st *stream, n int, ended bool) error {
	st.received += int64(n)
	if st.received > st.limit {
		return broken(h2.ErrCodeFlowControl, "the client sends more than a stream's window allows")
	}
	if !ended && st.received > 0 && st.received >= s.receive.stream/2 {
		s.out = h2.AppendWindowUpdate(s.out, st.id, uint32(st.received))
		st.received = 0
	}
	return nil
}

// sendWindows is how much the server may send.
type sendWindows struct {
	connection int64
	initial    int64      // of a stream
	maxFrame   int        // payload bytes
	blocked    []*pending // answers begun, that wait for a window
}

func newSendWindows() sendWindows {
	return sendWindows{connection: h2.DefaultWindow, initial: h2.DefaultWindow, maxFrame: h2.DefaultMaxFrameSize}
}

// settings takes the client's settings.
func (s *session) settings(f h2.FrameHeader, p []byte) error {
	if f.Stream != 0 {
		return broken(h2.ErrCodeProtocol, "SETTINGS came on a stream")
	}
	if f.Flags&h2.FlagAck != 0 {
		s.receive.settled = true
		return nil
	}
	if len(p)%6 != 0 {
		return broken(h2.ErrCodeFrameSize, "SETTINGS are cut off")
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
			return broken(h2.ErrCodeFlowControl, "the initial window is too large")
		}
		for _, p := range s.send.blocked {
			p.window += int64(v) - s.send.initial
		}
		s.send.initial = int64(v)
	case h2.SettingMaxFrameSize:
		if v < h2.DefaultMaxFrameSize || v > 1<<24-1 {
			return broken(h2.ErrCodeProtocol, "the largest frame size is out of range")
		}
		s.send.maxFrame = int(v)
	}
	return nil
}

// windowUpdate takes what the client gives back.
func (s *session) windowUpdate(f h2.FrameHeader, p []byte) error {
	if len(p) != 4 {
		return broken(h2.ErrCodeFrameSize, "a WINDOW_UPDATE does not have 4 bytes")
	}
	increment := int64(binary.BigEndian.Uint32(p) & h2.MaxWindow)
	switch {
	case increment == 0:
		return broken(h2.ErrCodeProtocol, "a window is enlarged by nothing")
	case f.Stream > s.last:
		return broken(h2.ErrCodeProtocol, "the window of a stream that is not open is enlarged")
	}
	window := &s.send.connection
	if f.Stream != 0 {
		window = s.streamWindow(f.Stream)
	}
	if window == nil {
		return nil // the answer is gone already
	}
	if *window += increment; *window > h2.MaxWindow {
		return broken(h2.ErrCodeFlowControl, "a window grows too large")
	}
	s.pump()
	return nil
}

// streamWindow is where a stream's window is kept, nil when nobody needs it
// any more. Only answers that have begun keep the whole of it; before that it
// is what was added to the initial window.
func (s *session) streamWindow(id uint32) *int64 {
	for _, p := range s.send.blocked {
		if p.stream == id {
			return &p.window
		}
	}
	if st := s.find(id); st != nil {
		return &st.extra
	}
	for _, p := range s.waiting {
		if p.stream == id {
			return &p.window
		}
	}
	return nil
}

// pump sends what the windows allow of the answers that wait for them, oldest
// first.
func (s *session) pump() {
	kept := s.send.blocked[:0]
	for _, p := range s.send.blocked {
		if s.push(p) {
			s.ended()
			s.recycle(p)
		} else {
			kept = append(kept, p)
		}
	}
	clear(s.send.blocked[len(kept):])
	s.send.blocked = kept
	s.pumpLong()
}

// push sends what the windows allow of one answer that has begun, and reports
// whether it is complete.
func (s *session) push(p *pending) bool {
	for p.sent < len(p.body) {
		n := min(int64(len(p.body)-p.sent), int64(s.send.maxFrame), s.send.connection, p.window)
		if n <= 0 {
			return false
		}
		s.out = h2.AppendFrameHeader(s.out, int(n), h2.FrameData, 0, p.stream)
		s.out = append(s.out, p.body[p.sent:p.sent+int(n)]...)
		p.sent += int(n)
		p.window -= n
		s.send.connection -= n
	}
	s.out = s.replies.appendEnd(s.out, p.stream)
	return true
}
