package engine

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Completion is an operation that was sent and has ended, or was given up.
type Completion struct {
	Phase measure.Phase
	N     uint64 // its number in the phase
	Ref   uint64 // what Source.Fill returned
	// Expected is the version that it was to find (store.Op.Revision).
	Expected int64
	Event    *store.Event
	// Op has all but what the Source alone knows: its key and values, and what its answer
	// says about versions.
	Op *history.Op
}

// History records the operations of a loop, and what happens to what they made. It embeds
// HistoryBase, and implements the other methods that it needs. What it is given is the
// caller's.
type History interface {
	// Ended takes every operation that was sent.
	Ended(c *Completion)
	// Locked takes that a client's operation, which was sent at began, has its lock now
	// (store.Held), or is about to give it back (store.Freed).
	Locked(ev *store.Event, client uint32, began, now int64)
	// Told takes what a watcher was told now. Of a Done, which says that it was created,
	// asked is when that was asked for, and from the first revision that was wanted, 0 for
	// what is written from then on.
	Told(watcher uint32, ev *store.Event, asked, from, now int64)
	// MayEnd takes that the key which Fill referred to, made in a session that ends, or
	// whose connection was lost, may be gone from the given time on.
	MayEnd(ref uint64, session uint32, from, now int64)
	// SessionEnded takes that the session was closed, as it was asked to, which had made
	// such a key at revision o.Mod. Of o all is known but the key and its value.
	SessionEnded(ref uint64, o *history.Op)
	// Closed takes that nothing is sent any more from now on, and nothing is kept alive.
	Closed(now int64)
}

// HistoryBase implements all methods of History but Ended, with no effect.
type HistoryBase struct{}

// Locked implements History.
func (HistoryBase) Locked(*store.Event, uint32, int64, int64) {}

// Told implements History.
func (HistoryBase) Told(uint32, *store.Event, int64, int64, int64) {}

// MayEnd implements History.
func (HistoryBase) MayEnd(uint64, uint32, int64, int64) {}

// SessionEnded implements History.
func (HistoryBase) SessionEnded(uint64, *history.Op) {}

// Closed implements History.
func (HistoryBase) Closed(int64) {}
