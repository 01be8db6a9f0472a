package store

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Op is an operation to send. The caller owns all memory that the Op points to, and reuses it
// for the next operation. Fields that only a few kinds of operations need are grouped in
// structs such as RangeOp. The pointer to such a struct is nil for all other kinds.
type Op struct {
	Tag         uint32 // chosen by the engine, below 2^31; copied to the Event
	Kind        kv.Kind
	Consistency kv.Consistency
	Key         []byte
	Value       []byte // Put, CAS
	// Revision is the version that the key must have for a CAS: 0 if the key must not exist, -1 if
	// the caller does not know the version. If Revision is -1, the codec usually reads the version
	// first. If the store returns the version with a conflict, as etcd does, the codec tries 0
	// without this read.
	Revision int64
	Pairs    []Pair // Txn: the pairs to write; the store writes all of them or none
	Lease    int64  // KeepAlive: the number of the session or lease
	// LeaseName is the lease's name, if the store identifies leases by names (Leaser.LeaseNames).
	LeaseName []byte
	Range     *RangeOp // Range, TxnGet: the interval of keys, which starts at Key
	STM       *STMOp   // STM
	// If Service is not nil, the operation applies to a service instance, whose ID is Key, in a
	// store with a service catalog (kv.Services). A Put registers the instance with Value as its
	// description, or updates its health. A Delete deregisters the instance. A Range counts the
	// services on the instance's node or, if Passing is set, the node's passing checks; the count
	// is in Event.Count.
	Service *ServiceOp
	Watch   *WatchOp // Watch: the interval of keys, which starts at Key
	// If Call is not nil, it is a recorded call to send unchanged, with its keys, values, revisions
	// and leases. In this case, the request does not depend on Kind: the call is only counted under
	// this kind of operation. If the call's guards do not hold, the outcome is Conflict. Only
	// codecs of a Replayer, and codecs of stores with kv.ApplicationCalls, support Call.
	Call *call.Call
}

// BoundToSession reports whether the operation creates a key that is bound to the session of the
// operation's connection.
func (op *Op) BoundToSession() bool {
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
	CheckOnly bool   // Put: the instance is registered already, and only its health has changed
	Passing   bool   // Put: the instance is healthy; Range: count passing checks
}

// Pair is a key and the value to write to it.
type Pair struct{ Key, Value []byte }

// RangeOp describes the keys to read, and the form of the response.
type RangeOp struct {
	End       []byte // the first key after the interval; nil to read only the Op's Key
	Limit     int64  // maximum number of keys; 0 for all
	CountOnly bool   // return only the number of all keys in the interval, regardless of Limit
	KeysOnly  bool   // return keys without values
	// Streamed requests the result as a stream of messages (KV.RangeStream in etcd 3.7). The server
	// chooses how to divide the result into messages. The operation ends when the stream ends.
	// Streamed cannot be combined with PageSize or TxnGet.
	Streamed bool
	// PageSize, if not 0, splits a Range into pages with at most this number of keys. The codec
	// requests one page after the other, all at the first page's revision. The pages form one
	// operation: Event.ExtraRequests is the number of pages after the first, and Event.Count is the
	// number of keys on all pages.
	PageSize int64
	// Keys, if not nil, receives the keys in the response. All operations on a connection must use
	// the same Keys.
	Keys Keys
}

// STMOp is an optimistic transaction. It reads keys, and writes some of them if none of the keys
// has been changed since they were read. Otherwise it starts over.
type STMOp struct {
	// Pairs are the keys to read. A pair whose Value is not nil is also written.
	Pairs     []Pair
	Isolation kv.Isolation
	// Edit, if not nil, computes the value that the transaction writes to a pair. It is called once
	// per pair in each try, with the pair's index, the pair's Value, and the value that was read,
	// which is nil if the key does not exist. Edit appends the new value to buf and returns the
	// extended slice.
	Edit func(pair int, value, read, buf []byte) []byte
	// Lock is the name of the lock that the transaction holds; empty for no lock. Locker is
	// LockClient if the client itself acquires the lock; otherwise the store's lock service
	// acquires it. Lease is the lock holder's session. No two concurrent operations may use the
	// same session.
	Lock   []byte
	Locker kv.Locker
	Lease  int64
	// Observer, if not nil, receives details of the transaction that its event does not contain.
	// The codec then also reports events of types LockAcquired and LockReleasing.
	Observer STMObserver
}

