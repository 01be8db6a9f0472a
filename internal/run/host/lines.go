package host

import "bytes"

// maxLine is how many bytes of a line are looked at. Servers write whole
// requests into their logs, and what a line is about stands at its beginning.
const maxLine = 4096

// lineSplitter turns pieces of a text into its lines, however it was cut.
type lineSplitter struct {
	part []byte // of a line whose end has not come, its first maxLine bytes
	skip bool   // up to the next line's beginning
}

// add calls each with every line that ends in the piece, without its end. The
// line is valid during the call.
func (s *lineSplitter) add(piece []byte, each func(line []byte)) {
	for {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			s.keep(piece)
			return
		}
		switch {
		case s.skip:
			s.skip = false
		case len(s.part) == 0:
			each(bounded(piece[:end]))
		default:
			s.keep(piece[:end])
			each(bounded(s.part))
		}
		s.part = s.part[:0]
		piece = piece[end+1:]
	}
}

// keep adds to the line that goes on. One byte more than maxLine is kept, so
// that a carriage return behind a line that just fits is not taken for a letter.
func (s *lineSplitter) keep(piece []byte) {
	if s.skip {
		return
	}
	room := maxLine + 1 - len(s.part)
	s.part = append(s.part, piece[:min(max(room, 0), len(piece))]...)
}

// reset forgets what has come.
func (s *lineSplitter) reset() { s.part, s.skip = s.part[:0], false }

// bounded is a line as it is handed over.
func bounded(line []byte) []byte {
	if len(line) <= maxLine+1 {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line[:min(len(line), maxLine)]
}
