// Package hold bounds the memory of answers that are not whole yet, over all
// connections of an event loop: a server decides how long an answer is, and how
// many it begins and does not end.
package hold

import "fmt"

const (
	// Small is how many bytes of each unfinished answer are not counted: what
	// an operation may take, whatever the others do.
	Small = 1 << 20
	// MaxLarge is how many bytes the unfinished answers above Small may have
	// together, and so the longest answer that is taken.
	MaxLarge = 16 << 20
)

// Budget counts the bytes of unfinished answers. It belongs to one goroutine.
// A nil Budget counts nothing.
type Budget struct {
	used int
	// spare is the largest buffer that is not needed any more: connections that
	// begin long answers and lose them would else make garbage faster than it is
	// collected.
	spare []byte
}

// Grow says that one answer, which was to take from bytes, is to take to. It
// reports whether that may be; if not, nothing was counted.
func (b *Budget) Grow(from, to int) bool {
	if b == nil || to <= Small {
		return true
	}
	more := to - max(from, 0)
	if from <= Small {
		more = to
	}
	if b.used+more > MaxLarge {
		return false
	}
	b.used += more
	return true
}

// Release says that an answer that was to take n bytes is whole, or given up.
func (b *Budget) Release(n int) {
	if b != nil && n > Small {
		b.used -= n
	}
}

// Put gives up a buffer that Room made, for another answer.
func (b *Budget) Put(p []byte) {
	if cap(p) > Small && cap(p) > cap(b.spare) {
		b.spare = p[:0]
	}
}

// make is a buffer with room for size bytes.
func (b *Budget) make(size int) []byte {
	if size <= Small {
		return make([]byte, 0, size)
	}
	p := b.spare
	b.spare = nil
	if cap(p) < size {
		return make([]byte, 0, size)
	}
	return p[:0:size]
}

// Used is how many bytes are counted.
func (b *Budget) Used() int { return b.used }

// TooMuch is the sentence about an answer of n bytes for which Grow said no.
func TooMuch(n int) error {
	return fmt.Errorf("the server's answers that are not whole yet take more than %d MiB, with one of %d bytes: ask for fewer keys at once", MaxLarge>>20, n)
}

// Room makes room in p, which the budget has counted with counted bytes and which has the first bytes of an answer, for n more. An
// answer whose whole length was announced gets all of it at once, but not
// before the server has sent as much as Small: it is not taken at its word. It
// returns what is counted now; false: it would be too much.
func (b *Budget) Room(p []byte, n, announced, counted int) (_ []byte, _ int, ok bool) {
	need := len(p) + n
	if need <= cap(p) {
		return p, counted, true
	}
	size := max(2*cap(p), need)
	if need > Small && announced >= need {
		size = announced
	}
	if need <= MaxLarge {
		size = min(size, MaxLarge)
	}
	if !b.Grow(counted, size) {
		return p, counted, false
	}
	if size > Small {
		counted = size
	}
	grown := append(b.make(size), p...)
	b.Put(p)
	return grown, counted, true
}
