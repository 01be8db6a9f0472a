package h2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// CallObserver receives the calls that a PassiveDecoder decodes. The arguments of a method are
// valid until the method returns.
type CallObserver interface {
	// OnBegin is called when the client starts a call on a stream. method is the called method,
	// such as /etcdserverpb.KV/Put.
	OnBegin(stream uint32, method string)
	// OnMessage is called for each complete message. fromClient is true if the client sent the
	// message. body is nil if the message is compressed or larger than MaxMessage.
	OnMessage(stream uint32, fromClient bool, body []byte, size int)
	// OnEnd is called when the client has sent its last message, with fromClient true and status 0.
	// OnEnd is also called when the call has ended: status is then the gRPC status, or -1 if one
	// side reset the stream, and fromClient is true only if the client reset the stream.
	OnEnd(stream uint32, fromClient bool, status int)
}

// PassiveDecoder is a passive decoder for both directions of an HTTP/2 connection that carries gRPC
// calls. After an error it cannot decode anything further. Only one goroutine may use it.
type PassiveDecoder struct {
	observer   CallObserver
	directions [2]direction // index 0: the client's bytes; index 1: the server's bytes
	streams    map[uint32]*observedCall
	free       []*observedCall
	// last caches the result of the last lookup in `streams`. That lookup was for the stream
	// lastID. The cache saves lookups, because consecutive frames from one side usually belong to
	// the same call.
	last   *observedCall
	lastID uint32
}

// observedCall is a call that has not ended.
type observedCall struct {
	directions [2]messageAssembler
	status     int // gRPC status, or -1 until it arrives
}

// messageAssembler assembles the messages of one direction of a call.
type messageAssembler struct {
	head    [5]byte
	nhead   int
	body    []byte
	missing int // how many bytes of the message are still missing
	size    int
	drop    bool // the body is discarded
}

// direction decodes one direction of the connection.
type direction struct {
	partial    []byte // the beginning of an incomplete frame
	skip       int    // how many bytes of the preface are still missing
	dec        *hpack.Decoder
	block      []byte // an incomplete header block, which continues in CONTINUATION frames
	blockOf    uint32
	endsStream bool
	fields     observedFields
}

type observedFields struct {
	path   string
	status int // gRPC status, or -1 if there is none
	http   int
	size   int
}

// Limits of a PassiveDecoder's memory.
const (
	maxObservedStreams = 100_000
	maxObservedTable   = 1 << 20 // maximum dynamic table size that a peer may allow, in bytes
	maxKeptBody        = 4 << 10 // maximum message buffer that is kept for the next stream, in bytes
	maxKeptStreams     = 256     // maximum number of ended streams that are kept for reuse
)

// NewPassiveDecoder returns a passive decoder for a connection. The decoder must receive the
// connection's traffic starting with the first byte.
func NewPassiveDecoder(observer CallObserver) *PassiveDecoder {
	o := &PassiveDecoder{observer: observer, streams: map[uint32]*observedCall{}}
	for i := range o.directions {
		h := &o.directions[i]
		h.dec = hpack.NewDecoder(decoderTable, h.addField)
		h.dec.SetMaxStringLength(maxBlock)
		h.dec.SetAllowedMaxDynamicTableSize(maxObservedTable)
	}
	o.directions[0].skip = len(Preface)
	return o
}

// stream returns the current call on a stream, or nil if there is none.
func (o *PassiveDecoder) stream(id uint32) *observedCall {
	if o.last == nil || o.lastID != id {
		o.last, o.lastID = o.streams[id], id
	}
	return o.last
}

// begin records a new call on a stream.
func (o *PassiveDecoder) begin(id uint32) *observedCall {
	var s *observedCall
	if n := len(o.free); n > 0 {
		s, o.free = o.free[n-1], o.free[:n-1]
	} else {
		s = &observedCall{}
	}
	s.status = -1
	o.streams[id] = s
	o.last, o.lastID = s, id
	return s
}

