// Package parts buffers incomplete responses until the rest arrives, and limits the memory for
// them. The package does not trust the servers: a server can start a response to every request and
// complete none of them, and it can announce any length.
//
// If a buffer is too short, a larger one replaces it. Returned buffers are reused. If the garbage
// collector had to free them, as much garbage as live data could accumulate before the next
// collection.
package parts

import (
	"fmt"
	"math/bits"
)

// DefaultMax is the limit in bytes for a connection that does not share its budget.
const DefaultMax = 1 << 30

const (
	// maxPreallocated is the maximum announced length, in bytes, for which the whole buffer is
	// allocated before the bytes arrive.
	maxPreallocated = 256 << 10
	// trustedAfter applies to announced lengths larger than maxPreallocated. The whole buffer is
	// allocated only after this number of bytes has arrived, because the announced length is not
	// trusted until then.
	trustedAfter = 1 << 20
	// extraFree is the number of bytes in free buffers that are kept in addition to the limit. A
	// growing response returns one buffer of half its size, one of a quarter, and so on. If
	// extraFree were smaller, a server that never completes its responses could produce garbage
	// all the time.
	extraFree = 16 << 20
)

// Budget holds the buffers for the incomplete responses of all connections that one goroutine uses.
// A Budget lends at most max bytes, plus up to a quarter because buffers exist only in certain
// sizes. It keeps returned buffers for reuse, up to twice the highest number of bytes that were in
// use at the same time.
//
// Invariant: lentBytes is the total capacity of the lent buffers, and idle is the total capacity of
// the buffers in `free` and `readable`.
type Budget struct {
	max           int
	lentBytes     int // total capacity of the lent buffers, in bytes
	readableBytes int // total capacity of the buffers in `readable`, in bytes
	peakBytes     int // highest value of lentBytes + readableBytes so far
	idle          int // total capacity of the buffers in `free` and `readable`, in bytes
	// lendCount counts calls of the method lend.
	lendCount uint64
	free      [classes][][]byte
	lastLend  [classes]uint64 // value of lendCount at the last call for each class
	readable  [][]byte        // returned since the last Recycle; may still be read
}

// New returns a budget that lends at most max bytes.
func New(max int) *Budget { return &Budget{max: max} }

// LentBytes returns the total capacity of the lent buffers, in bytes.
func (b *Budget) LentBytes() int { return b.lentBytes }

// Size returns the total capacity of all buffers, lent or free, in bytes.
func (b *Budget) Size() int { return b.lentBytes + b.idle }

// Recycle makes the buffers that were returned before this call available for reuse. A connection
// calls Recycle at the start of Feed, because the connection's previous responses are valid only
// until then.
func (b *Budget) Recycle() {
	if len(b.readable) > 0 {
		b.turn()
	}
}

func (b *Budget) turn() {
	for i, buf := range b.readable {
		b.addFree(buf)
		b.readable[i] = nil
	}
	b.readable, b.readableBytes = b.readable[:0], 0
}

// Append appends p to a lent buffer and returns the buffer. If the buffer is nil, Append lends a
// new one. The parameter `announced` is the total length in bytes that the server announced, or 0
// if it announced none. After an error, the buffer is unchanged and the caller must close the
// connection.
func (b *Budget) Append(buf, p []byte, announced int) ([]byte, error) {
	if len(p) > cap(buf)-len(buf) {
		var err error
		if buf, err = b.grow(buf, len(buf)+len(p), announced); err != nil {
			return buf, err
		}
	}
	return append(buf, p...), nil
}

// Fill moves bytes from the input to a buffer until the buffer has n bytes. It returns the buffer
// and the rest of the input. For the parameter `announced`, see Append.
func (b *Budget) Fill(buf, in []byte, n, announced int) (_, rest []byte, err error) {
	take := min(max(0, n-len(buf)), len(in))
	buf, err = b.Append(buf, in[:take], announced)
	return buf, in[take:], err
}

// CheckSize returns an error if the announced length of a response exceeds the limit. The caller
// can then reject the response before it buffers any bytes.
func (b *Budget) CheckSize(announced int) error {
	if announced > b.max {
		return fmt.Errorf("the server announced a response of %d bytes, but at most %d bytes of incomplete responses are kept", announced, b.max)
	}
	return nil
}

// grow returns a buffer with the given contents and with capacity for need bytes. If no length was
// announced, the capacity is a power of two, so that the buffers that one response has outgrown
// have suitable sizes for the next response.
func (b *Budget) grow(buf []byte, need, announced int) ([]byte, error) {
	if err := b.CheckSize(announced); err != nil {
		return buf, err
	}
	size := 1 << bits.Len(uint(need-1))
	if announced >= need {
		if size = min(size, announced); announced <= maxPreallocated || need > trustedAfter {
			size = announced
		}
	}
	if b.lentBytes-cap(buf)+size > b.max {
		return buf, fmt.Errorf("the incomplete responses of the servers exceed the limit of %d bytes", b.max)
	}
	grown := append(b.lend(size), buf...)
	if cap(buf) > 0 {
		b.lentBytes -= cap(buf)
		b.keep(buf, false)
	}
	return grown, nil
}

// lend returns an empty buffer with a capacity of at least n bytes.
func (b *Budget) lend(n int) []byte {
	k, size := classOf(n)
	var buf []byte
	b.lendCount++
	b.lastLend[k] = b.lendCount
	if len(b.free[k]) > 0 {
		buf = b.pop(k)
		b.idle -= cap(buf)
	} else {
		buf = make([]byte, 0, size)
	}
	b.lentBytes += cap(buf)
	b.peakBytes = max(b.peakBytes, b.lentBytes+b.readableBytes)
	return buf
}

// Release returns a lent buffer to the budget. The buffer's contents stay readable until the next
// Recycle.
func (b *Budget) Release(buf []byte) {
	if cap(buf) == 0 {
		return
	}
	b.lentBytes -= cap(buf)
	b.keep(buf, true)
}

// keep stores a returned buffer for reuse. To stay within the limit, it evicts buffers of classes
// that have not been used for a long time.
func (b *Budget) keep(buf []byte, read bool) {
	size, limit := cap(buf), min(2*b.peakBytes, b.max+extraFree)
	for b.idle+size > limit {
		if !b.evict() {
			return
		}
	}
	b.idle += size
	if read {
		b.readable, b.readableBytes = append(b.readable, buf), b.readableBytes+size
	} else {
		b.addFree(buf)
	}
}

// addFree adds a buffer to the free list of its class.
func (b *Budget) addFree(buf []byte) {
	k, _ := classOf(cap(buf))
	b.free[k] = append(b.free[k], buf)
}

// evict removes a free buffer of the least recently used class. It returns false if there is no
// free buffer.
func (b *Budget) evict() bool {
	oldest := -1
	for k := range b.free {
		if len(b.free[k]) > 0 && (oldest < 0 || b.lastLend[k] < b.lastLend[oldest]) {
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
