package http1

import "bytes"

// A server sends almost the same head with every response. The connection remembers the last head,
// and parsing an identical one costs a single comparison. (Heads of reads are identical until the
// next second of the Date field.) For a different head, it compares each line with the line at the
// same position in earlier heads, and skips a known line without a field that the connection uses.
// It remembers only heads and lines that arrived in a single piece.
const (
	knownHeadBytes = 1024
	knownLines     = 16  // in a head
	knownBytes     = 128 // in a line
)

// knownHead holds the remembered head and lines of a connection.
type knownHead struct {
	bytes []byte // the last head, or empty

	at    int // the position of the next field line
	lines [knownLines][]byte
}

// match returns the length of the remembered head if in begins with it, otherwise 0.
func (k *knownHead) match(in []byte) int {
	if n := len(k.bytes); n > 0 && len(in) >= n && bytes.Equal(in[:n], k.bytes) {
		return n
	}
	k.bytes = k.bytes[:0]
	return 0
}

// keep remembers the head of a final response. Another head follows an informational one.
func (k *knownHead) keep(head []byte, status int) {
	if status >= 200 && len(head) <= knownHeadBytes {
		k.bytes = append(k.bytes[:0], head...)
	}
}

// pass returns the length of the next line if it equals the remembered line, otherwise 0.
func (k *knownHead) pass(in []byte) int {
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

// learn remembers a field line with its line break if the connection does not use the field (idle).
// The line is empty if it arrived in several pieces.
func (k *knownHead) learn(whole []byte, idle bool) {
	if k.at < knownLines {
		line := k.lines[k.at][:0]
		if idle && len(whole) <= knownBytes {
			line = append(line, whole...)
		}
		k.lines[k.at] = line
	}
	k.at++
}
