package nullserver

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/store/null"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Limits of what one connection may make the server hold.
const (
	maxHeaders = 64 << 10 // bytes of a header block
	maxRequest = 64 << 20 // bytes of a request, far above etcd's 1.5 MiB
)

// session is the server's side of one connection, without I/O, clock, goroutine
// or lock: bytes in, bytes out, and answers to be sent later.
//
// A request comes as HEADERS and DATA, nearly always one after the other, so
// that the newest stream is kept apart from the map of the others.
type session struct {
	member  *member
	owner   *conn // nil without a network: there are no watches
	script  *null.Script
	arrive  func(now int64) (a null.Action, due int64) // nil: every operation is answered at once
	now     int64                                      // when what is being read arrived
	out     []byte                                     // to be written
	later   []null.Item[*pending]
	closing bool // close the connection when out is written

	greeted  bool
	requests *requestHeaders
	replies  replyHeaders
	block    []byte // of HEADERS that a CONTINUATION goes on with
	blockFor uint32 // the stream of block; 0 for none
	blockEnd bool   // the HEADERS carried END_STREAM
	newest   *stream
	streams  map[uint32]*stream // all open ones but newest, until their request is complete
	spare    []*stream
	last     uint32 // highest stream seen

	open     int    // requests accepted and not ended
	accepted uint64 // requests accepted in all
	goneAway bool   // GOAWAY was sent: no new requests

	received int // bytes not given back to the connection's window yet
	send     sendWindows
	waiting  []*pending          // answers that are due later
	held     map[uint32]struct{} // requests that are never ended
	free     []*pending
	room     room

	maxStreams int // 0 for no limit
}

// newSession begins a connection with a member.
func newSession(m *member, script *null.Script) *session {
	return &session{
		member:   m,
		script:   script,
		requests: newRequestHeaders(),
		streams:  map[uint32]*stream{},
		held:     map[uint32]struct{}{},
		send:     sendWindows{connection: h2.DefaultWindow, initial: h2.DefaultWindow, maxFrame: h2.DefaultMaxFrameSize},
	}
}

var (
	errPreface = errors.New("the client does not begin as HTTP/2 does")
	errEnded   = errors.New("the connection is over")
)

// protocolError ends a connection with GOAWAY.
type protocolError struct {
	code uint32
	text string
}

func (e *protocolError) Error() string {
	return fmt.Sprintf("HTTP/2 error %d: %s", e.code, e.text)
}

func broken(code uint32, text string) error { return &protocolError{code, text} }

// step takes the first complete frame of in and returns its length, 0 when
// there is none. After an error the connection is over.
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
		return 0, broken(h2.ErrCodeFrameSize, "a frame is larger than this server allows")
	}
	end := h2.FrameHeaderLen + f.Length
	if len(in) < end {
		return 0, nil
	}
	if s.blockFor != 0 && (f.Type != h2.FrameContinuation || f.Stream != s.blockFor) {
		return 0, broken(h2.ErrCodeProtocol, "another frame stands inside a header block")
	}
	return end, s.frame(f, in[h2.FrameHeaderLen:end])
}

// greet takes the preface and answers with the server's settings.
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
			return broken(h2.ErrCodeFrameSize, "a PING does not have 8 bytes")
		}
		if f.Flags&h2.FlagAck == 0 {
			s.out = h2.AppendPing(s.out, h2.FlagAck, p)
		}
	case h2.FrameWindowUpdate:
		return s.windowUpdate(f, p)
	case h2.FrameRSTStream:
		return s.reset(f)
	case h2.FramePushPromise:
		return broken(h2.ErrCodeProtocol, "a client cannot push")
	}
	return nil // PRIORITY, GOAWAY and what is unknown change nothing here
}
