package watch

import (
	"sync/atomic"
)

// Board is what the loops of one generator share about the writes that are
// watched. It is used without locks.
type Board struct {
	Times *Times
	// Answers are nil unless events are known by their revisions.
	Answers *Answers
	acked   []atomic.Uint32 // by key number: acknowledged writes
	// Of stores that tell states, by key number: when the acknowledged write that was
	// sent last was sent, and the highest revision that any watcher was told.
	latest, newest []atomic.Int64
	// deleted says of such stores that a delete of the key was acknowledged, or may have
	// been done: what it and the writes before it made of the key need not show.
	deleted []atomic.Bool
	busy    atomic.Int32 // loops whose operations have not all ended
	fan     *fanOut      // nil unless all watch all keys
}

// NewBoard returns a board for the keys from 0 to keys-1, the given number of
// loops and, as far as it is known, the number of writes to come (else 0).
func NewBoard(keys uint64, loops int, writes uint64) *Board {
	b := &Board{Times: NewTimes(writes), acked: make([]atomic.Uint32, keys)}
	b.busy.Store(int32(loops))
	return b
}

// TellStates makes the board one of watchers that are told states (Config.States). It
// is called before the load.
func (b *Board) TellStates() {
	b.latest, b.newest = make([]atomic.Int64, len(b.acked)), make([]atomic.Int64, len(b.acked))
	b.deleted = make([]atomic.Bool, len(b.acked))
}

// Acknowledge counts a write of the key with the given number.
func (b *Board) Acknowledge(key uint64) {
	if key < uint64(len(b.acked)) {
		b.acked[key].Add(1)
	}
}

// AcknowledgeSent is Acknowledge of a write that was sent at the given time, which
// watchers that are told states are held to.
func (b *Board) AcknowledgeSent(key uint64, sent int64) {
	if key < uint64(len(b.latest)) {
		raise(&b.latest[key], sent)
	}
	b.Acknowledge(key)
}

// AcknowledgeUnsure is Acknowledge of a write that need not show: a delete of a key that
// may not have been there, or what makes a key what it may have been before.
func (b *Board) AcknowledgeUnsure(key uint64) {
	b.MayBeDeleted(key)
	b.Acknowledge(key)
}

// MayBeDeleted says that the key may have been deleted, though nobody said so: what was
// written before need not show.
func (b *Board) MayBeDeleted(key uint64) {
	if key < uint64(len(b.deleted)) {
		b.deleted[key].Store(true)
	}
}

// raise makes a number at least as high as another.
func raise(n *atomic.Int64, to int64) {
	for {
		old := n.Load()
		if old >= to || n.CompareAndSwap(old, to) {
			return
		}
	}
}

// Acknowledged is how many writes of the key were acknowledged.
func (b *Board) Acknowledged(key uint64) uint32 {
	if key < uint64(len(b.acked)) {
		return b.acked[key].Load()
	}
	return 0
}

// Done says that all operations of one loop have ended.
func (b *Board) Done() { b.busy.Add(-1) }

// Quiet reports whether those of all loops have, so that no more writes can be
// acknowledged.
func (b *Board) Quiet() bool { return b.busy.Load() <= 0 }

// Everybody says, before anything is watched, that each of so many watchers watches every
// key that is written.
func (b *Board) Everybody(watchers int) {
	if watchers < 1<<toldBits {
		b.fan = &fanOut{watchers: uint32(watchers), told: make([]atomic.Uint64, fewestTimes)}
	}
}
