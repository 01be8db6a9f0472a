package jute

import (
	"encoding/binary"
	"errors"
)

// Heard receives the frames that an Overhearer decodes. The arguments of a method are valid until
// the method returns.
type Heard interface {
	// Frame is called for each complete frame of size bytes. ofClient is true if the client sent
	// the frame. first is true for the first frame from each side, which starts the session. body
	// is nil if the frame is larger than MaxHeard.
	Frame(ofClient, first bool, body []byte, size int)
}

// MaxHeard limits the size of the frames that an Overhearer keeps, in bytes.
const MaxHeard = 8 << 20

// Overhearer is a passive decoder for both directions of a connection. After an error it cannot
// decode anything further. Only one goroutine may use it.
type Overhearer struct {
	to    Heard
	sides [2]heardSide // index 0: the client's bytes; index 1: the server's bytes
	err   error
}

// heardSide holds the current frame in one direction.
type heardSide struct {
	head   [lengthLen]byte
	nhead  int
	left   int
	size   int
	body   []byte
	drop   bool
	inBody bool
	begun  bool // the first frame has been decoded
}

// NewOverhearer returns a passive decoder for a connection. The decoder must receive the
// connection's traffic starting with the first byte.
func NewOverhearer(to Heard) *Overhearer { return &Overhearer{to: to} }

// Feed decodes bytes that the client sent (if ofClient is true) or that the server sent.
func (o *Overhearer) Feed(ofClient bool, b []byte) error {
	s := &o.sides[1]
	if ofClient {
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
		n := min(len(b), s.left)
		if !s.drop {
			s.body = append(s.body, b[:n]...)
		}
		b = b[n:]
		if s.left -= n; s.left == 0 {
			o.endFrame(s, ofClient)
		}
	}
	return o.err
}

// begin starts a frame whose length has been read.
func (s *heardSide) begin() error {
	size := int(int32(binary.BigEndian.Uint32(s.head[:]))) // #nosec G115 -- the protocol's own range
	if size <= 0 || size > MaxFrame {
		return errors.New("the connection does not speak ZooKeeper's protocol")
	}
	s.nhead, s.size, s.left, s.inBody, s.drop = 0, size, size, true, size > MaxHeard
	s.body = s.body[:0]
	return nil
}

func (o *Overhearer) endFrame(s *heardSide, ofClient bool) {
	body := s.body
	if s.drop {
		body = nil
	}
	o.to.Frame(ofClient, !s.begun, body, s.size)
	if s.begun, s.inBody = true, false; cap(s.body) > 1<<20 {
		s.body = nil
	}
}
