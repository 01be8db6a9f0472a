package watch

import (
	"sync/atomic"
)

// fanOut knows when the last of the watchers has a write, where all watch all keys. All
// loops of a generator share it without locks.
type fanOut struct {
	watchers uint32
	told     []atomic.Uint64 // by place: of which write, and how many have it
}

// toldBits are those of fanOut.told that count.
const toldBits = 24

// last counts that a watcher has the n-th write of the measured phase, and reports whether
// now all have it. Of a write so long ago that its place has another's it is not known.
func (f *fanOut) last(n uint64) bool {
	e := &f.told[n%uint64(len(f.told))]
	name := n << toldBits
	for {
		was := e.Load()
		now := name + 1
		switch {
		case was>>toldBits == n:
			now = was + 1
		case was>>toldBits > n: // a later one's
			return false
		}
		if e.CompareAndSwap(was, now) {
			return uint32(now&(1<<toldBits-1)) == f.watchers
		}
	}
}
