package jute

import (
	"encoding/binary"
	"errors"
)

// Heard takes what an Overhearer finds. What it is given is valid until it returns.
type Heard interface {
	// Frame is a whole frame; first says that it is the side's first, which begins the
	// session. Where it is larger than MaxHeard, body is nil.
	Frame(ofClient, first bool, body []byte, size int)
}

// MaxHeard bounds a frame that an Overhearer keeps, in bytes.
const MaxHeard = 8 << 20

// Overhearer understands both directions of a connection, and says nothing itself. Of
// what follows an error it understands nothing. It belongs to one goroutine.
type Overhearer struct {
	to    Heard
	sides [2]heardSide // of the client, of the server
	err   error
}

// heardSide is one direction: a frame that is not whole yet.
type heardSide struct {
	head   [lengthLen]byte
	nhead  int
	left   int
	size   int
	body   []byte
	drop   bool
	inBody bool
	begun  bool // the first frame has passed
}

// NewOverhearer returns an Overhearer of a connection from its first byte on.
func NewOverhearer(to Heard) *Overhearer { return &Overhearer{to: to} }

// Feed takes what one side sent.
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
			o.whole(s, ofClient)
		}
	}
	return o.err
}

// begin begins a frame.
func (s *heardSide) begin() error {
	size := int(int32(binary.BigEndian.Uint32(s.head[:]))) // #nosec G115 -- the protocol's own
	if size <= 0 || size > MaxFrame {
		return errors.New("the connection does not speak ZooKeeper's protocol")
	}
	s.nhead, s.size, s.left, s.inBody, s.drop = 0, size, size, true, size > MaxHeard
	s.body = s.body[:0]
	return nil
}

func (o *Overhearer) whole(s *heardSide, ofClient bool) {
	body := s.body
	if s.drop {
		body = nil
	}
	o.to.Frame(ofClient, !s.begun, body, s.size)
	if s.begun, s.inBody = true, false; cap(s.body) > 1<<20 {
		s.body = nil
	}
}
