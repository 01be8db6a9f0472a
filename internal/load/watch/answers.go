package watch

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Answers remembers the operations that wrote the store's latest revisions. All loops of a
// generator share it without locks, like Times.
type Answers struct {
	of    []answered
	mask  uint64
	count atomic.Uint64
}

// answered is the entry of a write while revision holds the write's revision; 0 means no write.
type answered struct {
	revision atomic.Int64
	key      atomic.Uint64 // as in Times
}

// NewAnswers returns an Answers for at least the n latest writes, within bounds; 0 means as many as
// possible.
func NewAnswers(n uint64) *Answers {
	size := uint64(fewestTimes)
	for size < mostTimes && (size < 2*n || n == 0) {
		size *= 2
	}
	return &Answers{of: make([]answered, size), mask: size - 1}
}

// Put notes that the phase's n-th operation wrote a revision.
func (a *Answers) Put(revision int64, phase measure.Phase, n uint64) {
	e := &a.of[uint64(revision)&a.mask]
	e.revision.Store(0)
	e.key.Store(key(phase, n))
	e.revision.Store(revision)
	a.count.Add(1)
}

// Count returns the number of calls of Put.
func (a *Answers) Count() uint64 { return a.count.Load() }

// Lookup returns the operation that wrote a revision; ok is false if it is unknown or forgotten.
func (a *Answers) Lookup(revision int64) (phase measure.Phase, n uint64, ok bool) {
	e := &a.of[uint64(revision)&a.mask]
	if e.revision.Load() != revision {
		return 0, 0, false
	}
	k := e.key.Load()
	return measure.Phase(k >> 1 & 1), k >> 2, e.revision.Load() == revision
}
