// Package history holds every operation of a load for the checker: in blocks of bytes that a
// generator fills, one owner each, and in the files of a run directory.
package history

import "github.com/quorumbench/quorumbench/internal/kv"

// Identities of values that no write has. An identity is unique among the writes
// of one key: which value, not what it says.
const (
	Absent uint64 = 0         // the key was not there
	Unseen uint64 = 1<<64 - 1 // the answer has no value, or one that names no write
	AnyMod        = int64(-1) // of Expected: a compare-and-set whose condition is not known
	maxInt        = 1<<62 - 1 // of times and revisions
)

// Op is one operation, one key's part of a transaction or of a range, or what a
// watcher was told. A range has a part for each key that it covers, those that are
// not there too; one that tells of no key has Read Unseen and Mod 0. One of Kind
// Ephemeral is the end of the session with which a version of the key ends: that of revision
// Mod, or where a read does not tell a revision that of value Written. The session's end
// is at revision At. What wrote the version is an operation of its own: the CAS that made the
// key in that session, or a Put that set it since.
type Op struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Outcome     kv.Outcome
	// Joined says that this is a further key of the transaction, or of the range, whose
	// part came before it: its times, outcome and revision are the same.
	Joined bool
	// Final says that it is a read from after the load, when all had healed.
	Final   bool
	Session uint32 // the client: what it did came one after the other
	Member  uint64 // who answered; 0: not known
	Key     uint64 // the key's number
	// Invoked is read before the request is written, Done after the answer was
	// read, or the operation was given up: nanoseconds on one clock, from 0 to
	// 2^62-1.
	Invoked, Done int64
	Written       uint64 // identity of the value that it writes, Absent for what writes none; the lease of a KeepAlive
	Read          uint64 // identity of the value that it read
	// At is the revision of the whole store at which it was served, and for a
	// write that was done its own; 0: the store does not tell.
	At int64
	// Mod is the revision of the version that it read, or that stood against a
	// compare-and-set; 0: there was none, or it is not told. Of a KeepAlive it is for
	// how many seconds the lease lives from then on; 0: it is gone.
	Mod int64
	// Expected is the Mod that a compare-and-set asks for; 0: that there be none.
	// Where versions are counted (store.Promises), it is the count that it asks
	// for, and of any write that was done the count before it. Of a Delete it is the Mod
	// that it compared; 0: it compared nothing.
	Expected int64
	// Watch says of Kind Watch what the watcher with the number Session was told, and
	// what the fields above then are.
	Watch Told
	// Lock says of Kind KeepAlive what became of the lease's hold on the lock with the
	// number Key; the fencing token is Mod.
	Lock Hold
}

// Hold is what became of a hold on a lock.
type Hold uint8

// What becomes of it.
const (
	NoHold Hold = iota // the operation is a keep-alive
	// Granted: from Done on the client knew that the lock is its own, which it had
	// asked for at Invoked.
	Granted
	// Released: until Invoked it took the lock for its own.
	Released
)

// Told is what a watcher was told.
type Told uint8

// What watchers are told.
const (
	// Began: it was created, or again after its connection was lost, of Written keys
	// from Key on, and from revision Mod on; 0: from what is written after At. Joined
	// says that it is told of the newest version alone, and others are passed over. With
	// Outcome Miss it goes on, and was told that the key is gone, by At, but not since when.
	Began Told = iota
	// Happened: at revision Mod the key has Read (Absent: it was deleted). Joined says
	// that the same message told of what stands before it. Expected and Written are
	// the version and the value that it had before; 0: that is not told. With
	// Outcome WrongAnswer the event is of a key that is none of the load's.
	Happened
	// Reached: it has been told of all up to revision Mod.
	Reached
	// Ended: the store ended it, with Outcome.
	Ended
)

// Acknowledged reports whether the store said that it was done: a write is then
// in the store's order, and a read of nothing is an answer too.
func (o *Op) Acknowledged() bool { return o.Outcome == kv.OK || o.Outcome == kv.Stale }

// Answered reports whether it has an answer that says what the store holds.
func (o *Op) Answered() bool {
	return o.Acknowledged() || o.Outcome == kv.Miss || o.Outcome == kv.Conflict
}

// MayBeGone is a delete that may have been done from a time on: the end of the session or
// lease with which a key ends. now is when that is known.
func MayBeGone(key uint64, session uint32, from, now int64) Op {
	return Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: session, Key: key, Invoked: min(from, now), Done: now}
}

// Changes reports whether it is a write that was done.
func (o *Op) Changes() bool { return o.Kind.Writes() && o.Acknowledged() }

// Indefinite reports whether it is a write that may have been done or not, then
// or later.
func (o *Op) Indefinite() bool {
	return o.Kind.Writes() && o.Outcome.Failed() && !o.Outcome.Definite()
}
