// Package watch is what watchers see of a load: which events came, which were
// lost, doubled or out of order, and how long after their writes they came.
package watch

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Times remembers when the latest writes were due and sent. All loops of a
// generator share it without locks: a write is due in one loop, and its event
// comes in another, perhaps before the write's own answer.
type Times struct {
	of   []times
	mask uint64
}

// times belong to a write while its name is in key; 0 is nobody's.
type times struct {
	key              atomic.Uint64
	due, sent, acked atomic.Int64
}

// Bounds of what is remembered. At 50,000 writes a second the last ten seconds
// of each phase are 24 MB. Of a load with few operations the warm-up may have many,
// and its events are behind where the machine is busy.
const (
	fewestTimes = 1 << 16
	mostTimes   = 1 << 20
)

// NewTimes remembers the n latest writes of each phase at least, within bounds;
// 0 means as many as there may be.
func NewTimes(n uint64) *Times {
	size := uint64(fewestTimes)
	for size < mostTimes && (size < 2*n || n == 0) {
		size *= 2
	}
	return &Times{of: make([]times, size), mask: size - 1}
}

// key is a write's name. The phases have places of their own: a warm-up's
// events may come when the window has begun.
func key(phase measure.Phase, n uint64) uint64 { return n<<2 | uint64(phase)<<1 | 1 }

func (t *Times) at(key uint64) *times { return &t.of[key>>1&t.mask] }

// Due notes when the phase's n-th operation was due. It was not sent yet.
func (t *Times) Due(phase measure.Phase, n uint64, due int64) {
	k := key(phase, n)
	e := t.at(k)
	e.key.Store(0)
	e.due.Store(due)
	e.sent.Store(0)
	e.acked.Store(0)
	e.key.Store(k)
}

// Acked notes when it was acknowledged, unless it is forgotten.
func (t *Times) Acked(phase measure.Phase, n uint64, at int64) {
	k := key(phase, n)
	if e := t.at(k); e.key.Load() == k {
		e.acked.Store(at)
	}
}

// ackedAt is when the write with the name was acknowledged; 0: it is not known.
func (t *Times) ackedAt(name uint64) int64 {
	e := t.at(name)
	at := e.acked.Load()
	if name == 0 || e.key.Load() != name {
		return 0
	}
	return at
}

// Sent notes when it was sent, unless it is forgotten.
func (t *Times) Sent(phase measure.Phase, n uint64, sent int64) {
	k := key(phase, n)
	if e := t.at(k); e.key.Load() == k {
		e.sent.Store(sent)
	}
}

// Of returns both; ok is false if they are forgotten, or it was never sent.
func (t *Times) Of(phase measure.Phase, n uint64) (due, sent int64, ok bool) {
	want := key(phase, n)
	e := t.at(want)
	if e.key.Load() != want {
		return 0, 0, false
	}
	due, sent = e.due.Load(), e.sent.Load()
	return due, sent, sent != 0 && e.key.Load() == want
}
