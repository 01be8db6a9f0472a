// Package call holds the vocabulary of calls: what a client asks of a store in one request,
// as parts that are the same for all stores, and how it ended. Applications and replays send
// calls (store.Op.Call), and passive decoders produce them. The package also reads and writes
// recordings, which are files of calls.
//
// A recording has the eight bytes "qbrec01\n" and then frames of package internal/files. The
// first frame is a Header as JSON. The frames after it are blocks of records, compressed with
// Zstandard, in the order in which calls ended. The last frame is empty; a file without it
// was not closed.
package call

import "time"

// Header says what a recording is of.
type Header struct {
	Store   string    `json:"store"`
	Tool    string    `json:"tool"`    // the version that recorded
	Started time.Time `json:"started"` // when the recording's clock stood at 0
	// Plain says that keys and values are recorded as they were. Otherwise keys are
	// hashed, segment by segment, and of values there are size and hash, by a secret
	// that was thrown away.
	Plain bool `json:"plain"`
}

// Action is what a part of a call does.
type Action uint8

// The actions.
const (
	Read       Action = iota // one key or an interval
	Write                    // one key
	Remove                   // one key or an interval
	Compare                  // guards the call
	Watch                    // begins to watch a key or an interval
	Unwatch                  // ends a watcher
	Grant                    // a lease or session
	Revoke                   // ends one
	KeepAlive                // prolongs one
	Other                    // anything else: the method says it
	Found                    // a key that the answer to a list told, with its Version
	Compaction               // the history before revision Number is dropped
	AskStatus                // how the member is
	numActions
)

var actionNames = [numActions]string{"read", "write", "remove", "compare", "watch", "unwatch", "grant", "revoke", "keep-alive", "other", "found", "compaction", "ask-status"}

// String returns the action's name.
func (a Action) String() string {
	if a < numActions {
		return actionNames[a]
	}
	return "unknown"
}

// Branch says when a part of a call is done.
type Branch uint8

// The branches.
const (
	Always Branch = iota // the call has no guard, or this is the guard
	Then                 // if all guards hold
	Else                 // if one does not
	numBranches
)

// Scope is which keys a part is of.
type Scope uint8

// The scopes.
const (
	One      Scope = iota // Key alone
	Prefix                // all that begin with Key
	Rest                  // from Key to the end of those that begin with End: a further page of a prefix
	From                  // Key and all after it
	Interval              // from Key to before End
	numScopes
)

// Target is what a Compare looks at.
type Target uint8

// The targets.
const (
	Version  Target = iota // how often the key was written since it was created
	Created                // the revision that created it
	Modified               // the revision that wrote it last
	ValueIs                // its value
	LeaseIs                // its lease
	numTargets
)

// Relation is how a Compare's target must stand to what it names.
type Relation uint8

// The relations.
const (
	Equal Relation = iota
	Greater
	Less
	NotEqual
	numRelations
)

// Flags are what else a part asks for.
type Flags uint32

// The flags.
const (
	Local      Flags = 1 << iota // what the member has, perhaps stale
	KeysOnly                     // keys without their values
	CountOnly                    // how many keys there are
	Before                       // what was there before is wanted too
	KeepValue                    // a Write that leaves the value
	KeepLease                    // a Write that leaves the lease
	Progress                     // a Watch that asks for progress notifications
	NoWrites                     // a Watch that wants no writes
	NoRemovals                   // a Watch that wants no removals
	Sorted                       // a Read in an order other than the keys' own
	Descending                   // of that order
	Fragment                     // a Watch whose large messages may be divided
	MidSegment                   // Prefix: Key ends within a segment; where keys are hashed, it is a prefix of none
	Leased                       // what the leader has as long as its lease lasts
	Existing                     // a Write of a key that must be there
	Sequential                   // a Write of a new key whose name the store completes: that is End
	Ephemeral                    // a Write whose key goes with its session; a Grant whose keys do
	Unchecked                    // a Grant of what no check of its node's health ends
	allFlags   = 1<<iota - 1
)

// Value is a value as it is recorded.
type Value struct {
	Size int    // bytes
	Hash uint64 // equal values have equal hashes
	Text []byte // in a plain recording, the value; else nil
}

// Part is one action of a call.
type Part struct {
	Action   Action
	Branch   Branch
	Scope    Scope
	Target   Target   // Compare
	Relation Relation // Compare
	Flags    Flags
	Key, End []byte
	Value    Value // Write; Compare of ValueIs
	// Number is a Compare's revision or version, the revision at which is read or from
	// which is watched, up to which is compacted, a Grant's time to live in seconds and that of a Write's key, an
	// Unwatch's watcher; of Other what the method makes of it.
	Number int64
	// Limit is, of a Read, how many keys are read at most, 0 for all; of a Grant for how
	// many milliseconds its locks stay locked behind it, and one more, 0 for the store's.
	Limit int64
	Lease int64 // of Write, Grant, Revoke, KeepAlive; Compare of LeaseIs
	// Version is the one that the key has by the answer, where guards name versions that
	// are no revisions of the store, or where answers to writes tell none; 0: not told.
	Version int64
	// Name is what the store calls the lease where that is no number. It is known of
	// calls that are sent again, and never recorded.
	Name []byte
	// Oldest is, of a Read, the revision at which, or before which, a key was created that is
	// wanted; 0: any. It is known of calls that applications make, and never recorded.
	Oldest int64
}

// Call is one request and its answer, or one message that the server sent by itself
// (Told).
type Call struct {
	// At is when the request's last byte had come, in nanoseconds since the
	// recording began; of what is Told, when that had.
	At   int64
	Took int64  // until the answer's last byte, in nanoseconds; -1: no answer came
	Conn uint32 // the connection's number, from 1
	// Stream is, of what belongs to a stream that stays open, its number on the
	// connection; else 0.
	Stream uint32
	Method string // as the protocol calls it, such as KV/Put
	Told   bool   // the server's own message: events of a watcher
	Code   uint16 // how it ended, as the protocol says it: 0 is success
	// Guarded says that the call has guards, and Held that all held.
	Guarded, Held bool
	Sent, Got     int   // bytes of the request's and the answer's messages
	Revision      int64 // of the store when it answered; 0: not told
	Keys          int64 // that were read, counted, written or removed; Told: events
	Lease         int64 // that was granted
	Parts         []Part
}

// Answered reports whether an answer came.
func (c *Call) Answered() bool { return c.Took >= 0 }

// OK reports whether the call succeeded, whatever its guards said.
func (c *Call) OK() bool { return c.Took >= 0 && c.Code == 0 }

// Gap is what passed and is not in the recording.
type Gap struct {
	At   int64  // when it was noticed, in nanoseconds since the recording began
	Conn uint32 // of which connection; 0: of several
	// Calls is how many calls are missing; 0: nobody knows, for what the connection
	// says from then on is not understood.
	Calls uint64
	Why   string // a sentence
}

// Record is what a recording has: a call or a gap; the other is nil.
type Record struct {
	Call *Call
	Gap  *Gap
}
