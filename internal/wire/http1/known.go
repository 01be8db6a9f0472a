package http1

import "bytes"

// Servers say much the same in every head. Lines that say nothing we need are
// remembered by their place in the head: one that comes again is passed over at
// the cost of a comparison. Only lines that lie whole in the input are.
const (
	knownLines = 16  // of a head
	knownBytes = 128 // of a line
)

// knownHead is what the connection's heads said so far.
type knownHead struct {
	at    int // the place of the next field line
	lines [knownLines][]byte
}

// pass returns the length of the next line if it is a known one, or 0.
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

// learn takes a field line with its end, empty if it did not lie in one piece,
// and whether it said nothing we need.
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
