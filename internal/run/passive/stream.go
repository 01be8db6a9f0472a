package passive

import "slices"

// stream is one direction of a connection. It sorts the bytes by their sequence numbers.
//
// Invariant: outOfOrder is sorted by seq, and every piece in outOfOrder begins after next.
type stream struct {
	started    bool   // whether the first sequence number is known
	next       uint32 // the sequence number of the next byte
	finSeen    bool   // whether a FIN with the sequence number fin was captured
	fin        uint32
	finished   bool // whether all bytes up to the FIN have arrived
	outOfOrder []earlyPiece
	bytes      int   // memory of outOfOrder
	holeSince  int64 // time since which the bytes before outOfOrder have been missing
}

// earlyPiece is a piece that arrived before the bytes that precede it.
type earlyPiece struct {
	seq uint32
	b   []byte
}

// earlyPieceOverhead is the memory that a piece needs in addition to its bytes. Counting this
// memory also limits the number of small pieces.
const earlyPieceOverhead = 64

// offset returns the distance of a sequence number from that of the next byte. The distance is
// negative for earlier bytes. Sequence numbers wrap around at 2^32 (RFC 9293, section 3.4).
func (s *stream) offset(seq uint32) int { return int(int32(seq - s.next)) }

// begin sets the stream's first sequence number.
func (s *stream) begin(seq uint32) { s.started, s.next = true, seq }

// add adds the bytes of a segment. It calls the function `feed` with all bytes that do not follow a
// hole, in order and each byte only once.
func (s *stream) add(seq uint32, b []byte, at int64, feed func([]byte)) {
	if s.offset(seq) > 0 {
		s.hold(seq, b, at)
		return
	}
	s.feedNew(seq, b, feed)
	n := 0
	for n < len(s.outOfOrder) && s.offset(s.outOfOrder[n].seq) <= 0 {
		e := s.outOfOrder[n]
		s.bytes -= len(e.b) + earlyPieceOverhead
		s.feedNew(e.seq, e.b, feed)
		n++
	}
	if n > 0 {
		s.outOfOrder = slices.Delete(s.outOfOrder, 0, n)
		s.holeSince = at
	}
}

// hold keeps bytes that follow a hole, sorted by sequence number. If two pieces begin with the same
// sequence number, hold keeps the longer piece.
func (s *stream) hold(seq uint32, b []byte, at int64) {
	if len(s.outOfOrder) == 0 {
		s.holeSince = at
	}
	i, there := slices.BinarySearchFunc(s.outOfOrder, seq, func(e earlyPiece, seq uint32) int { return int(int32(e.seq - seq)) })
	switch {
	case there && len(s.outOfOrder[i].b) >= len(b):
		return
	case there:
		s.bytes += len(b) - len(s.outOfOrder[i].b)
		s.outOfOrder[i].b = slices.Clone(b)
	default:
		s.bytes += len(b) + earlyPieceOverhead
		s.outOfOrder = slices.Insert(s.outOfOrder, i, earlyPiece{seq, slices.Clone(b)})
	}
}

// feedNew calls the function `feed` with the bytes of a segment, except those that were fed before.
func (s *stream) feedNew(seq uint32, b []byte, feed func([]byte)) {
	if started := -s.offset(seq); started < len(b) {
		s.next += uint32(len(b) - started)
		feed(b[started:])
	}
	s.close()
}

// finish records a FIN, which also occupies a sequence number.
func (s *stream) finish(seq uint32) {
	s.finSeen, s.fin = true, seq
	s.close()
}

func (s *stream) close() {
	if s.finSeen && !s.finished && s.next == s.fin {
		s.finished = true
		s.next++
	}
}

// complete reports whether no bytes are missing before the last captured byte or FIN.
func (s *stream) complete() bool { return len(s.outOfOrder) == 0 && (s.finished || !s.finSeen) }
