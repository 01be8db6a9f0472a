package capture

import "slices"

// heldOfStream is how many bytes of one direction may wait for those before them.
const heldOfStream = 4 << 20

// stream is one direction of a connection: its bytes in the order of their numbers.
type stream struct {
	known bool   // where it began
	next  uint32 // the number of the byte that comes next
	last  bool   // its end has been seen, and has the number fin
	fin   uint32
	over  bool // all up to there has come
	held  []early
	bytes int // of held
}

// early is what came before what is before it.
type early struct {
	seq uint32
	b   []byte
}

// behind is how far a number lies behind what comes next; less than 0: before it. Numbers
// begin anew at 2^32 (RFC 9293, section 3.4).
func (s *stream) behind(seq uint32) int { return int(int32(seq - s.next)) }

// begin is the stream's first number.
func (s *stream) begin(seq uint32) { s.known, s.next = true, seq }

// take takes a segment's bytes from a number on, and gives to feed what comes next, once.
// It reports false where too much waits.
func (s *stream) take(seq uint32, b []byte, feed func([]byte)) bool {
	if s.behind(seq) > 0 {
		if s.bytes += len(b); s.bytes > heldOfStream {
			return false
		}
		s.held = append(s.held, early{seq, slices.Clone(b)})
		return true
	}
	s.now(seq, b, feed)
	for again := len(s.held) > 0; again; {
		again = false
		for i := 0; i < len(s.held); i++ {
			e := s.held[i]
			if s.behind(e.seq) > 0 {
				continue
			}
			s.held = slices.Delete(s.held, i, i+1)
			s.bytes -= len(e.b)
			s.now(e.seq, e.b, feed)
			again = len(s.held) > 0
			break
		}
	}
	return true
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
