package http1

import "bytes"

// Most responses from one server have the same head. So the connection remembers the last head. If
// the next head is identical, the connection needs only a single comparison to parse the head.
// (Consecutive heads of read responses are identical until the Date field changes, once per
// second.) If the head is different, the connection compares each line with the line at the same
// position in earlier heads. If the line is known and the connection ignores its field, the
// connection skips the line. The connection remembers only heads and lines that arrived in a single
// piece.
const (
	knownHeadBytes = 1024
	knownLines     = 16  // remembered lines per head
	knownBytes     = 128 // maximum length of a remembered line
)

// knownHead holds the head and the lines that a connection remembers.
type knownHead struct {
	bytes []byte // the last head; empty if none is remembered

	at    int // position of the next field line, counted from 0
	lines [knownLines][]byte
}

// match returns the length of the remembered head if the input begins with that head. Otherwise it
// forgets the head and returns 0.
func (k *knownHead) match(in []byte) int {
	if n := len(k.bytes); n > 0 && len(in) >= n && bytes.Equal(in[:n], k.bytes) {
		return n
	}
	k.bytes = k.bytes[:0]
	return 0
}

// rememberHead remembers a head. It ignores the head of an informational response, because a
// different head follows it.
func (k *knownHead) rememberHead(head []byte, status int) {
	if status >= 200 && len(head) <= knownHeadBytes {
		k.bytes = append(k.bytes[:0], head...)
	}
}

// skipKnownLine returns the length of the next line if the line equals the remembered line at this
// position. Otherwise it returns 0.
func (k *knownHead) skipKnownLine(in []byte) int {
	if k.at >= knownLines {
		return 0
	}
	line := k.lines[k.at]
	if len(line) == 0 || len(in) < len(line) || !bytes.Equal(in[:len(line)], line) {
		return 0
	}
	k.at++
	return len(line)
}

// rememberLine remembers the field line at the current position if the connection ignores the field
// (idle is true). rawLine is the line with its line break, or empty if the line arrived in several
// pieces.
func (k *knownHead) rememberLine(rawLine []byte, idle bool) {
	if k.at < knownLines {
		line := k.lines[k.at][:0]
		if idle && len(rawLine) <= knownBytes {
			line = append(line, rawLine...)
		}
		k.lines[k.at] = line
	}
	k.at++
}
