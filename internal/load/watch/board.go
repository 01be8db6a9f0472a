package watch

import (
	"sync/atomic"
)

// Board holds what the loops of a generator share about the watched writes. It needs no locks.
type Board struct {
	Times *Times
	// Answers is nil unless events are matched to writes by their revisions.
	Answers *Answers
	acked   []atomic.Uint32 // by key number: acknowledged writes
	// For stores that report states, by key number: when the most recently sent of the
	// acknowledged writes was sent, and the highest revision that any watcher received.
	latest, newest []atomic.Int64
	// deleted is set, for such stores, once a delete of the key was or may have been executed.
	// The effects of the delete, and of the writes before it, may never be reported.
	deleted []atomic.Bool
	busy    atomic.Int32 // loops with unfinished operations
	fan     *fanOut      // nil unless all watchers watch all keys
}

// NewBoard returns a board for the keys from 0 to keys-1 and the given number of loops. writes is
// the expected number of writes; 0: unknown.
func NewBoard(keys uint64, loops int, writes uint64) *Board {
	b := &Board{Times: NewTimes(writes), acked: make([]atomic.Uint32, keys)}
	b.busy.Store(int32(loops))
	return b
}

// ExpectStates prepares the board for watchers that receive states (Config.States). It is called
// before the load.
func (b *Board) ExpectStates() {
	b.latest, b.newest = make([]atomic.Int64, len(b.acked)), make([]atomic.Int64, len(b.acked))
	b.deleted = make([]atomic.Bool, len(b.acked))
}

// Acknowledge counts an acknowledged write of a key.
func (b *Board) Acknowledge(key uint64) {
	if key < uint64(len(b.acked)) {
		b.acked[key].Add(1)
	}
}

// AcknowledgeSent is like Acknowledge, for a write that was sent at the given time. Watchers of
// states must report it, or a later one.
func (b *Board) AcknowledgeSent(key uint64, sent int64) {
	if key < uint64(len(b.latest)) {
		raise(&b.latest[key], sent)
	}
	b.Acknowledge(key)
}

// AcknowledgeUnsure is like Acknowledge, for a write that watchers of states need not report: a
// delete of a key that may not have existed, or a write that may not have changed the key.
func (b *Board) AcknowledgeUnsure(key uint64) {
	b.MayBeDeleted(key)
	b.Acknowledge(key)
}

// MayBeDeleted notes that the key may have been deleted, without an acknowledgment. Watchers of
// states need not report earlier writes.
func (b *Board) MayBeDeleted(key uint64) {
	if key < uint64(len(b.deleted)) {
		b.deleted[key].Store(true)
	}
}

// raise sets n to the given value unless it is higher already.
func raise(n *atomic.Int64, to int64) {
	for {
		old := n.Load()
		if old >= to || n.CompareAndSwap(old, to) {
			return
		}
	}
}

// Acknowledged returns the number of acknowledged writes of the key.
func (b *Board) Acknowledged(key uint64) uint32 {
	if key < uint64(len(b.acked)) {
		return b.acked[key].Load()
	}
	return 0
}

// LoopEnded notes that all operations of one loop have ended.
func (b *Board) LoopEnded() { b.busy.Add(-1) }

// AllLoopsEnded reports whether the operations of all loops have ended, so that no more writes can
// be acknowledged.
func (b *Board) AllLoopsEnded() bool { return b.busy.Load() <= 0 }

// WatchEveryKey notes, before the watchers start, that each of the given number of watchers watches
// every key that is written.
func (b *Board) WatchEveryKey(watchers int) {
	if watchers < 1<<countBits {
		b.fan = &fanOut{watchers: uint32(watchers), counts: make([]atomic.Uint64, fewestTimes)}
	}
}
