package jute

import (
	"encoding/binary"
	"errors"
)

// Heard receives the frames that an Overhearer decodes. The arguments are valid until the method
// returns.
type Heard interface {
	// Frame receives a complete frame of size bytes. The parameter first marks the first frame of a
	// side, which starts the session. The body of a frame larger than MaxHeard is nil.
	Frame(ofClient, first bool, body []byte, size int)
}

// MaxHeard limits the frames that an Overhearer keeps, in bytes.
const MaxHeard = 8 << 20

// Overhearer is a passive decoder of both directions of a connection. It cannot decode anything
// after an error. Only one goroutine may use it.
type Overhearer struct {
	to    Heard
	sides [2]heardSide // the client's side, the server's side
	err   error
}

// heardSide is the frame under way in one direction.
type heardSide struct {
	head   [lengthLen]byte
	nhead  int
	left   int
	size   int
	body   []byte
	drop   bool
	inBody bool
	begun  bool // the first frame was complete
}

// NewOverhearer returns a passive decoder of a connection, which must be fed the connection's first
// byte.
func NewOverhearer(to Heard) *Overhearer { return &Overhearer{to: to} }

// Feed decodes bytes that one side sent.
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

// begin starts a frame after its length was read.
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
