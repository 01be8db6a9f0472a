// Package watch evaluates the events that a load's watchers receive. It determines which events
// were lost, duplicated or out of order, and how long after their writes they arrived.
package watch

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Times stores the times at which the latest writes were due, sent and acknowledged. All event
// loops of a generator share one Times without locks. They share it because one loop sends a write,
// and another loop may receive the write's event, possibly before the response to the write.
type Times struct {
	entries []writeTimes
	mask    uint64
}

// writeTimes holds the times of the write that the field `key` identifies. If key is 0, the entry
// is empty.
type writeTimes struct {
	key                     atomic.Uint64
	due, sent, acknowledged atomic.Int64
}

// These are the bounds for the number of entries. The upper bound takes 32 MiB, which is enough for
// the last ten seconds of both phases at 50,000 writes per second. The lower bound is high for two
// reasons: in a load with few operations, the warm-up may have many more operations than the
// window, and a busy machine handles the warm-up's events late.
const (
	minEntries = 1 << 16
	maxEntries = 1 << 20
)

// entryCount returns the number of entries for the latest n writes of each phase, within bounds. It
// is a power of 2. If n is 0, entryCount returns the maximum.
func entryCount(n uint64) uint64 {
	size := uint64(minEntries)
	for size < maxEntries && (size < 2*n || n == 0) {
		size *= 2
	}
	return size
}

// NewTimes returns a Times with space for at least the latest n writes of each phase, within
// bounds. If n is 0, it has the maximum space.
func NewTimes(n uint64) *Times {
	size := entryCount(n)
	return &Times{entries: make([]writeTimes, size), mask: size - 1}
}

// encodeWrite returns a number that identifies a write. The two phases use different entries,
// because events for the warm-up may arrive after the start of the window.
func encodeWrite(phase measure.Phase, n uint64) uint64 { return n<<2 | uint64(phase)<<1 | 1 }

func (t *Times) entry(key uint64) *writeTimes { return &t.entries[key>>1&t.mask] }

// SetDue stores the time at which operation n of the phase was due. It must be called before the
// operation is sent.
func (t *Times) SetDue(phase measure.Phase, n uint64, due int64) {
	k := encodeWrite(phase, n)
	e := t.entry(k)
	e.key.Store(0)
	e.due.Store(due)
	e.sent.Store(0)
	e.acknowledged.Store(0)
	e.key.Store(k)
}

// SetAcknowledged stores the time at which an operation was acknowledged, if the operation is still
// stored.
func (t *Times) SetAcknowledged(phase measure.Phase, n uint64, at int64) {
	k := encodeWrite(phase, n)
	if e := t.entry(k); e.key.Load() == k {
		e.acknowledged.Store(at)
	}
}

// acknowledgedAt returns the time at which the write `name` (a result of encodeWrite) was
// acknowledged, or 0 if this time is unknown.
func (t *Times) acknowledgedAt(name uint64) int64 {
	e := t.entry(name)
	at := e.acknowledged.Load()
	if name == 0 || e.key.Load() != name {
		return 0
	}
	return at
}

// SetSent stores the time at which an operation was sent, if the operation is still stored.
func (t *Times) SetSent(phase measure.Phase, n uint64, sent int64) {
	k := encodeWrite(phase, n)
	if e := t.entry(k); e.key.Load() == k {
		e.sent.Store(sent)
	}
}

// Lookup returns the times at which an operation was due and sent. ok is false if the operation is
// no longer stored or was never sent.
func (t *Times) Lookup(phase measure.Phase, n uint64) (due, sent int64, ok bool) {
	want := encodeWrite(phase, n)
	e := t.entry(want)
	if e.key.Load() != want {
		return 0, 0, false
	}
	due, sent = e.due.Load(), e.sent.Load()
	return due, sent, sent != 0 && e.key.Load() == want
}
