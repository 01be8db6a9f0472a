// Package call holds the vocabulary of calls: a client's request to a store,
// split into parts that are the same for all stores, and its result. Applications
// and replays send calls (store.Op.Call), and passive decoders produce them. The
// package also reads and writes recordings, which are files of calls.
//
// A recording starts with the eight bytes "qbrec01\n", followed by frames of
// package internal/files. The first frame is a Header as JSON. The next frames
// are blocks of records, compressed with Zstandard, in the order in which the
// calls ended. The last frame is empty; a file without it was not closed.
package call

import "time"

// Header describes a recording.
type Header struct {
	Store   string    `json:"store"`
	Tool    string    `json:"tool"`    // version of the recording program
	Started time.Time `json:"started"` // time at which the recording's clock was 0
	// Plain means that keys and values are recorded unchanged. Otherwise the
	// segments of keys are hashed, and values are replaced by their size and
	// hash. The hashes use a secret that was not stored.
	Plain bool `json:"plain"`
}

// Action is the kind of a part.
type Action uint8

// Actions.
const (
	Read       Action = iota // one key or an interval
	Write                    // one key
	Remove                   // one key or an interval
	Compare                  // a guard of the call
	Watch                    // starts watching a key or an interval
	Unwatch                  // ends a watcher
	Grant                    // a lease or session
	Revoke                   // ends a lease or session
	KeepAlive                // renews a lease or session
	Other                    // anything else; see the method
	Found                    // a key in the reply to a list, with its Version
	Compaction               // discards the history before revision Number
	AskStatus                // asks for the member's status
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

// Branch determines when a part of a call is executed.
type Branch uint8

// Branches.
const (
	Always Branch = iota // the call has no guard, or this part is the guard
	Then                 // if all guards hold
	Else                 // if a guard does not hold
	numBranches
)

// Scope determines the keys of a part.
type Scope uint8

// Scopes.
const (
	SingleKey Scope = iota // only Key
	Prefix                 // all keys with the prefix Key
	Rest                   // the keys with the prefix End starting at Key: a further page of a prefix
	From                   // Key and all later keys
	Interval               // the keys in [Key, End)
	numScopes
)

// Target is the property that a Compare compares.
type Target uint8

// Targets.
const (
	Version  Target = iota // number of writes since the key was created
	Created                // revision of the creation
	Modified               // revision of the latest write
	ValueIs                // its value
	LeaseIs                // its lease
	numTargets
)

// Relation is the required relation between the Compare's target and the given
// value.
type Relation uint8

// Relations.
const (
	Equal Relation = iota
	Greater
	Less
	NotEqual
	numRelations
)

// Flags modify a part.
type Flags uint32

// Flags of a part.
const (
	Local      Flags = 1 << iota // a read of the member's own state, perhaps stale
	KeysOnly                     // keys without values
	CountOnly                    // only the number of keys
	Before                       // returns the previous value, too
	KeepValue                    // a Write that keeps the value
	KeepLease                    // a Write that keeps the lease
	Progress                     // a Watch with progress notifications
	NoWrites                     // a Watch without writes
	NoRemovals                   // a Watch without removals
	Sorted                       // a Read sorted by something other than the key
	Descending                   // reverses that order
	Fragment                     // a Watch whose large messages may be split
	MidSegment                   // Prefix: Key ends within a segment; if keys are hashed, it is a prefix of no key
	Leased                       // a read from the leader while its lease is valid
	Existing                     // a Write that requires that the key exists
	Sequential                   // a Write of a new key whose name the store completes; End is the full name
	Ephemeral                    // a Write whose key is bound to its session; a Grant whose keys are deleted with it
	Unchecked                    // a Grant that no health check of its node ends
	allFlags   = 1<<iota - 1
)

// Value is a recorded value.
type Value struct {
	Size int    // bytes
	Hash uint64 // equal values have equal hashes
	Text []byte // the value in a plain recording; otherwise nil
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
	// Number is a Compare's revision or version, the revision of a Read, the
	// first revision of a Watch, the revision of a Compaction, the time to live
	// of a Grant or of a Write's key in seconds, or an Unwatch's watcher; of
	// Other it depends on the method.
	Number int64
	// Limit is the maximum number of keys of a Read, 0 for all; of a Grant, the
	// lock delay in milliseconds plus 1, 0 for the store's default.
	Limit int64
	Lease int64 // of Write, Grant, Revoke, KeepAlive, and a Compare of LeaseIs
	// Version is the key's version after the call, if guards use versions that
	// are not revisions or if replies to writes lack revisions; 0: unknown.
	Version int64
	// Name is the lease's name in a store whose leases are not numbers. It is set
	// only in replayed calls and never recorded.
	Name []byte
	// Oldest limits a Read to keys created at or before this revision; 0: no
	// limit. It is set only in calls of applications and never recorded.
	Oldest int64
}

// Call is a request and its reply, or a message that the server sent on its own
// (Pushed).
type Call struct {
	// At is the time at which the request's last byte was received, or the
	// message's if Pushed, in nanoseconds since the start of the recording.
	At   int64
	Took int64  // time until the reply's last byte, in nanoseconds; -1: no reply
	Conn uint32 // the connection's number, counted from 1
	// Stream is the number of a long-lived stream on the connection; otherwise 0.
	Stream uint32
	Method string // the protocol's name, such as KV/Put
	Pushed bool   // a message that the server sent on its own: events of a watcher
	Code   uint16 // the protocol's error code; 0 is success
	// Guarded means that the call has guards, and Held that all of them held.
	Guarded, Held bool
	Sent, Got     int   // sizes of the request and the reply in bytes
	Revision      int64 // of the store in the reply; 0: unknown
	Keys          int64 // read, counted, written or removed keys; Pushed: events
	Lease         int64 // granted lease
	Parts         []Part
}

// Answered reports whether the call got a reply.
func (c *Call) Answered() bool { return c.Took >= 0 }

// OK reports whether the call succeeded, whether or not its guards held.
func (c *Call) OK() bool { return c.Took >= 0 && c.Code == 0 }

// Gap records traffic that is missing in the recording.
type Gap struct {
	At   int64  // when it was noticed, in nanoseconds since the start of the recording
	Conn uint32 // the connection; 0: several
	// Calls is the number of missing calls; 0: unknown, because the rest of the
	// connection cannot be decoded.
	Calls uint64
	Why   string // the reason, as the subject and predicate of a sentence
}

// Record is an entry of a recording: a call or a gap; the other field is nil.
type Record struct {
	Call *Call
	Gap  *Gap
}
