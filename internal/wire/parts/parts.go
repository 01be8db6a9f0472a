// Package parts buffers incomplete responses until the rest arrives, within a limit. The servers
// are not trusted: a server can start a response to each request and complete none, and can
// announce any length.
//
// A buffer that is too short is replaced by a larger one, and returned buffers are reused. Leaving
// them to the garbage collector would let as many bytes of garbage accumulate before it runs.
package parts

import (
	"fmt"
	"math/bits"
)

// DefaultMax is the limit in bytes of a connection that does not share a budget.
const DefaultMax = 1 << 30

const (
	// ahead is the largest announced length, in bytes, for which the whole buffer is allocated
	// before the bytes arrive.
	ahead = 256 << 10
	// believed is the number of bytes that must have arrived before the whole buffer of a longer
	// announced length is allocated: a server's announcement is not trusted before.
	believed = 1 << 20
	// keptBeyond is the number of bytes of free buffers that are kept in addition to the limit. A
	// growing response returns a buffer of half its size, one of a quarter, and so on; with a
	// smaller value, responses that never end would produce garbage all the time.
	keptBeyond = 16 << 20
)

// Budget holds the buffers for incomplete responses of all connections of one goroutine. It lends
// at most max bytes, plus up to a quarter because buffers have few sizes. It keeps returned buffers
// for reuse, at most twice the bytes that were ever in use at the same time.
//
// Invariant: kept is the total capacity of the lent buffers, idle that of all buffers in free and
// back.
type Budget struct {
	max  int
	kept int // capacity of the lent buffers, in bytes
	read int // capacity of the buffers in back, in bytes
	most int // maximum of kept + read so far
	idle int // capacity of the buffers in free and back, in bytes
	// lends counts the calls of lend.
	lends uint64
	free  [classes][][]byte
	used  [classes]uint64 // value of lends at the last call for the class
	back  [][]byte        // returned since the last Recycle: the caller may still read a response in them
}

// New returns a budget that lends max bytes.
func New(max int) *Budget { return &Budget{max: max} }

// Kept returns the capacity of the lent buffers, in bytes.
func (b *Budget) Kept() int { return b.kept }

// Size returns the capacity of all buffers, lent or free, in bytes.
func (b *Budget) Size() int { return b.kept + b.idle }

// Recycle makes the buffers returned before it available for reuse. A connection calls it when it
// is fed, because its responses are valid until the next Feed.
func (b *Budget) Recycle() {
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

// Append appends p to a lent buffer, or to nil, and returns the buffer. The parameter whole is the
// announced total length in bytes, 0 if none was announced. After an error, the buffer is unchanged
// and the connection must be closed.
func (b *Budget) Append(to, p []byte, whole int) ([]byte, error) {
	if len(p) > cap(to)-len(to) {
		var err error
		if to, err = b.grow(to, len(to)+len(p), whole); err != nil {
			return to, err
		}
	}
	return append(to, p...), nil
}

// Fill moves bytes from in to a buffer, as Append does, until the buffer has n bytes.
func (b *Budget) Fill(to, in []byte, n, whole int) (_, rest []byte, err error) {
	take := min(max(0, n-len(to)), len(in))
	to, err = b.Append(to, in[:take], whole)
	return to, in[take:], err
}

// Fits returns an error if a response of the announced length exceeds the limit. The caller can
// then reject the response before it buffers any of it.
func (b *Budget) Fits(whole int) error {
	if whole > b.max {
		return fmt.Errorf("the server announced an answer of %d bytes, and more than %d are not kept until it is whole", whole, b.max)
	}
	return nil
}

// grow returns a buffer with the contents of to and capacity for need bytes. Without an announced
// length the capacity doubles and is always a power of two, so that the buffers which one response
// outgrows fit the next response.
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

// GiveBack takes a lent buffer back. Its contents stay readable until the next Recycle.
func (b *Budget) GiveBack(buf []byte) {
	if cap(buf) == 0 {
		return
	}
	b.kept -= cap(buf)
	b.keep(buf, true)
}

// keep stores a returned buffer for reuse. It evicts buffers of sizes that are no longer needed,
// which would otherwise fill the budget over time.
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

// file adds a buffer to the free list of its class.
func (b *Budget) file(buf []byte) {
	k, _ := classOf(cap(buf))
	b.free[k] = append(b.free[k], buf)
}

// evict drops a free buffer of the least recently used class, for the garbage collector. It returns
// false if no buffer is free.
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

// pop removes the last free buffer of a class.
func (b *Budget) pop(k int) []byte {
	stack := b.free[k]
	last := len(stack) - 1
	buf := stack[last][:0]
	stack[last] = nil
	b.free[k] = stack[:last]
	return buf
}