// STMObserver receives details of committed optimistic transactions. It is called
// from Feed before the operation's event.
type STMObserver interface {
	// Read reports the version (see Event.Revision) that a pair's key had when the transaction was
	// committed; 0 means that the key did not exist. With kv.ReadCommitted, which does not compare
	// versions, Read reports the version that the key had when it was read. Read is called for all
	// pairs in order, before Committed.
	Read(tag uint32, version int64)
	// Committed reports the store's revision after the commit, and the member that responded.
	Committed(tag uint32, at int64, member uint64)
}

// WatchOp describes a watcher to create.
type WatchOp struct {
	End     []byte // the first key after the interval; nil to watch only the Op's Key
	Watcher uint32 // the watcher's number, which its events contain
	Stream  uint32 // index of the watcher's watch stream on the connection
	Start   int64  // the first revision whose changes are wanted; 0 for future writes only
	// If Service is set, the watcher watches the healthy instances of the service named Key
	// (kv.Services). An event's key is an instance's ID. The event's Revision is the highest
	// revision of the instance and its checks. If the instance no longer exists, Revision is the
	// revision of the response.
	Service bool
	PrevKV  bool // events contain the key's previous value
	// If WatchesLock is set, the watcher watches the lock on one key, in a store with
	// kv.SessionLocks. In its events, PreviousValue is the name of the lock holder's session, or
	// empty if no session holds the lock. PreviousRevision is the number of acquisitions.
	WatchesLock bool
	// Mode is the watch mode; AnyWatch is the store's default.
	Mode kv.WatchMode
	// QueryWait is how long each query of a QueryWatch waits if nothing changes; 0 means the
	// store's default. If QueryWait is not 0, the store may wait slightly longer.
	QueryWait time.Duration
	// ProgressNotifications requests periodic progress notifications. RequireLeader makes the
	// server end the stream when the member knows no leader. The RequireLeader setting of a
	// stream's first watcher applies to all watchers on the stream.
	ProgressNotifications, RequireLeader bool
	// If RequestProgress is set, the operation creates no watcher. It requests a progress
	// notification for the stream's watchers, and the codec then reports a WatchProgress event for
	// each watcher. The operation itself has no Tag and no event.
	RequestProgress bool
}

// Keys receives the keys in responses to Range and TxnGet operations while the codec parses the
// response. So the caller can check the keys although the codec does not store them. Submit and
// Feed call the methods before they report the operation's event.
type Keys interface {
	// Begin is called at the start of the response to an operation. It returns true to request the
	// values and versions of the keys in addition to the keys.
	Begin(tag uint32) (values bool)
	// Add receives the response's next key with its value and version (see Event.Revision). The
	// value is nil and the version is 0 if the response does not contain them or if Begin returned
	// false. key and value are valid only during the call.
	Add(tag uint32, key, value []byte, revision int64)
}

// Grants collects the names of the leases or sessions that the store grants to a load's
// operations, so that they can be revoked even if the load fails. It is not safe for concurrent
// use. A nil *Grants collects nothing.
type Grants struct{ names []string }

// MaxGrants limits the number of collected names. Only a replayed recording can exceed it;
// leases whose names were not collected expire by themselves.
const MaxGrants = 1 << 20

// Add adds the name of a lease.
func (g *Grants) Add(name string) {
	if g != nil && len(g.names) < MaxGrants {
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
