package watch

import (
	"sync/atomic"
)

// Board holds the information about watched writes that the event loops of a generator share. It
// needs no locks.
type Board struct {
	Times *Times
	// RevisionWriters matches events to writes by their revisions. It is nil if events contain
	// values, which identify their writes.
	RevisionWriters *RevisionWriters
	acknowledged    []atomic.Uint32 // by key number: number of acknowledged writes
	// latestSend and latestRevision are used only for stores that report states. By key number,
	// latestSend contains the latest send time of all acknowledged writes, and latestRevision
	// contains the highest revision that any watcher received.
	latestSend, latestRevision []atomic.Int64
	// maybeDeleted is used only for stores that report states. The element for a key number is set
	// when the store has executed, or may have executed, a delete of this key. After that, the
	// store may never report the effects of the delete or of earlier writes.
	maybeDeleted []atomic.Bool
	activeLoops  atomic.Int32 // number of event loops that have unfinished operations
	fanOut       *fanOut      // nil unless all watchers watch all keys
}

// NewBoard returns a board for the keys 0 to keys-1 and for the given number of event loops.
// `writes` is the expected number of writes, or 0 if the number is unknown.
func NewBoard(keys uint64, loops int, writes uint64) *Board {
	b := &Board{Times: NewTimes(writes), acknowledged: make([]atomic.Uint32, keys)}
	b.activeLoops.Store(int32(loops))
	return b
}

// ExpectStates prepares the board for watchers that receive states (Config.States). It must be
// called before the load.
func (b *Board) ExpectStates() {
	b.latestSend, b.latestRevision = make([]atomic.Int64, len(b.acknowledged)), make([]atomic.Int64, len(b.acknowledged))
	b.maybeDeleted = make([]atomic.Bool, len(b.acknowledged))
}

// Acknowledge counts an acknowledged write to a key.
func (b *Board) Acknowledge(key uint64) {
	if key < uint64(len(b.acknowledged)) {
		b.acknowledged[key].Add(1)
	}
}

// AcknowledgeSent counts an acknowledged write that was sent at the given time. Watchers of states
// must report this write, or a later write.
func (b *Board) AcknowledgeSent(key uint64, sent int64) {
	if key < uint64(len(b.latestSend)) {
		raise(&b.latestSend[key], sent)
	}
	b.Acknowledge(key)
}

// AcknowledgeUncertain counts an acknowledged write that watchers of states need not report.
// Examples are the delete of a key that may not have existed, and a write that may not have changed
// the key.
func (b *Board) AcknowledgeUncertain(key uint64) {
	b.MayBeDeleted(key)
	b.Acknowledge(key)
}

// MayBeDeleted records that an unacknowledged delete may have deleted the key. After that, watchers
// of states need not report earlier writes.
func (b *Board) MayBeDeleted(key uint64) {
	if key < uint64(len(b.maybeDeleted)) {
		b.maybeDeleted[key].Store(true)
	}
}

// raise sets n to the given value if n is lower.
func raise(n *atomic.Int64, value int64) {
	for {
		old := n.Load()
		if old >= value || n.CompareAndSwap(old, value) {
			return
		}
	}
}

// Acknowledged returns the number of acknowledged writes to the key.
func (b *Board) Acknowledged(key uint64) uint32 {
	if key < uint64(len(b.acknowledged)) {
		return b.acknowledged[key].Load()
	}
	return 0
}

// EndLoop must be called when all operations of one event loop have ended.
func (b *Board) EndLoop() { b.activeLoops.Add(-1) }

// AllLoopsEnded reports whether the operations of all event loops have ended. After that, no more
// writes can be acknowledged.
func (b *Board) AllLoopsEnded() bool { return b.activeLoops.Load() <= 0 }

// WatchEveryKey records that each of the given number of watchers watches every key that is
// written. It must be called before the watchers start.
func (b *Board) WatchEveryKey(watchers int) {
	if watchers < 1<<countBits {
		b.fanOut = &fanOut{watchers: uint32(watchers), counts: make([]atomic.Uint64, minEntries)}
	}
}
