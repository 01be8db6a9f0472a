package jute

import (
	"encoding/binary"
	"errors"
)

// FrameObserver receives the frames that a PassiveDecoder decodes. The arguments of a method are
// valid until the method returns.
type FrameObserver interface {
	// OnFrame is called for each complete frame of `size` bytes. fromClient is true if the client
	// sent the frame. first is true for the first frame from each side, which starts the session.
	// body is nil if the frame is larger than MaxObservedFrame.
	OnFrame(fromClient, first bool, body []byte, size int)
}

// MaxObservedFrame limits the size of the frames that a PassiveDecoder keeps, in bytes.
const MaxObservedFrame = 8 << 20

// PassiveDecoder is a passive decoder for both directions of a connection. After an error it cannot
// decode anything further. Only one goroutine may use it.
type PassiveDecoder struct {
	observer FrameObserver
	sides    [2]observedSide // index 0: the client's bytes; index 1: the server's bytes
	err      error
}

// observedSide holds the current frame in one direction.
type observedSide struct {
	head           [lengthLen]byte
	nhead          int
	missing        int
	size           int
	body           []byte
	drop           bool
	inBody         bool
	sessionStarted bool // the first frame has been decoded
}

// NewPassiveDecoder returns a passive decoder for a connection. The decoder must receive the
// connection's traffic starting with the first byte.
func NewPassiveDecoder(observer FrameObserver) *PassiveDecoder {
	return &PassiveDecoder{observer: observer}
}

// Feed decodes bytes that the client sent (if fromClient is true) or that the server sent.
func (o *PassiveDecoder) Feed(fromClient bool, b []byte) error {
	s := &o.sides[1]
	if fromClient {
		s = &o.sides[0]
	}
	for len(b) > 0 && o.err == nil {
		if !s.inBody {
			n := copy(s.head[s.nhead:], b)
			b = b[n:]
			if s.nhead += n; s.nhead == lengthLen {
				o.err = s.begin()
			}
		}
		if !s.inBody || o.err != nil {
			continue
		}
		n := min(len(b), s.missing)
		if !s.drop {
			s.body = append(s.body, b[:n]...)
		}
		b = b[n:]
		if s.missing -= n; s.missing == 0 {
			o.endFrame(s, fromClient)
		}
	}
	return o.err
}

// begin starts a frame whose length has been read.
func (s *observedSide) begin() error {
	size := int(int32(binary.BigEndian.Uint32(s.head[:]))) // #nosec G115 -- the protocol's own range
	if size <= 0 || size > MaxFrame {
		return errors.New("the connection does not speak ZooKeeper's protocol")
	}
	s.nhead, s.size, s.missing, s.inBody, s.drop = 0, size, size, true, size > MaxObservedFrame
	s.body = s.body[:0]
	return nil
}

func (o *PassiveDecoder) endFrame(s *observedSide, fromClient bool) {
	body := s.body
	if s.drop {
		body = nil
	}
	o.observer.OnFrame(fromClient, !s.sessionStarted, body, s.size)
	if s.sessionStarted, s.inBody = true, false; cap(s.body) > 1<<20 {
		s.body = nil
	}
}
