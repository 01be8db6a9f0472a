package http1

import "bytes"

// Servers say much the same in every head. The last head is remembered: one that
// is the same, which those of reads are until the date's next second, costs a
// comparison. Of one that differs, lines that say nothing we need are remembered
// by their place, and passed over likewise. Only what lies whole in the input is
// remembered.
const (
	knownHeadBytes = 1024
	knownLines     = 16  // of a head
	knownBytes     = 128 // of a line
)

// knownHead is what the connection's heads said so far.
type knownHead struct {
	whole []byte // the last head, or empty

	at    int // the place of the next field line
	lines [knownLines][]byte
}

// again returns the length of the head if it is the last one again, or 0.
func (k *knownHead) again(in []byte) int {
	if n := len(k.whole); n > 0 && len(in) >= n && bytes.Equal(in[:n], k.whole) {
		return n
	}
	k.whole = k.whole[:0]
	return 0
}

// keep remembers an answer's head, unless another head comes behind it.
func (k *knownHead) keep(head []byte, status int) {
	if status >= 200 && len(head) <= knownHeadBytes {
		k.whole = append(k.whole[:0], head...)
	}
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
