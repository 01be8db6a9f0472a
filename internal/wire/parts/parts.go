// Package parts keeps what has come of answers until the rest has come, within
// a bound. Who sends the answers is not trusted: a server can begin one for each
// request and end none, and can announce any length.
//
// Where a buffer is too short, the next one comes from those that were given
// back, and what is given back is used again instead of being left to the
// collector, which would come to it when as much has come once more.
package parts

import (
	"fmt"
	"math/bits"
)

// DefaultMax is the bound for a connection that shares none, in bytes.
const DefaultMax = 1 << 30

const (
	// ahead is how many bytes of an announced length are made room for before
	// they come.
	ahead = 256 << 10
	// believed is how much must have come before room for all of a longer one is
	// made: a server's word alone is not enough.
	believed = 1 << 20
	// keptBeyond is how many bytes of buffers are kept for later beyond the bound.
	// An answer leaves half of its size behind as it grows, and a quarter, and so on:
	// with less, those whose answers never end would make garbage all the time.
	keptBeyond = 16 << 20
)

// Budget is what the connections of one goroutine keep of answers that are not
// whole. It lends them its buffers: as many bytes as it was made for and up to a
// quarter more, because they come in few sizes. What comes back it keeps for later,
// up to twice what was ever of use at once.
type Budget struct {
	max  int
	kept int // bytes of the buffers that are lent
	read int // bytes of back
	most int // bytes that were ever of use at once
	idle int // bytes of all that came back
	// lends counts the lendings.
	lends uint64
	free  [classes][][]byte
	used  [classes]uint64 // which lending was the class's last
	back  [][]byte        // came back since the last Turn: who was given an answer may still read it
}

// New returns a budget of so many bytes.
func New(max int) *Budget { return &Budget{max: max} }

// Kept is how many bytes the buffers have that are lent.
func (b *Budget) Kept() int { return b.kept }

// Size is how many bytes it has of buffers, lent or not.
func (b *Budget) Size() int { return b.kept + b.idle }

// Turn says that nothing points any more into the buffers given back before it.
// A connection says so when it is fed, for what it returned is valid until then.
func (b *Budget) Turn() {
	if len(b.back) > 0 {
		b.turn()
	}
}

func (b *Budget) turn() {
	for i, buf := range b.back {
		b.file(buf)
		b.back[i] = nil
	}
	b.back, b.read = b.back[:0], 0
}

// Append appends p to a buffer that is lent, or to nil, and returns it. The
// length of the whole is what was announced, 0 if nothing was. An error is the
// connection's end; the buffer is then as it was.
func (b *Budget) Append(to, p []byte, whole int) ([]byte, error) {
	if len(p) > cap(to)-len(to) {
		var err error
		if to, err = b.grow(to, len(to)+len(p), whole); err != nil {
			return to, err
		}
	}
	return append(to, p...), nil
}

// Fill moves bytes from in to a buffer as Append does, until it has n.
func (b *Budget) Fill(to, in []byte, n, whole int) (_, rest []byte, err error) {
	take := min(max(0, n-len(to)), len(in))
	to, err = b.Append(to, in[:take], whole)
	return to, in[take:], err
}

// Fits reports by its error that an answer of an announced length cannot be
// kept, so that nothing of it need be.
func (b *Budget) Fits(whole int) error {
	if whole > b.max {
		return fmt.Errorf("the server announced an answer of %d bytes, and more than %d are not kept until it is whole", whole, b.max)
	}
	return nil
}

// grow returns a buffer that begins with what is in to and has room for need
// bytes. Without an announced length it doubles, and its size is a power of two
// wherever it began: what one leaves behind is what the next one needs.
func (b *Budget) grow(to []byte, need, whole int) ([]byte, error) {
	if err := b.Fits(whole); err != nil {
		return to, err
	}
	size := 1 << bits.Len(uint(need-1))
	if whole >= need {
		if size = min(size, whole); whole <= ahead || need > believed {
			size = whole
		}
	}
	if b.kept-cap(to)+size > b.max {
		return to, fmt.Errorf("the servers have begun more answers than are kept: %d bytes that are not whole", b.max)
	}
	grown := append(b.lend(size), to...)
	if cap(to) > 0 {
		b.kept -= cap(to)
		b.keep(to, false)
	}
	return grown, nil
}

// lend returns an empty buffer of at least n bytes.
func (b *Budget) lend(n int) []byte {
	k, size := classOf(n)
	var buf []byte
	b.lends++
	b.used[k] = b.lends
	if len(b.free[k]) > 0 {
		buf = b.pop(k)
		b.idle -= cap(buf)
	} else {
		buf = make([]byte, 0, size)
	}
	b.kept += cap(buf)
	b.most = max(b.most, b.kept+b.read)
	return buf
}

// GiveBack takes a buffer back. What is in it may be read until the next Turn.
func (b *Budget) GiveBack(buf []byte) {
	if cap(buf) == 0 {
		return
	}
	b.kept -= cap(buf)
	b.keep(buf, true)
}

// keep keeps a buffer for the next one who needs it. Sizes that are needed no
// more would fill the budget in time, so that they make room.
func (b *Budget) keep(buf []byte, read bool) {
	size, limit := cap(buf), min(2*b.most, b.max+keptBeyond)
	for b.idle+size > limit {
		if !b.evict() {
			return
		}
	}
	b.idle += size
	if read {
		b.back, b.read = append(b.back, buf), b.read+size
	} else {
		b.file(buf)
	}
}

// file puts a buffer where lend looks for its size.
func (b *Budget) file(buf []byte) {
	k, _ := classOf(cap(buf))
	b.free[k] = append(b.free[k], buf)
}

// evict leaves a buffer to the collector, of the size that was not needed for
// longest. It reports whether there was any.
func (b *Budget) evict() bool {
	oldest := -1
	for k := range b.free {
		if len(b.free[k]) > 0 && (oldest < 0 || b.used[k] < b.used[oldest]) {
			oldest = k
		}
	}
	if oldest >= 0 {
		b.idle -= cap(b.pop(oldest))
	}
	return oldest >= 0
}

// pop takes the last buffer of a class.
func (b *Budget) pop(k int) []byte {
	stack := b.free[k]
	last := len(stack) - 1
	buf := stack[last][:0]
	stack[last] = nil
	b.free[k] = stack[:last]
	return buf
}
