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
	// Replaced has the checksum (CRC-32) of the value that a key had, by the
	// key's number.
	Replaced map[uint64]uint32
	// Versions are those of all keys, as keys.Versions lists them, for a load
	// that compares and sets; else nil. The load goes on in this memory.
	Versions []int64
}

func (p *Preloaded) versions() []int64 {
	if p == nil {
		return nil
	}
	return p.Versions
}

// preloading is what the loops of a preload note together.
type preloading struct {
	mu   sync.Mutex
	done Preloaded
}

// mostReplaced bounds the memory of that.
const mostReplaced = 10_000_000

// full reports whether there were more.
func (p *Preloaded) full() bool { return len(p.Replaced) > mostReplaced }

// replace notes the value that a key had.
func (p *preloading) replace(number uint64, value []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.replace(number, value)
}

func (p *Preloaded) replace(number uint64, value []byte) {
	if p.Replaced == nil {
		p.Replaced = map[uint64]uint32{}
	}
	if p.full() {
		return
	}
	p.Replaced[number] = crc32.ChecksumIEEE(value)
}

// replaced reports whether value is the one that the key had, up to a checksum
// of 32 bits.
func (p *Preloaded) replaced(number uint64, value []byte) bool {
	if p == nil || len(p.Replaced) == 0 {
		return false
	}
	sum, ok := p.Replaced[number]
	return ok && sum == crc32.ChecksumIEEE(value)
}
