package watch

import (
	"sync/atomic"
)

// fanOut determines when the last watcher has received a write, if all watch all keys. All loops of
// a generator share it without locks.
type fanOut struct {
	watchers uint32
	counts   []atomic.Uint64 // by place: the number of the write, and in the lower bits how many watchers have received it
}

// countBits is the number of bits in fanOut.counts that count watchers.
const countBits = 24

// countLast counts that a watcher has received the n-th write of the measured phase, and reports
// whether all have received it now. It returns false if a later write has taken write n's place.
func (f *fanOut) countLast(n uint64) bool {
	e := &f.counts[n%uint64(len(f.counts))]
	name := n << countBits
	for {
		was := e.Load()
		now := name + 1
		switch {
		case was>>countBits == n:
			now = was + 1
		case was>>countBits > n: // a later write has the place
			return false
		}
		if e.CompareAndSwap(was, now) {
			return uint32(now&(1<<countBits-1)) == f.watchers
		}
	}
}
