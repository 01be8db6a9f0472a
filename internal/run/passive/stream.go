package passive

import "slices"

// stream is one direction of a connection: its bytes in the order of their numbers.
type stream struct {
	known bool   // where it began
	next  uint32 // the number of the byte that comes next
	last  bool   // its end has been seen, and has the number fin
	fin   uint32
	over  bool // all up to there has come
	held  []early
	bytes int   // of held, with what they take
	since int64 // since when there is a hole before what is held
}

// early is what came before what is before it.
type early struct {
	seq uint32
	b   []byte
}

// earlyCost is what a piece takes beside its bytes, so that very many small ones are
// bounded, too.
const earlyCost = 64

// behind is how far a number lies behind what comes next; less than 0: before it. Numbers
// begin anew at 2^32 (RFC 9293, section 3.4).
func (s *stream) behind(seq uint32) int { return int(int32(seq - s.next)) }

// begin is the stream's first number.
func (s *stream) begin(seq uint32) { s.known, s.next = true, seq }

// take takes a segment's bytes from a number on, and gives to feed what comes next, once.
func (s *stream) take(seq uint32, b []byte, at int64, feed func([]byte)) {
	if s.behind(seq) > 0 {
		s.hold(seq, b, at)
		return
	}
	s.now(seq, b, feed)
	n := 0
	for n < len(s.held) && s.behind(s.held[n].seq) <= 0 {
		e := s.held[n]
		s.bytes -= len(e.b) + earlyCost
		s.now(e.seq, e.b, feed)
		n++
	}
	if n > 0 {
		s.held = slices.Delete(s.held, 0, n)
		s.since = at
	}
}

// hold keeps what is behind a hole, in order; of two that begin alike, the longer.
func (s *stream) hold(seq uint32, b []byte, at int64) {
	if len(s.held) == 0 {
		s.since = at
	}
	i, there := slices.BinarySearchFunc(s.held, seq, func(e early, seq uint32) int { return int(int32(e.seq - seq)) })
	switch {
	case there && len(s.held[i].b) >= len(b):
		return
	case there:
		s.bytes += len(b) - len(s.held[i].b)
		s.held[i].b = slices.Clone(b)
	default:
		s.bytes += len(b) + earlyCost
		s.held = slices.Insert(s.held, i, early{seq, slices.Clone(b)})
	}
}

// now gives on what of a segment was not there before.
func (s *stream) now(seq uint32, b []byte, feed func([]byte)) {
	if known := -s.behind(seq); known < len(b) {
		s.next += uint32(len(b) - known)
		feed(b[known:])
	}
	s.close()
}

// finish is the stream's end, which has a number, too.
func (s *stream) finish(seq uint32) {
	s.last, s.fin = true, seq
	s.close()
}

func (s *stream) close() {
	if s.last && !s.over && s.next == s.fin {
		s.over = true
		s.next++
	}
}

// whole reports whether nothing is missing of what has been seen.
func (s *stream) whole() bool { return len(s.held) == 0 && (s.over || !s.last) }
