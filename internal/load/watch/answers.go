package watch

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Answers remembers at which revisions of the store the latest writes were done.
// All loops of a generator share it without locks, as they do Times.
type Answers struct {
	of    []answered
	mask  uint64
	count atomic.Uint64
}

// answered is a write while its revision is in revision; 0 is nobody's.
type answered struct {
	revision atomic.Int64
	key      atomic.Uint64 // as Times has it
}

// NewAnswers remembers the n latest writes at least, within bounds; 0 means as many
// as there may be.
func NewAnswers(n uint64) *Answers {
	size := uint64(fewestTimes)
	for size < mostTimes && (size < 2*n || n == 0) {
		size *= 2
	}
	return &Answers{of: make([]answered, size), mask: size - 1}
}

// Put notes that the phase's n-th operation was done at a revision.
func (a *Answers) Put(revision int64, phase measure.Phase, n uint64) {
	e := &a.of[uint64(revision)&a.mask]
	e.revision.Store(0)
	e.key.Store(key(phase, n))
	e.revision.Store(revision)
	a.count.Add(1)
}

// Count is how many there were.
func (a *Answers) Count() uint64 { return a.count.Load() }

// Of is the operation that was done at a revision; ok is false if it is not known,
// or forgotten.
func (a *Answers) Of(revision int64) (phase measure.Phase, n uint64, ok bool) {
	e := &a.of[uint64(revision)&a.mask]
	if e.revision.Load() != revision {
		return 0, 0, false
	}
	k := e.key.Load()
	return measure.Phase(k >> 1 & 1), k >> 2, e.revision.Load() == revision
}
