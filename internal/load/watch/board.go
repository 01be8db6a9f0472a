package watch

import (
	"sync/atomic"
)

// Board holds the information about watched writes that the event loops of a generator share. It
// needs no locks.
type Board struct {
	Times *Times
	// Answers matches events to writes by their revisions. It is nil if events contain values,
	// which identify their writes.
	Answers *Answers
	acked   []atomic.Uint32 // by key number: number of acknowledged writes
	// latest and newest are used only for stores that report states. By key number, latest contains
	// the latest send time of all acknowledged writes, and newest contains the highest revision
	// that any watcher received.
	latest, newest []atomic.Int64
	// deleted is used only for stores that report states. By key number, an element is set when the
	// store has executed, or may have executed, a delete of the key. After that, the store may
	// never report the effects of the delete and of earlier writes.
	deleted []atomic.Bool
	busy    atomic.Int32 // number of event loops that have unfinished operations
	fan     *fanOut      // nil if not all watchers watch all keys
}

// NewBoard returns a board for the keys 0 to keys-1 and for the given number of event loops.
// `writes` is the expected number of writes, or 0 if the number is unknown.
func NewBoard(keys uint64, loops int, writes uint64) *Board {
	b := &Board{Times: NewTimes(writes), acked: make([]atomic.Uint32, keys)}
	b.busy.Store(int32(loops))
	return b
}

// ExpectStates prepares the board for watchers that receive states (Config.States). It must be
// called before the load.
func (b *Board) ExpectStates() {
	b.latest, b.newest = make([]atomic.Int64, len(b.acked)), make([]atomic.Int64, len(b.acked))
	b.deleted = make([]atomic.Bool, len(b.acked))
}

// Acknowledge counts an acknowledged write to a key.
func (b *Board) Acknowledge(key uint64) {
	if key < uint64(len(b.acked)) {
		b.acked[key].Add(1)
	}
}

// AcknowledgeSent counts an acknowledged write that was sent at the given time. Watchers of states
// must report this write, or a later write.
func (b *Board) AcknowledgeSent(key uint64, sent int64) {
	if key < uint64(len(b.latest)) {
		raise(&b.latest[key], sent)
	}
	b.Acknowledge(key)
}

// AcknowledgeUnsure counts an acknowledged write that watchers of states need not report. Examples
// are the delete of a key that may not have existed, and a write that may not have changed the key.
func (b *Board) AcknowledgeUnsure(key uint64) {
	b.MayBeDeleted(key)
	b.Acknowledge(key)
}

// MayBeDeleted records that an unacknowledged delete may have deleted the key. After that, watchers
// of states need not report earlier writes.
func (b *Board) MayBeDeleted(key uint64) {
	if key < uint64(len(b.deleted)) {
		b.deleted[key].Store(true)
	}
}

// raise sets n to the given value if n is lower.
func raise(n *atomic.Int64, to int64) {
	for {
		old := n.Load()
		if old >= to || n.CompareAndSwap(old, to) {
			return
		}
	}
}

// Acknowledged returns the number of acknowledged writes to the key.
func (b *Board) Acknowledged(key uint64) uint32 {
	if key < uint64(len(b.acked)) {
		return b.acked[key].Load()
	}
	return 0
}

// LoopEnded must be called when all operations of one event loop have ended.
func (b *Board) LoopEnded() { b.busy.Add(-1) }

// AllLoopsEnded reports whether the operations of all event loops have ended. After that, no more
// writes can be acknowledged.
func (b *Board) AllLoopsEnded() bool { return b.busy.Load() <= 0 }

// WatchEveryKey records that each of the given number of watchers watches every key that is
// written. It must be called before the watchers start.
func (b *Board) WatchEveryKey(watchers int) {
	if watchers < 1<<countBits {
		b.fan = &fanOut{watchers: uint32(watchers), counts: make([]atomic.Uint64, fewestTimes)}
	}
}
