package nullserver

import (
	"encoding/binary"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// unpad removes the padding of a DATA or HEADERS frame.
func unpad(f h2.FrameHeader, p []byte) ([]byte, error) {
	if f.Flags&h2.FlagPadded == 0 {
		return p, nil
	}
	if len(p) == 0 || int(p[0]) >= len(p) {
		return nil, newProtocolError(h2.ErrCodeProtocol, "a frame consists only of padding")
	}
	return p[1 : len(p)-int(p[0])], nil
}

func (s *session) headers(f h2.FrameHeader, p []byte) error {
	if f.Stream%2 == 0 {
		return newProtocolError(h2.ErrCodeProtocol, "a request has a stream number that no client may use")
	}
	p, err := unpad(f, p)
	if err != nil {
		return err
	}
	if f.Flags&h2.FlagPriority != 0 {
		if len(p) < 5 {
			return newProtocolError(h2.ErrCodeFrameSize, "a HEADERS frame is too short for its priority")
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
		return newProtocolError(h2.ErrCodeProtocol, "received a CONTINUATION frame without a preceding HEADERS frame")
	}
	s.block = append(s.block, p...)
	if len(s.block) > maxHeaders {
		return newProtocolError(h2.ErrCodeEnhanceCalm, "a header block is too long")
	}
	if f.Flags&h2.FlagEndHeaders == 0 {
		return nil
	}
	s.blockFor = 0
	return s.request(f.Stream, s.block, s.blockEnd)
}

// request handles a complete header block. ended is set if the client sends no DATA on the
// stream.
func (s *session) request(id uint32, block []byte, ended bool) error {
	c, err := s.requests.decode(block)
	if err != nil {
		return newProtocolError(h2.ErrCodeCompression, "a header block cannot be decoded")
	}
	if id <= s.last {
		st := s.find(id)
		if st == nil {
			return newProtocolError(h2.ErrCodeStreamClosed, "a stream ID is used twice")
		}
		switch {
		case ended && st.longState != nil:
			s.handleLongData(st, nil, true)
		case ended: // the block contains trailers
			s.complete(st, nil)
		}
		return nil
	}
	s.last = id
	if s.goneAway {
		return nil // the client knows from GOAWAY that this request is not processed
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
	if c.method == nil {
		s.fail(id, errUnimplemented)
		return nil
	}
	st := s.begin(id)
	st.call = c
	switch {
	case c.method.long:
		if s.beginLong(st); st.longState != nil && ended {
			s.handleLongData(st, nil, true)
		}
	case ended:
		s.complete(st, nil)
	}
	return nil
}

// begin creates a stream, which becomes s.newest.
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
	*st = stream{id: id, body: st.body[:0]}
	s.newest = st
	return st
}

// forget removes a stream from the session and keeps its memory for reuse.
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

// data handles a DATA frame, which contains a part of a request's message.
func (s *session) data(f h2.FrameHeader, p []byte) error {
	if f.Stream == 0 || f.Stream > s.last {
		return newProtocolError(h2.ErrCodeProtocol, "a DATA frame is on a stream that is not open")
	}
	s.returnWindow(&s.received, f.Length, 0)
	p, err := unpad(f, p)
	if err != nil {
		return err
	}
	st := s.find(f.Stream)
	if st == nil {
		return nil // the stream was answered or reset already
	}
	ended := f.Flags&h2.FlagEndStream != 0
	if !ended {
		s.returnWindow(&st.received, f.Length, st.id)
	}
	if st.longState != nil {
		s.handleLongData(st, p, ended)
		return nil
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

// complete executes a request whose message is complete. body contains the message with its
// prefix.
func (s *session) complete(st *stream, body []byte) {
	id, c, extra := st.id, st.call, st.windowGrowth
	s.forget(st)
	switch {
	case len(body) >= prefixLen && body[0] != 0:
		s.fail(id, errCompressed)
	case len(body) < prefixLen || uint64(binary.BigEndian.Uint32(body[1:])) != uint64(len(body)-prefixLen):
		s.fail(id, errMalformed)
	default:
		s.call(id, c, extra, body[prefixLen:])
	}
}

// reset handles an RST_STREAM frame, with which the client cancels a stream.
func (s *session) reset(f h2.FrameHeader) error {
	if f.Length != 4 {
		return newProtocolError(h2.ErrCodeFrameSize, "an RST_STREAM does not have 4 bytes")
	}
	if f.Stream == 0 || f.Stream > s.last {
		return newProtocolError(h2.ErrCodeProtocol, "an RST_STREAM is for a stream that is not open")
	}
	if st := s.find(f.Stream); st != nil {
		s.removeLong(st)
		s.ended()
		return nil
	}
	s.cancel(f.Stream)
	return nil
}