// drop removes a call that has ended, and may keep its memory for reuse.
func (o *PassiveDecoder) drop(id uint32, s *observedCall) {
	delete(o.streams, id)
	o.last = nil
	if len(o.free) >= maxKeptStreams {
		return
	}
	for i := range s.directions {
		body := s.directions[i].body[:0]
		if cap(body) > maxKeptBody {
			body = nil
		}
		s.directions[i] = messageAssembler{body: body}
	}
	o.free = append(o.free, s)
}

// Open returns the number of calls that have not ended.
func (o *PassiveDecoder) Open() int { return len(o.streams) }

// Feed decodes bytes that the client sent (if fromClient is true) or that the server sent.
func (o *PassiveDecoder) Feed(fromClient bool, b []byte) error {
	side := 1
	if fromClient {
		side = 0
	}
	h := &o.directions[side]
	for h.skip > 0 && len(b) > 0 {
		if b[0] != Preface[len(Preface)-h.skip] {
			return errors.New("the client does not speak HTTP/2: the connection does not begin with the HTTP/2 preface")
		}
		b = b[1:]
		h.skip--
	}
	if len(h.partial) > 0 {
		h.partial = append(h.partial, b...)
		b = h.partial
	}
	for len(b) >= FrameHeaderLen {
		f := ParseFrameHeader(b)
		if len(b) < FrameHeaderLen+f.Length {
			break
		}
		if err := o.frame(side, f, b[FrameHeaderLen:FrameHeaderLen+f.Length]); err != nil {
			return err
		}
		b = b[FrameHeaderLen+f.Length:]
	}
	h.partial = append(h.partial[:0], b...)
	if cap(h.partial) > 1<<20 && len(h.partial) == 0 {
		h.partial = nil
	}
	return nil
}

// sideName returns the name of a side: 0 is the client, and 1 is the server.
func sideName(side int) string { return [...]string{"the client", "the server"}[side] }

func (o *PassiveDecoder) frame(side int, f FrameHeader, p []byte) error {
	h := &o.directions[side]
	if h.blockOf != 0 && (f.Type != FrameContinuation || f.Stream != h.blockOf) {
		return fmt.Errorf("%s violated HTTP/2: another frame interrupted a header block", sideName(side))
	}
	switch f.Type {
	case FrameData:
		p, err := unpad(f, p)
		if err != nil {
			return err
		}
		return o.data(side, f, p)
	case FrameHeaders:
		p, err := unpad(f, p)
		if err != nil {
			return err
		}
		if f.Flags&FlagPriority != 0 {
			if len(p) < 5 {
				return errFrame(f)
			}
			p = p[5:]
		}
		h.block, h.blockOf, h.endsStream = append(h.block[:0], p...), f.Stream, f.Flags&FlagEndStream != 0
		return o.headers(side, f)
	case FrameContinuation:
		if h.blockOf == 0 {
			return errFrame(f)
		}
		if len(h.block)+len(p) > maxBlock {
			return fmt.Errorf("%s sent more than %d bytes of headers for one call", sideName(side), maxBlock)
		}
		h.block = append(h.block, p...)
		return o.headers(side, f)
	case FrameRSTStream:
		if s := o.stream(f.Stream); s != nil {
			status := -1
			if side == 1 && s.status >= 0 {
				status = s.status
			}
			o.drop(f.Stream, s)
			o.observer.OnEnd(f.Stream, side == 0, status)
		}
	case FramePushPromise:
		return fmt.Errorf("%s sent PUSH_PROMISE, which gRPC does not use", sideName(side))
	}
	return nil
}

// unpad removes a frame's padding.
func unpad(f FrameHeader, p []byte) ([]byte, error) {
	if f.Flags&FlagPadded == 0 {
		return p, nil
	}
	if len(p) == 0 || int(p[0]) >= len(p) {
		return nil, errPadding
	}
	return p[1 : len(p)-int(p[0])], nil
}

