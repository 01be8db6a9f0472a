// Package history stores every operation of a load for verification: in encoded blocks that the
// load generator fills, and in the files of a run directory.
package history

import "github.com/quorumbench/quorumbench/internal/kv"

// Special identities of values, and of versions. The identity of a value identifies the write
// of a key that wrote it. It is unique among the writes of the key.
const (
	Absent uint64 = 0         // the key did not exist
	Unseen uint64 = 1<<64 - 1 // the reply has no value, or a value that identifies no write
	AnyMod        = int64(-1) // of Expected: the condition of the compare-and-set is unknown
	maxInt        = 1<<62 - 1 // largest time and revision
)

// Op records one operation, one key of a transaction or range, or one event of a watcher. Its
// Kind determines which fields are used.
//
// Examples, with only the fields that matter:
//
//	{Kind: Put, Key: 7, Written: 41, At: 100}          a put at revision 100
//	{Kind: Get, Key: 7, Read: 41, Mod: 100, At: 105}   a get that found it at revision 105
//	{Kind: CAS, Key: 7, Written: 42, Expected: 100, Outcome: Conflict}
//
// A range has one record for each key that it covers, even if the key does not exist. If it
// reports nothing about any key, its one record has Read Unseen and Mod 0.
//
// A record of Kind Ephemeral is the end of the session to which a version of the key was bound:
// the version with revision Mod, or, if reads do not report revisions, the one with value
// Written. The session ended at revision At. The write of the version is a separate record:
// the CAS that created the key in that session, or a later Put.
//
// Invariant: 0 <= Invoked <= Done, and Check returns nil.
type Op struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Outcome     kv.Outcome
	// Joined reports that this record continues the transaction or range of the record before
	// it, with another key and the same times, outcome and revision.
	Joined bool
	// Final reports that this is a read after the load, when all faults had healed.
	Final   bool
	Session uint32 // the client; its operations were sequential
	Member  uint64 // the member that replied; 0: unknown
	Key     uint64 // number of the key
	// Invoked is the time just before the request was written, and Done the time after the
	// reply was read or the operation was given up, both in nanoseconds on one clock, between
	// 0 and 2^62-1.
	Invoked, Done int64
	Written       uint64 // identity of the value written, or Absent; lease of a KeepAlive
	Read          uint64 // identity of the value read
	// At is the revision of the store at which the operation was served; for an executed write,
	// its own revision. 0: the store does not report it.
	At int64
	// Mod is the revision of the version that was read, or that caused a conflict; 0: there was
	// none, or it is unknown. For a KeepAlive it is the remaining time to live of the lease in
	// seconds; 0: the lease has ended.
	Mod int64
	// Expected is the Mod that a compare-and-set requires; 0: the key must not exist. If
	// versions are counted (store.Promises), it is the required count, and for any executed
	// write the count before it. For a Delete it is the Mod that it compared; 0: none.
	Expected int64
	// Watch is, for Kind Watch, the type of the event that the watcher with the number Session
	// received. It determines the meaning of the other fields.
	Watch WatchEvent
	// Lock is, for Kind KeepAlive, the change of the lease's hold on the lock with the number
	// Key. The fencing token is Mod.
	Lock Hold
}

// Hold is a change of a hold on a lock.
type Hold uint8

// The changes of a hold.
const (
	NoHold Hold = iota // the operation is a keep-alive
	// Granted means that the client, which had requested the lock at Invoked, knew at Done that
	// it held the lock.
	Granted
	// Released means that the client considered itself the holder until Invoked.
	Released
)

// WatchEvent is the type of a watcher's event.
type WatchEvent uint8

// The types of events.
const (
	// Began means that the watcher was created (possibly again, after its connection was lost)
	// for Written keys starting with Key, and for the writes since revision Mod; 0: for the
	// writes after At. Joined reports that it receives only the newest version and skips
	// others. With Outcome Miss the watcher continues, and has learned that the key did not
	// exist at At, but not since when.
	Began WatchEvent = iota
	// Happened means that at revision Mod the key got the value Read (Absent: it was deleted).
	// Joined reports that the same message contained the event before it. Expected and
	// Written are the earlier version and value; 0: unknown. With Outcome WrongAnswer the
	// event is about a key that the load does not have.
	Happened
	// Reached means that the watcher has received all events up to revision Mod.
	Reached
	// Ended means that the store ended the watcher, with Outcome.
	Ended
)

// Acknowledged reports whether the store confirmed the operation. A confirmed write has its
// place in the store's order.
func (o *Op) Acknowledged() bool { return o.Outcome == kv.OK || o.Outcome == kv.Stale }

// Answered reports whether the reply says what the store contains.
func (o *Op) Answered() bool {
	return o.Acknowledged() || o.Outcome == kv.Miss || o.Outcome == kv.Conflict
}

// PossibleDelete returns a delete that may have been executed at or after from: the end of the
// session or lease to which a key is bound. now is the time at which this became known.
func PossibleDelete(key uint64, session uint32, from, now int64) Op {
	return Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: session, Key: key, Invoked: min(from, now), Done: now}
}

// Changes reports whether the operation is a write that was executed.
func (o *Op) Changes() bool { return o.Kind.Writes() && o.Acknowledged() }

// Indefinite reports whether the operation is a write that may have been executed, then or
// later, or not at all.
func (o *Op) Indefinite() bool {
	return o.Kind.Writes() && o.Outcome.Failed() && !o.Outcome.Definite()
}
