package watch

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// RevisionWriters stores, for each of the store's latest revisions, the operation that created it.
// All event loops of a generator share the RevisionWriters without locks.
type RevisionWriters struct {
	entries []revisionWriter
	mask    uint64
	count   atomic.Uint64
}

// revisionWriter identifies the write that created a revision. If revision is 0, the entry is
// empty.
type revisionWriter struct {
	revision atomic.Int64
	key      atomic.Uint64 // encoded as in Times
}

// NewRevisionWriters returns a RevisionWriters with space for at least the latest n writes, within
// bounds. If n is 0, it has the maximum space.
func NewRevisionWriters(n uint64) *RevisionWriters {
	size := entryCount(n)
	return &RevisionWriters{entries: make([]revisionWriter, size), mask: size - 1}
}

// Put stores the revision that operation n of the phase created.
func (a *RevisionWriters) Put(revision int64, phase measure.Phase, n uint64) {
	e := &a.entries[uint64(revision)&a.mask]
	e.revision.Store(0)
	e.key.Store(encodeWrite(phase, n))
	e.revision.Store(revision)
	a.count.Add(1)
}

// Count returns how many times Put was called.
func (a *RevisionWriters) Count() uint64 { return a.count.Load() }

// Lookup returns the operation that created a revision. ok is false if the operation is unknown or
// is no longer stored.
func (a *RevisionWriters) Lookup(revision int64) (phase measure.Phase, n uint64, ok bool) {
	e := &a.entries[uint64(revision)&a.mask]
	if e.revision.Load() != revision {
		return 0, 0, false
	}
	k := e.key.Load()
	return measure.Phase(k >> 1 & 1), k >> 2, e.revision.Load() == revision
}
