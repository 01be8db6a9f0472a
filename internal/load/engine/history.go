package engine

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Completion describes an operation that was sent and has ended, possibly by a timeout.
type Completion struct {
	Phase measure.Phase
	N     uint64 // number of the operation in the phase
	Ref   uint64 // the value that Source.Fill returned
	// Expected is the version that the operation's condition required (store.Op.Revision).
	Expected int64
	Event    *store.Event
	// Op has all fields set except those that only the Source knows: the key, the values, and the
	// versions in the reply.
	Op *history.Op
}

// History records a loop's operations, and what happened to the keys, locks and watchers that these
// operations created. An implementation embeds HistoryBase and overrides the methods that it needs.
// The caller reuses the memory of all arguments after the call.
type History interface {
	// OperationEnded is called once for every operation that was sent, when it has ended.
	OperationEnded(c *Completion)
	// LockChanged is called when a client acquires its lock (store.LockAcquired) and just before
	// the client releases the lock (store.LockReleasing). The parameter `began` is the time at
	// which the client's operation was sent.
	LockChanged(ev *store.Event, client uint32, began, now int64)
	// WatchEvent is called for every event that a watcher receives. The event store.OperationDone
	// reports that the watcher was created. For this event, `requested` is the time at which the
	// loop requested the creation, and `from` is the first revision that the loop requested. If
	// `from` is 0, the loop requested the writes after the creation.
	WatchEvent(watcher uint32, ev *store.Event, requested, from, now int64)
	// KeyMayBeDeleted is called when a key may have been deleted at or after the time `from`,
	// because the session that created it was closed or its connection was lost. ref is the value
	// that Fill returned.
	KeyMayBeDeleted(ref uint64, session uint32, from, now int64)
	// SessionEnded is called when the server has confirmed the end of a session. The session had
	// created the key with the reference ref at revision o.ModRevision. All fields of o are set
	// except the key and the value.
	SessionEnded(ref uint64, o *history.Op)
	// LoadEnded is called when the loop will send no operation and no keep-alive after the time
	// `now`.
	LoadEnded(now int64)
}

// HistoryBase implements all methods of History except OperationEnded. Its methods do nothing.
type HistoryBase struct{}

// LockChanged implements History.
func (HistoryBase) LockChanged(*store.Event, uint32, int64, int64) {}

// WatchEvent implements History.
func (HistoryBase) WatchEvent(uint32, *store.Event, int64, int64, int64) {}

// KeyMayBeDeleted implements History.
func (HistoryBase) KeyMayBeDeleted(uint64, uint32, int64, int64) {}

// SessionEnded implements History.
func (HistoryBase) SessionEnded(uint64, *history.Op) {}

// LoadEnded implements History.
func (HistoryBase) LoadEnded(int64) {}
