// Package history stores every operation of a load for verification. The load generator fills
// encoded blocks, which are written to files in the run directory.
package history

import "github.com/quorumbench/quorumbench/internal/kv"

// Special values of the fields Written and Read, which contain identities of values, and of the
// field Expected. The identity of a value identifies the write that wrote the value. It is unique
// among all writes of the same key.
const (
	Absent          uint64 = 0         // the key did not exist
	UnknownValue    uint64 = 1<<64 - 1 // the reply contains no value, or a value that identifies no write
	UnknownRevision        = int64(-1) // in Expected: the condition of the compare-and-set is unknown
	maxInt                 = 1<<62 - 1 // largest time and revision
)

// Op records one operation, one key of a transaction or range, or one event that a watcher
// received. Kind determines which fields are used.
//
// Examples, with only the relevant fields:
//
//	{Kind: Put, Key: 7, Written: 41, Revision: 100}                 a put at revision 100
//	{Kind: Get, Key: 7, Read: 41, ModRevision: 100, Revision: 105}  found it at revision 105
//	{Kind: CAS, Key: 7, Written: 42, Expected: 100, Outcome: Conflict}
//
// A range has one record for each key that it covers, even for keys that do not exist. If the reply
// to the range contains nothing about any key, the range has a single record, with UnknownValue in
// Read and 0 in ModRevision.
//
// A record with Kind Ephemeral marks the end of a session to which a version of the key was bound.
// ModRevision is the revision of this version. If reads do not report revisions, Written identifies
// the version instead. The session ended at Revision. A separate record describes the write of the
// version: the CAS that created the key in that session, or a later Put.
//
// Invariant: 0 <= Invoked <= Done, and Check returns nil.
type Op struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Outcome     kv.Outcome
	// ContinuesPrevious is set if this record continues the transaction or range in the previous
	// record. The two records have different keys, but the same times, outcome and revision.
	ContinuesPrevious bool
	// Final is set for a read that was sent after the end of the load, when all faults had been
	// healed.
	Final   bool
	Session uint32 // the client; the operations of a client never overlap
	Member  uint64 // the member that replied; 0 if unknown
	Key     uint64 // number of the key
	// Invoked is the time just before the request was written. Done is the time after the reply was
	// read or after the operation was given up. Both are nanoseconds on the same clock, between 0
	// and 2^62-1.
	Invoked, Done int64
	Written       uint64 // identity of the written value, or Absent; for a KeepAlive, the lease
	Read          uint64 // identity of the value that was read
	// Revision is the store's revision at which the operation was served. For an executed write, it
	// is the revision of the write itself. Revision is 0 if the store does not report it.
	Revision int64
	// ModRevision is the revision of the version that was read or that caused a conflict. It is 0
	// if there was no such version or if the revision is unknown. For a KeepAlive, it is the
	// lease's remaining time to live in seconds, or 0 if the lease has ended.
	ModRevision int64
	// For a compare-and-set, Expected is the ModRevision that the key must have; 0 means that the
	// key must not exist. If the store counts versions (store.Guarantees), Expected is a count of
	// writes to the key: the required count for a compare-and-set, and the count before the write
	// for any other executed write. For a Delete, Expected is the ModRevision in its condition, or
	// 0 if the Delete was unconditional.
	Expected int64
	// Watch is used only if Kind is kv.Watch. It is the type of the event that the watcher
	// received; Session is the watcher's number. The type determines the meaning of the other
	// fields.
	Watch WatchEvent
	// LockChange is used only if Kind is kv.KeepAlive. It describes how the lease's hold on a lock
	// changed. Key is the number of the lock, and ModRevision is the fencing token.
	LockChange LockChange
}

// LockChange describes a change in whether a client holds a lock.
type LockChange uint8

// The values of LockChange.
const (
	NoLockChange LockChange = iota // no change: the operation is a keep-alive
	// Granted means that the client requested the lock at Invoked, and knew at Done that it held
	// the lock.
	Granted
	// Released means that the client considered itself the lock holder until Invoked.
	Released
)

// WatchEvent is the type of an event that a watcher received.
type WatchEvent uint8

// The values of WatchEvent.
const (
	// WatchStarted means that the watcher was created, or created again after its connection was
	// lost. Key is the first watched key, and Written is the number of watched keys. The watcher
	// receives the writes at ModRevision and later. If ModRevision is 0, it receives the writes
	// after Revision. ContinuesPrevious is set if the watcher receives only the newest version of a
	// key and may skip other versions. If Outcome is Miss, the record is about an existing watcher,
	// which learned that the key did not exist at Revision; the time of the deletion is unknown.
	WatchStarted WatchEvent = iota
	// KeyChanged means that the key got the value Read at ModRevision, or was deleted if Read is
	// Absent. ContinuesPrevious is set if the previous event was in the same message. Expected and
	// Written are the previous version and value, or 0 if unknown. If Outcome is WrongResponse, the
	// event is about a key that does not belong to the load.
	KeyChanged
	// ProgressReached means that the watcher has received all events up to ModRevision.
	ProgressReached
	// WatchEnded means that the store ended the watcher, with the error in Outcome.
	WatchEnded
)

// Acknowledged reports whether the store confirmed the operation. A confirmed write has a position
// in the store's order of writes.
func (o *Op) Acknowledged() bool { return o.Outcome == kv.OK || o.Outcome == kv.Stale }

// HasStoreData reports whether the reply contains information about the store's data.
func (o *Op) HasStoreData() bool {
	return o.Acknowledged() || o.Outcome == kv.Miss || o.Outcome == kv.Conflict
}

// PossibleDelete returns a record for a delete that the store may have executed because the session
// or lease to which the key was bound ended. The store cannot have executed the delete before the
// time `from`. The end of the session or lease became known at the time `now`.
func PossibleDelete(key uint64, session uint32, from, now int64) Op {
	return Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: session, Key: key, Invoked: min(from, now), Done: now}
}

// IsExecutedWrite reports whether the operation is a write that was executed.
func (o *Op) IsExecutedWrite() bool { return o.Kind.Writes() && o.Acknowledged() }

// Indefinite reports whether the operation is a write whose execution is uncertain: the store may
// have executed it, may execute it later, or may never execute it.
func (o *Op) Indefinite() bool {
	return o.Kind.Writes() && o.Outcome.Failed() && !o.Outcome.Definite()
}
