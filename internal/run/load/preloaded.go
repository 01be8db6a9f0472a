package load

import (
	"hash/crc32"
	"sync"
)

// Preloaded is what a preload did. It remembers the values that it found and
// wrote anew: a linearizable read that begins afterwards must not return one of
// them, and a read of one member may.
type Preloaded struct {
	Written uint64 // keys

	mu  sync.Mutex // while the preload runs; later nobody writes
	was map[uint64]uint32
}

// mostReplaced bounds the memory of that.
const mostReplaced = 10_000_000

// full reports whether there were more.
func (p *Preloaded) full() bool { return len(p.was) > mostReplaced }

// replace notes the value that a key had.
func (p *Preloaded) replace(number uint64, value []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.was == nil {
		p.was = map[uint64]uint32{}
	}
	if p.full() {
		return
	}
	p.was[number] = crc32.ChecksumIEEE(value)
}

// replaced reports whether value is the one that the key had, up to a checksum
// of 32 bits.
func (p *Preloaded) replaced(number uint64, value []byte) bool {
	if p == nil || len(p.was) == 0 {
		return false
	}
	sum, ok := p.was[number]
	return ok && sum == crc32.ChecksumIEEE(value)
}