// headers processes a header block once it is complete.
func (o *PassiveDecoder) headers(side int, f FrameHeader) error {
	if f.Flags&FlagEndHeaders == 0 {
		return nil
	}
	h := &o.directions[side]
	id := h.blockOf
	h.blockOf = 0
	h.fields = observedFields{status: -1}
	h.dec.SetEmitEnabled(true)
	if _, err := h.dec.Write(h.block); err != nil {
		return fmt.Errorf("%s sent headers that cannot be decoded: %w", sideName(side), err)
	}
	if err := h.dec.Close(); err != nil {
		return fmt.Errorf("%s sent headers that cannot be decoded: %w", sideName(side), err)
	}
	s := o.stream(id)
	if side == 0 {
		if s == nil && h.fields.path != "" {
			if len(o.streams) >= maxObservedStreams {
				return fmt.Errorf("the client has more than %d calls open", maxObservedStreams)
			}
			s = o.begin(id)
			o.observer.OnBegin(id, h.fields.path)
		}
		if s != nil && h.endsStream {
			o.observer.OnEnd(id, true, 0)
		}
		return nil
	}
	if s == nil {
		return nil
	}
	switch {
	case h.fields.status >= 0:
		s.status = h.fields.status
	case h.fields.http >= 300:
		s.status = int(statusOfHTTP(h.fields.http))
	}
	if h.endsStream {
		o.endCall(id, s)
	}
	return nil
}

// endCall ends a call after the server's last frame.
func (o *PassiveDecoder) endCall(id uint32, s *observedCall) {
	status := s.status
	if status < 0 {
		status = StatusUnknown
	}
	o.drop(id, s)
	o.observer.OnEnd(id, false, status)
}

// addField receives each decoded field from the HPACK decoder.
func (h *direction) addField(f hpack.HeaderField) {
	if h.fields.size += len(f.Name) + len(f.Value) + fieldOverhead; h.fields.size > MaxHeaderList {
		h.dec.SetEmitEnabled(false)
		return
	}
	switch f.Name {
	case ":path":
		h.fields.path = f.Value
	case ":status":
		h.fields.http, _ = strconv.Atoi(f.Value)
	case "grpc-status":
		n, err := strconv.ParseUint(f.Value, 10, 16)
		if err != nil {
			n = StatusUnknown
		}
		h.fields.status = int(n)
	}
}

// data decodes the payload of a DATA frame.
func (o *PassiveDecoder) data(side int, f FrameHeader, p []byte) error {
	s := o.stream(f.Stream)
	if s == nil {
		return nil
	}
	m := &s.directions[side]
	for len(p) > 0 {
		if m.nhead < len(m.head) {
			n := copy(m.head[m.nhead:], p)
			m.nhead += n
			p = p[n:]
			if m.nhead < len(m.head) {
				break
			}
			m.size = int(binary.BigEndian.Uint32(m.head[1:]))
			m.missing, m.body = m.size, m.body[:0]
			m.drop = m.head[0] != 0 || m.size > MaxMessage
		}
		n := min(m.missing, len(p))
		switch {
		case m.drop:
		case n == m.size: // the message is complete in this frame, so it need not be copied
			o.message(f.Stream, side, m, p[:n])
			p = p[n:]
			continue
		default:
			m.body = append(m.body, p[:n]...)
		}
		m.missing -= n
		p = p[n:]
		if m.missing == 0 {
			o.message(f.Stream, side, m, m.body)
		}
	}
	if f.Flags&FlagEndStream != 0 {
		if side == 0 {
			o.observer.OnEnd(f.Stream, true, 0)
		} else {
			o.endCall(f.Stream, s)
		}
	}
	return nil
}

func (o *PassiveDecoder) message(stream uint32, side int, m *messageAssembler, body []byte) {
	size := m.size
	if m.drop {
		body = nil
	}
	m.nhead, m.missing, m.size = 0, 0, 0
	o.observer.OnMessage(stream, side == 0, body, size)
	if cap(m.body) > 1<<20 {
		m.body = nil
	}
}
