// Package watch evaluates the events that a load's watchers receive: which of them were lost,
// duplicated or out of order, and how long after their writes they arrived.
package watch

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Times remembers when the latest writes were due, sent and acknowledged. All loops of a generator
// share it without locks: a write is due in one loop, and its event arrives in another, perhaps
// before the write's response.
type Times struct {
	of   []times
	mask uint64
}

// times holds the times of the write whose name is in key; 0 means no write.
type times struct {
	key              atomic.Uint64
	due, sent, acked atomic.Int64
}

// Bounds of the number of entries. At 50,000 writes per second the last ten seconds of both phases
// take 32 MiB. In a load with few operations the warm-up may have many more, and a busy machine
// handles its events late.
const (
	fewestTimes = 1 << 16
	mostTimes   = 1 << 20
)

// NewTimes returns a Times for at least the n latest writes of each phase, within bounds; 0 means
// as many as possible.
func NewTimes(n uint64) *Times {
	size := uint64(fewestTimes)
	for size < mostTimes && (size < 2*n || n == 0) {
		size *= 2
	}
	return &Times{of: make([]times, size), mask: size - 1}
}

// key returns the name of a write. The phases have different places, because events of the warm-up
// may arrive after the start of the window.
func key(phase measure.Phase, n uint64) uint64 { return n<<2 | uint64(phase)<<1 | 1 }

func (t *Times) entry(key uint64) *times { return &t.of[key>>1&t.mask] }

// Due notes when the phase's n-th operation was due. The operation is not sent yet.
func (t *Times) Due(phase measure.Phase, n uint64, due int64) {
	k := key(phase, n)
	e := t.entry(k)
	e.key.Store(0)
	e.due.Store(due)
	e.sent.Store(0)
	e.acked.Store(0)
	e.key.Store(k)
}

// Acked notes when an operation was acknowledged, unless the operation is forgotten.
func (t *Times) Acked(phase measure.Phase, n uint64, at int64) {
	k := key(phase, n)
	if e := t.entry(k); e.key.Load() == k {
		e.acked.Store(at)
	}
}

// ackedAt returns when the write with the given name was acknowledged; 0: unknown.
func (t *Times) ackedAt(name uint64) int64 {
	e := t.entry(name)
	at := e.acked.Load()
	if name == 0 || e.key.Load() != name {
		return 0
	}
	return at
}

// Sent notes when an operation was sent, unless the operation is forgotten.
func (t *Times) Sent(phase measure.Phase, n uint64, sent int64) {
	k := key(phase, n)
	if e := t.entry(k); e.key.Load() == k {
		e.sent.Store(sent)
	}
}

// Lookup returns when an operation was due and sent; ok is false if it is forgotten or was never
// sent.
func (t *Times) Lookup(phase measure.Phase, n uint64) (due, sent int64, ok bool) {
	want := key(phase, n)
	e := t.entry(want)
	if e.key.Load() != want {
		return 0, 0, false
	}
	due, sent = e.due.Load(), e.sent.Load()
	return due, sent, sent != 0 && e.key.Load() == want
}
