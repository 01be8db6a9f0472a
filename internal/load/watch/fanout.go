package watch

import (
	"sync/atomic"
)

// fanOut determines when the last watcher has received a write, if all watch all keys. All loops of
// a generator share it without locks.
type fanOut struct {
	watchers uint32
	told     []atomic.Uint64 // by place: the number of the write, and in the lower bits how many watchers have received it
}

// toldBits is the number of bits in fanOut.told that count watchers.
const toldBits = 24

// last counts that a watcher has received the n-th write of the measured phase, and reports whether
// all have received it now. It returns false if a later write has taken the place of write n.
func (f *fanOut) last(n uint64) bool {
	e := &f.told[n%uint64(len(f.told))]
	name := n << toldBits
	for {
		was := e.Load()
		now := name + 1
		switch {
		case was>>toldBits == n:
			now = was + 1
		case was>>toldBits > n: // a later write has the place
			return false
		}
		if e.CompareAndSwap(was, now) {
			return uint32(now&(1<<toldBits-1)) == f.watchers
		}
	}
}
