package nullserver

import (
	"encoding/binary"
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
	run     *null.Run // nil: every operation is answered at once
	script  *null.Script
	counts  *Counts // nil: nobody counts
	now     int64   // when what is being read arrived
	out     []byte  // to be written
	later   []*pending
	first   bool // the script's first operation came here
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

	receive receiveWindow
	send    sendWindows
	waiting []*pending          // answers that are due later
	held    map[uint32]struct{} // requests that are never ended
	free    []*pending
	room    room

	maxStreams int // 0 for no limit
}

// newSession begins a connection with a member. window is the size of the
// windows that the client is given, in bytes.
func newSession(m *member, window int64) *session {
	return &session{
		member:   m,
		script:   &null.Script{},
		requests: newRequestHeaders(),
		streams:  map[uint32]*stream{},
		held:     map[uint32]struct{}{},
		receive:  newReceiveWindow(window),
		send:     newSendWindows(),
	}
}

// stream is a request that is not complete yet.
type stream struct {
	id       uint32
	call     call
	body     []byte
	extra    int64 // what the client added to its window for the answer
	received int64 // bytes not given back to the client's window yet
	limit    int64 // the most that received may be
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
	settings := []h2.Setting{{ID: h2.SettingInitialWindowSize, Value: uint32(s.receive.stream)}}
	if s.maxStreams > 0 {
		settings = append(settings, h2.Setting{ID: h2.SettingMaxConcurrentStreams, Value: uint32(s.maxStreams)})
	}
	s.out = h2.AppendSettings(s.out, settings...)
	if more := s.receive.connection - h2.DefaultWindow; more > 0 {
		s.out = h2.AppendWindowUpdate(s.out, 0, uint32(more))
	}
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

// unpad takes the padding of a DATA or HEADERS frame off.
func unpad(f h2.FrameHeader, p []byte) ([]byte, error) {
	if f.Flags&h2.FlagPadded == 0 {
		return p, nil
	}
	if len(p) == 0 || int(p[0]) >= len(p) {
		return nil, broken(h2.ErrCodeProtocol, "a frame is all padding")
	}
	return p[1 : len(p)-int(p[0])], nil
}

func (s *session) headers(f h2.FrameHeader, p []byte) error {
	if f.Stream%2 == 0 {
		return broken(h2.ErrCodeProtocol, "a request has a stream number that no client may use")
	}
	p, err := unpad(f, p)
	if err != nil {
		return err
	}
	if f.Flags&h2.FlagPriority != 0 {
		if len(p) < 5 {
			return broken(h2.ErrCodeFrameSize, "a HEADERS frame is too short for its priority")
		}
		p = p[5:]
	}
	ended := f.Flags&h2.FlagEndStream != 0
	if f.Flags&h2.FlagEndHeaders != 0 {
		return s.request(f.Stream, p, ended)
	}
	s.blockFor, s.blockEnd = f.Stream, ended
	s.block = append(s.block[:0], p...)
	return nil
}

func (s *session) continuation(f h2.FrameHeader, p []byte) error {
	if s.blockFor == 0 {
		return broken(h2.ErrCodeProtocol, "a CONTINUATION continues nothing")
	}
	s.block = append(s.block, p...)
	if len(s.block) > maxHeaders {
		return broken(h2.ErrCodeEnhanceCalm, "a header block is too long")
	}
	if f.Flags&h2.FlagEndHeaders == 0 {
		return nil
	}
	s.blockFor = 0
	return s.request(f.Stream, s.block, s.blockEnd)
}

// request takes a complete header block.
func (s *session) request(id uint32, block []byte, ended bool) error {
	c, err := s.requests.decode(block)
	if err != nil {
		return broken(h2.ErrCodeCompression, "a header block cannot be decoded")
	}
	if id <= s.last {
		st := s.find(id)
		if st == nil {
			return broken(h2.ErrCodeStreamClosed, "a stream is used twice")
		}
		if ended { // trailers
			s.complete(st, nil)
		}
		return nil
	}
	s.last = id
	if s.goneAway {
		return nil // GOAWAY said that it is not processed
	}
	if s.maxStreams > 0 && s.open >= s.maxStreams {
		s.out = h2.AppendRSTStream(s.out, id, h2.ErrCodeRefusedStream)
		return nil
	}
	s.open++
	s.accepted++
	if g := s.script.GoAway; g > 0 && s.accepted == g {
		s.goneAway = true
		s.out = h2.AppendGoAway(s.out, id, h2.ErrCodeNo)
	}
	if c.method == methodUnknown {
		s.fail(id, errUnimplemented)
		return nil
	}
	st := s.begin(id)
	st.call = c
	if ended {
		s.complete(st, nil)
	}
	return nil
}

// begin makes a stream the newest.
func (s *session) begin(id uint32) *stream {
	if s.newest != nil {
		s.streams[s.newest.id] = s.newest
	}
	var st *stream
	if n := len(s.spare); n > 0 {
		st, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		st = &stream{}
	}
	*st = stream{id: id, body: st.body[:0], limit: s.receive.streamLimit()}
	s.newest = st
	return st
}

// find returns an open stream whose request is not complete, or nil.
func (s *session) find(id uint32) *stream {
	if st := s.newest; st != nil && st.id == id {
		return st
	}
	return s.streams[id]
}

// forget takes a stream off.
func (s *session) forget(st *stream) {
	if s.newest == st {
		s.newest = nil
	} else {
		delete(s.streams, st.id)
	}
	if cap(st.body) > keepBuffer {
		st.body = nil
	}
	s.spare = append(s.spare, st)
}

// keepBuffer is the largest buffer that is kept for the next use.
const keepBuffer = 64 << 10

// data takes a part of a request's message.
func (s *session) data(f h2.FrameHeader, p []byte) error {
	if f.Stream == 0 || f.Stream > s.last {
		return broken(h2.ErrCodeProtocol, "DATA came on a stream that is not open")
	}
	if err := s.consume(f.Length); err != nil {
		return err
	}
	p, err := unpad(f, p)
	if err != nil {
		return err
	}
	st := s.find(f.Stream)
	if st == nil {
		return nil // it was answered or reset already
	}
	ended := f.Flags&h2.FlagEndStream != 0
	if err := s.consumeStream(st, f.Length, ended); err != nil {
		return err
	}
	if ended && len(st.body) == 0 {
		s.complete(st, p)
		return nil
	}
	if len(st.body)+len(p) > maxRequest {
		s.forget(st)
		s.fail(f.Stream, errTooLarge)
		return nil
	}
	st.body = append(st.body, p...)
	if ended {
		s.complete(st, st.body)
	}
	return nil
}

// complete takes a request whose message, with its prefix, is in body.
func (s *session) complete(st *stream, body []byte) {
	id, c, extra := st.id, st.call, st.extra
	s.forget(st)
	const prefix = 5 // a flag for compression and the length
	switch {
	case len(body) >= prefix && body[0] != 0:
		s.fail(id, errCompressed)
	case len(body) < prefix || uint64(binary.BigEndian.Uint32(body[1:])) != uint64(len(body)-prefix):
		s.fail(id, errMalformed)
	default:
		s.call(id, c, extra, body[prefix:])
	}
}

// reset takes the client's word that it wants no answer any more.
func (s *session) reset(f h2.FrameHeader) error {
	if f.Length != 4 {
		return broken(h2.ErrCodeFrameSize, "an RST_STREAM does not have 4 bytes")
	}
	if f.Stream == 0 || f.Stream > s.last {
		return broken(h2.ErrCodeProtocol, "a stream that is not open is reset")
	}
	if st := s.find(f.Stream); st != nil {
		s.forget(st)
		s.ended()
		return nil
	}
	s.cancel(f.Stream)
	return nil
}

// ended counts one request less.
func (s *session) ended() {
	s.open--
	if s.goneAway && s.open == 0 {
		s.closing = true
	}
}
