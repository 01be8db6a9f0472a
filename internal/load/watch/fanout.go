package watch

import (
	"sync/atomic"
)

// fanOut detects when a write has reached the last watcher. It is used if all watchers watch all
// keys. All event loops of a generator share one fanOut without locks.
type fanOut struct {
	watchers uint32
	// The upper bits of an element are the number of a write. The lower bits are the number of
	// watchers that have received this write.
	counts []atomic.Uint64
}

// countBits is the number of lower bits in an element of fanOut.counts that count watchers.
const countBits = 24

// countReceiver adds one to the number of watchers that have received write n of the measured
// phase. It reports whether all watchers have now received the write. It returns false if a later
// write has replaced write n in counts.
func (f *fanOut) countReceiver(n uint64) bool {
	e := &f.counts[n%uint64(len(f.counts))]
	name := n << countBits
	for {
		old := e.Load()
		now := name + 1
		switch {
		case old>>countBits == n:
			now = old + 1
		case old>>countBits > n: // a later write has replaced write n
			return false
		}
		if e.CompareAndSwap(old, now) {
			return uint32(now&(1<<countBits-1)) == f.watchers
		}
	}
}
