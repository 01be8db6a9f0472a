package store

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Op is an operation to be sent. All that it points to belongs to the caller,
// who uses it again for the next. What only some kinds have is in a payload of
// theirs, which is there for those kinds and nil for the others: a kind that
// needs none, or one that few stores have, leaves this vocabulary as it is.
type Op struct {
	Tag         uint32 // chosen by the engine, below 2^31; comes back in the Event
	Kind        kv.Kind
	Consistency kv.Consistency
	Key         []byte
	Value       []byte // Put, CAS
	// Revision is the version that the key must have (CAS): 0 for none at all, -1 if
	// it is not known. That is read first, or tried as 0 where a conflict says the
	// version, as etcd's does.
	Revision int64
	Pairs    []Pair // Txn: what it writes, all or nothing
	Lease    int64  // KeepAlive: the session's or lease's number
	// LeaseName is the name of that lease, of a store whose leases have names (LeaseNamer).
	LeaseName []byte
	Range     *RangeOp // Range, TxnGet: the interval that begins with Key
	STM       *STMOp   // STM
	// Service, if not nil, makes it one of the instance of a service that has Key as its
	// ID, of a store with a catalog of services (kv.Services): a Put registers it with
	// Value as what it says of itself, or says how healthy it is, a Delete deregisters
	// it, and a Range reads what the catalog has of its node: Event.Count services, or, if
	// Passing is asked for, checks that pass.
	Service *ServiceOp
	Watch   *WatchOp // Watch: of the interval that begins with Key
	// Call, if not nil, is a recorded call that is sent as it is there: with its keys,
	// the texts of its values, its revisions and leases. Kind is then what it counts as,
	// and guards of it that do not hold make a Conflict. For codecs of a Replayer, or of a
	// store that has the calls of applications (kv.ApplicationCalls).
	Call *call.Call
}

// Owned reports whether it makes a key that ends with the session of its connection.
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

// ServiceOp says what an operation on a service's instance is.
type ServiceOp struct {
	Name      []byte // the service's
	CheckOnly bool   // Put: it is registered, and its health has changed
	Passing   bool   // Put: it is healthy; Range: whether it is, is asked
}

// Pair is a key and the value to write to it.
type Pair struct{ Key, Value []byte }

// RangeOp says which keys are read, and in what form.
type RangeOp struct {
	End       []byte // first key after the interval; nil for the Op's Key alone
	Limit     int64  // at most so many keys; 0 for all
	CountOnly bool   // how many keys there are, whatever the Limit, and not the keys
	KeysOnly  bool   // keys without their values
	// Streamed asks for the answer as a stream, which the server cuts into
	// messages as it likes (KV.RangeStream of etcd 3.7); the operation is done
	// at the stream's end. PageSize is not for it, nor is it for a TxnGet.
	Streamed bool
	// PageSize, if not 0, makes a Range of pages of at most so many keys, asked
	// for one after the other, all at the revision of the first. It is one
	// operation: Event.Extra counts the requests for further pages, Event.Count
	// the keys of all.
	PageSize int64
	// Keys, if not nil, takes the keys of the answer. All operations on a
	// connection have the same.
	Keys Keys
}

// STMOp is an optimistic transaction: it reads keys, writes some of them if none
// changed meanwhile, and begins again if one did.
type STMOp struct {
	// Pairs are what is read; those are written whose value is not nil.
	Pairs     []Pair
	Isolation kv.Isolation
	// Edit, if not nil, makes the value that is written to a pair from the one
	// that was read, which is nil for a key that is not there: it appends to
	// write and returns it. It is called for each try, with the pair's index
	// and its Value.
	Edit func(pair int, value, read, write []byte) []byte
	// Lock is the name of the lock under which it is made; empty for none. Lease
	// then says whose lock it is: no two operations under way may have the same.
	// Locker says who makes it: the client if LockClient, else the store.
	Lock   []byte
	Locker kv.Locker
	Lease  int64
	// Told, if not nil, takes what is known of the transaction beside its event.
	// Events then also say when its lock was had, and when it is about to be given
	// back (Held, Freed).
	Told STMTold
}

// STMTold takes what is known of optimistic transactions that were committed. It is
// called from Feed, before the operation's event.
type STMTold interface {
	// Read takes the version (as Event.Revision) that a pair had when the
	// transaction was committed, or that it was read with where that is not compared
	// (kv.ReadCommitted); 0: the key was not there. It is called for each pair, in
	// their order, and then Committed.
	Read(tag uint32, version int64)
	// Committed says at which revision of the store, and by which member.
	Committed(tag uint32, at int64, member uint64)
}

// WatchOp is a watcher to be created.
type WatchOp struct {
	End     []byte // first key after the interval; nil for the Op's Key alone
	Watcher uint32 // its number, which its events carry
	Stream  uint32 // which of the connection's watch streams it belongs to
	Start   int64  // the first version wanted; 0 for what is written from now on
	// Service makes it a watcher of the healthy instances of the service that is called
	// Key (kv.Services). The key of an event is an instance's ID; its Revision is of the
	// instance, or of its checks, and where it is not there (any more) of the answer.
	Service bool
	PrevKV  bool // events carry what was there before
	// Holder makes it a watcher of one key, of a store with locks of sessions
	// (kv.SessionLocks), whose events say who has the key's lock: Event.Before is the name of
	// the session, empty if nobody has it, and BeforeRevision how often it was taken.
	Holder bool
	// Mode is what it is; AnyWatch is the store's own.
	Mode kv.WatchMode
	// Wait is, of mode QueryWatch, how long each query waits where nothing changes; 0 is
	// the store's own. Where it is not 0 the store may let it wait a little longer.
	Wait time.Duration
	// Notify asks for progress notifications now and then, and RequireLeader that the
	// stream ends when the member knows no leader. What the first watcher of a stream
	// says of the latter holds for all.
	Notify, RequireLeader bool
	// Progress asks no watcher to be created, but how far those of the stream have
	// been told: the answer is a Seen for each. It has no Tag of its own.
	Progress bool
}

// Keys takes the keys of answers to Range and TxnGet operations as they are
// parsed, so that who asked can check them and no codec has to keep them. It is
// called from Submit and Feed, before the operation's event.
type Keys interface {
	// Begin says that the answer to an operation begins, and reports whether the
	// values and versions of its keys are wanted too.
	Begin(tag uint32) (values bool)
	// Add takes a key of it with its value, nil if the answer has none or it is
	// not wanted, and its version (as Event.Revision), 0 likewise, in the order of
	// the answer. Their memory is the codec's.
	Add(tag uint32, key, value []byte, revision int64)
}

// Grants has the names of the leases, or sessions, that a load's operations were granted,
// so that they can be ended whatever becomes of the load. It belongs to one goroutine. The
// nil Grants takes nothing.
type Grants struct{ names []string }

// MostGrants is how many are kept: of more, which a recording alone can have, the rest
// ends by itself.
const MostGrants = 1 << 20

// Add takes the name of a lease.
func (g *Grants) Add(name string) {
	if g != nil && len(g.names) < MostGrants {
		g.names = append(g.names, name)
	}
}

// Names are those that were added.
func (g *Grants) Names() []string {
	if g == nil {
		return nil
	}
	return g.names
}
