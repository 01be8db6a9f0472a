package store

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Op is an operation to send. The caller owns all memory that it points to and
// reuses it for the next operation. Fields of only a few kinds are in a payload
// such as Range, which is nil for all other kinds.
type Op struct {
	Tag         uint32 // chosen by the engine, below 2^31; copied to the Event
	Kind        kv.Kind
	Consistency kv.Consistency
	Key         []byte
	Value       []byte // Put, CAS
	// Revision is the version that the key must have (CAS): 0 if the key must not
	// exist, -1 if the version is unknown. A codec then reads the version first,
	// or tries 0 if a conflict returns the version, as etcd's does.
	Revision int64
	Pairs    []Pair // Txn: the pairs to write, all or none
	Lease    int64  // KeepAlive: the number of the session or lease
	// LeaseName is the lease's name in a store with named leases
	// (Leaser.LeaseNames).
	LeaseName []byte
	Range     *RangeOp // Range, TxnGet: the interval that starts at Key
	STM       *STMOp   // STM
	// Service, if not nil, makes it an operation on the service instance with the
	// ID Key, in a store with a service catalog (kv.Services). A Put registers
	// the instance with Value as its description, or updates its health; a Delete
	// deregisters it; and a Range counts the services on the instance's node or,
	// if Passing is set, its passing checks in Event.Count.
	Service *ServiceOp
	Watch   *WatchOp // Watch: the interval that starts at Key
	// Call, if not nil, is a recorded call to be sent unchanged: with its keys,
	// the texts of its values, its revisions and leases. Kind is then only the
	// kind as which it is counted. Guards that do not hold cause a Conflict.
	// Supported by codecs of a Replayer, and of stores with kv.ApplicationCalls.
	Call *call.Call
}

// Owned reports whether the operation creates a key bound to its connection's
// session.
func (op *Op) Owned() bool {
	if op.Call == nil {
		return op.Kind == kv.Ephemeral
	}
	for i := range op.Call.Parts {
		if p := &op.Call.Parts[i]; p.Action == call.Write && p.Flags&call.Ephemeral != 0 {
			return true
		}
	}
	return false
}

// ServiceOp describes an operation on a service instance.
type ServiceOp struct {
	Name      []byte // the service's name
	CheckOnly bool   // Put: the instance is registered, and only its health has changed
	Passing   bool   // Put: the instance is healthy; Range: count passing checks
}

// Pair is a key and the value to write to it.
type Pair struct{ Key, Value []byte }

// RangeOp describes the keys to read, and in which form.
type RangeOp struct {
	End       []byte // first key after the interval; nil for the Op's Key only
	Limit     int64  // maximum number of keys; 0 for all
	CountOnly bool   // return only the number of keys, regardless of Limit
	KeysOnly  bool   // return keys without values
	// Streamed requests the result as a stream of messages that the server
	// chooses (KV.RangeStream of etcd 3.7); the operation ends with the stream.
	// It cannot be combined with PageSize or TxnGet.
	Streamed bool
	// PageSize, if not 0, splits a Range into pages of at most this number of
	// keys, requested one after the other at the first page's revision. They form
	// one operation: Event.Extra is the number of further pages, Event.Count the
	// number of keys on all pages.
	PageSize int64
	// Keys, if not nil, receives the keys of the response. All operations on a
	// connection have the same Keys.
	Keys Keys
}

// STMOp is an optimistic transaction: it reads keys, writes some of them if none
// has changed meanwhile, and otherwise starts over.
type STMOp struct {
	// Pairs are the keys to read; those with a Value that is not nil are also
	// written.
	Pairs     []Pair
	Isolation kv.Isolation
	// Edit, if not nil, computes the value to write to a pair from the value
	// read, which is nil if the key does not exist. It appends the new value to
	// write and returns the result. It is called in each try with the pair's
	// index and Value.
	Edit func(pair int, value, read, write []byte) []byte
	// Lock is the name of the lock that the transaction holds; empty for none.
	// Lease is the lock holder's session; no two concurrent operations may share
	// it. Locker is LockClient if the client acquires the lock, and otherwise the
	// store does.
	Lock   []byte
	Locker kv.Locker
	Lease  int64
	// Observer, if not nil, receives details of the transaction that its event lacks.
	// Held and Freed events are then reported, too.
	Observer STMObserver
}

// STMObserver receives details of committed optimistic transactions. It is called
// from Feed before the operation's event.
type STMObserver interface {
	// Read reports the version (as in Event.Revision) that a pair had when the
	// transaction was committed or, with kv.ReadCommitted, which does not compare
	// versions, when it was read; 0: the key did not exist. It is called for all
	// pairs in order, before Committed.
	Read(tag uint32, version int64)
	// Committed reports the store's revision and the member of the commit.
	Committed(tag uint32, at int64, member uint64)
}

// WatchOp describes a watcher to create.
type WatchOp struct {
	End     []byte // first key after the interval; nil for the Op's Key only
	Watcher uint32 // the watcher's number, which its events contain
	Stream  uint32 // index of its watch stream on the connection
	Start   int64  // the first version wanted; 0 for future writes only
	// Service makes it a watcher of the healthy instances of the service named
	// Key (kv.Services). An event's key is an instance's ID; its Revision is the
	// instance's or its checks', or the response's if the instance is gone.
	Service bool
	PrevKV  bool // events contain the key's previous value
	// Holder makes it a watcher of the lock on one key, in a store with
	// kv.SessionLocks. The Before of its events is the name of the holder's
	// session, empty if there is no holder, and BeforeRevision the number of
	// acquisitions.
	Holder bool
	// Mode is the watch mode; AnyWatch is the store's default.
	Mode kv.WatchMode
	// Wait is how long each query of a QueryWatch waits if nothing changes; 0 is
	// the store's default. Otherwise the store may let it wait slightly longer.
	Wait time.Duration
	// Notify requests periodic progress notifications. RequireLeader requests
	// that the stream ends when the member knows no leader; the value of a
	// stream's first watcher applies to the whole stream.
	Notify, RequireLeader bool
	// Progress requests the progress of the stream's watchers instead of a new
	// watcher. Each watcher then gets a Seen event. The operation has no Tag.
	Progress bool
}

// Keys receives the keys in responses to Range and TxnGet operations during
// parsing, so that the caller can check them without the codec storing them. It
// is called from Submit and Feed, before the operation's event.
type Keys interface {
	// Begin reports the start of an operation's response. It returns whether the
	// values and versions of the keys are wanted, too.
	Begin(tag uint32) (values bool)
	// Add receives the response's next key with its value and version (as in
	// Event.Revision). The value is nil and the version 0 if the response does
	// not contain them or they are not wanted. The codec owns the memory.
	Add(tag uint32, key, value []byte, revision int64)
}

// Grants collects the names of the leases or sessions that a load's operations
// were granted, so that they can be revoked however the load ends. It is not safe
// for concurrent use. A nil *Grants collects nothing.
type Grants struct{ names []string }

// MostGrants limits the number of collected names. Only a recording can have more
// leases; the excess ones expire by themselves.
const MostGrants = 1 << 20

// Add adds the name of a lease.
func (g *Grants) Add(name string) {
	if g != nil && len(g.names) < MostGrants {
		g.names = append(g.names, name)
	}
}

// Names returns the added names.
func (g *Grants) Names() []string {
	if g == nil {
		return nil
	}
	return g.names
}
