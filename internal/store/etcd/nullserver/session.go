package nullserver

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// newSession returns the session for a new connection to a member.
func newSession(m *member, script *null.Script) *session {
	return &session{
		member:     m,
		script:     script,
		requests:   newRequestHeaders(),
		streams:    map[uint32]*stream{},
		unanswered: map[uint32]struct{}{},
		send:       sendWindows{connection: h2.DefaultWindow, initial: h2.DefaultWindow, maxFrame: h2.DefaultMaxFrameSize},
	}
}

var (
	errPreface = errors.New("the client did not send the HTTP/2 preface")
	errEnded   = errors.New("the connection has ended")
)

func (e *protocolError) Error() string {
	return fmt.Sprintf("HTTP/2 error %d: %s", e.code, e.text)
}

// step handles the first frame in the input and returns the frame's length. It returns 0 if the
// frame is not complete yet. After an error, the connection must be closed.
func (s *session) step(in []byte) (int, error) {
	if s.closing {
		return 0, errEnded
	}
	if !s.greeted {
		return s.greet(in)
	}
	if len(in) < h2.FrameHeaderLen {
		return 0, nil
	}
	f := h2.ParseFrameHeader(in)
	if f.Length > h2.DefaultMaxFrameSize {
		return 0, newProtocolError(h2.ErrCodeFrameSize, "a frame is larger than this server allows")
	}
	end := h2.FrameHeaderLen + f.Length
	if len(in) < end {
		return 0, nil
	}
	if s.blockFor != 0 && (f.Type != h2.FrameContinuation || f.Stream != s.blockFor) {
		return 0, newProtocolError(h2.ErrCodeProtocol, "another frame is inside a header block")
	}
	return end, s.frame(f, in[h2.FrameHeaderLen:end])
}

// greet checks the preface, which the client sends first, and then sends the server's settings.
func (s *session) greet(in []byte) (int, error) {
	n := min(len(in), len(h2.Preface))
	if string(in[:n]) != h2.Preface[:n] {
		return 0, errPreface
	}
	if n < len(h2.Preface) {
		return 0, nil
	}
	s.greeted = true
	settings := []h2.Setting{{ID: h2.SettingInitialWindowSize, Value: window}}
	if s.maxStreams > 0 {
		settings = append(settings, h2.Setting{ID: h2.SettingMaxConcurrentStreams, Value: uint32(s.maxStreams)})
	}
	s.out = h2.AppendSettings(s.out, settings...)
	s.out = h2.AppendWindowUpdate(s.out, 0, window-h2.DefaultWindow)
	return n, nil
}

func (s *session) frame(f h2.FrameHeader, p []byte) error {
	switch f.Type {
	case h2.FrameData:
		return s.data(f, p)
	case h2.FrameHeaders:
		return s.headers(f, p)
	case h2.FrameContinuation:
		return s.continuation(f, p)
	case h2.FrameSettings:
		return s.settings(f, p)
	case h2.FramePing:
		if f.Length != 8 {
			return newProtocolError(h2.ErrCodeFrameSize, "a PING does not have 8 bytes")
		}
		if f.Flags&h2.FlagAck == 0 {
			s.out = h2.AppendPing(s.out, h2.FlagAck, p)
		}
	case h2.FrameWindowUpdate:
		return s.windowUpdate(f, p)
	case h2.FrameRSTStream:
		return s.reset(f)
	case h2.FramePushPromise:
		return newProtocolError(h2.ErrCodeProtocol, "a client cannot push")
	}
	return nil // PRIORITY, GOAWAY and unknown frames need no response
}
