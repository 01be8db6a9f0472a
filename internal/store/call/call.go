// Package call defines calls. A call is a client's request to a store together with the request's
// result. It is split into parts that have the same form for all stores. Applications and replays
// send calls (store.Op.Call), and passive decoders produce them. The package also reads and writes
// recordings, which are files that contain calls.
//
// A recording starts with the eight bytes "qbrec01\n". Frames in the format of package
// internal/files follow. The first frame is a Header as JSON. The next frames are blocks of
// records, compressed with Zstandard; the calls are in the order in which they ended. The last
// frame is empty. If the empty frame is missing, the recording was not closed.
package call

import "time"

// Header describes a recording.
type Header struct {
	Store   string    `json:"store"`
	Tool    string    `json:"tool"`    // version of the program that recorded the calls
	Started time.Time `json:"started"` // the time at which the recording's clock was 0
	// Plain is set if keys and values are recorded unchanged. Otherwise each segment of a key is
	// replaced by a hash, and each value by its size and hash. The secret that the hashes depend on
	// was not stored.
	Plain bool `json:"plain"`
}

// Action is the kind of a part.
type Action uint8

// Actions.
const (
	Read        Action = iota // reads one key or an interval
	Write                     // writes one key
	Remove                    // removes one key or an interval
	Compare                   // a guard: decides which other parts of the call are executed
	Watch                     // starts watching a key or an interval
	Unwatch                   // ends a watch
	Grant                     // grants a lease or session
	Revoke                    // ends a lease or session
	KeepAlive                 // renews a lease or session
	OtherAction               // any other action; see Call.Method
	ListedKey                 // one key in the reply to a list, with its Version
	Compaction                // discards the history before revision Number
	AskStatus                 // asks for a member's status
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

// Branch determines under which condition a part of a call is executed.
type Branch uint8

// Branches.
const (
	Always Branch = iota // the call has no guards, or this part is a guard
	Then                 // executed if all guards hold
	Else                 // executed if a guard does not hold
	numBranches
)

// Scope determines to which keys a part applies.
type Scope uint8

// Scopes.
const (
	SingleKey Scope = iota // only Key
	Prefix                 // all keys with the prefix Key
	LaterPage              // the keys with the prefix End, without those before Key: a later page of a list by prefix
	FromKey                // Key and all later keys
	Interval               // the keys in [Key, End)
	numScopes
)

// Target is the property of a key that a Compare compares.
type Target uint8

// Targets.
const (
	Version     Target = iota // the number of writes since the key was created
	Created                   // the revision at which the key was created
	Modified                  // the revision of the key's latest write
	ValueTarget               // the key's value
	LeaseTarget               // the key's lease
	numTargets
)

// Relation is how a guard compares a key's property with the given value.
type Relation uint8

// Relations.
const (
	Equal Relation = iota
	Greater
	Less
	NotEqual
)

// Flags modify a part.
type Flags uint32

// Flags of a part.
const (
	Local           Flags = 1 << iota // a Read of the contacted member's own state, which may be stale
	KeysOnly                          // a Read that returns keys without values
	CountOnly                         // a Read that returns only the number of keys
	PreviousValue                     // the reply or watch event also contains the previous value
	KeepValue                         // a Write that does not change the value
	KeepLease                         // a Write that does not change the lease
	Progress                          // a Watch with progress notifications
	SkipWrites                        // a Watch that reports no writes
	SkipRemovals                      // a Watch that reports no removals
	Sorted                            // a Read whose result is sorted by a property other than the key
	Descending                        // reverses the order of a Sorted Read
	Fragment                          // a Watch whose large messages may be split
	PartialSegment                    // for scope Prefix: Key ends within a segment, so a hashed prefix matches no hashed key
	LeaderLeaseRead                   // a Read that the leader serves while its lease is valid
	MustExist                         // a Write that fails if the key does not exist
	Sequential                        // a Write of a new key whose name the store completes with a number; End is the full name
	Ephemeral                         // a Write whose key is bound to the client's session, or a Grant of a session whose keys are deleted when the session ends
	NoHealthChecks                    // a Grant of a session that continues even if health checks fail
	allFlags        = 1<<iota - 1
)

// Value is a recorded value.
type Value struct {
	Size int    // in bytes
	Hash uint64 // hash of the value; equal values have equal hashes
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
	Value    Value // for Write, and for Compare with Target ValueTarget
	// Number depends on the action. For Compare it is the revision or version to compare with; for
	// Read, the revision to read at; for Watch, the first revision; for Compaction, the revision;
	// for Grant and Write, the time to live in seconds, if there is one; for Unwatch, the watcher's
	// number. For OtherAction it depends on the method.
	Number int64
	// Limit is the maximum number of keys in a Read, or 0 for all keys. For a Grant it is the lock
	// delay in milliseconds plus 1, or 0 for the store's default.
	Limit int64
	Lease int64 // for Write, Grant, Revoke, KeepAlive, and for Compare with Target LeaseTarget
	// Version is the key's version after the call; 0 if it is unknown. It is set if guards compare
	// versions that are not revisions, or if replies to writes contain no revision.
	Version int64
	// Name is the lease's name, in a store that identifies leases by names. It is set only in
	// replayed calls and is never recorded.
	Name []byte
	// MaxCreateRevision limits a Read to keys that were created at or before this revision; 0 for
	// no limit. It is set only in calls that applications send, and is never recorded.
	MaxCreateRevision int64
}

// Call is a request and its reply or, if Pushed is set, a message that the server sent without
// a request.
type Call struct {
	// At is the time at which the last byte of the request (or, if Pushed is set, of the message)
	// was received, in nanoseconds since the start of the recording.
	At       int64
	Duration int64  // nanoseconds from At until the last byte of the reply; -1 if no reply
	Conn     uint32 // the connection's number, counted from 1
	// Stream is the number of the long-lived stream that carried the call; 0 if there is none.
	Stream uint32
	Method string // the method's name in the protocol, such as KV/Put
	Pushed bool   // the server sent this message without a request; it contains a watcher's events
	Code   uint16 // the protocol's error code; 0 means success
	// Guarded is set if the call has guards. GuardsHeld is set if all of them held.
	Guarded, GuardsHeld    bool
	RequestSize, ReplySize int   // size in bytes of the request and of the reply
	Revision               int64 // the store's revision in the reply; 0 if unknown
	KeyCount               int64 // number of keys read, counted, written or removed; if Pushed is set, the number of events
	Lease                  int64 // the lease that was granted
	Parts                  []Part
}

// AddPart appends a part with the given action and branch, and returns a pointer to it. The pointer
// is valid until the next call of AddPart.
func (c *Call) AddPart(a Action, b Branch) *Part {
	c.Parts = append(c.Parts, Part{Action: a, Branch: b})
	return &c.Parts[len(c.Parts)-1]
}

// Answered reports whether the call received a reply.
func (c *Call) Answered() bool { return c.Duration >= 0 }

// OK reports whether the call succeeded. A call whose guards did not hold also succeeded.
func (c *Call) OK() bool { return c.Duration >= 0 && c.Code == 0 }

// Gap describes traffic that is missing from the recording.
type Gap struct {
	At   int64  // when the gap was noticed, in nanoseconds since the start
	Conn uint32 // the connection's number; 0 if several connections are affected
	// MissingCalls is the number of calls that are missing, or that are recorded without their
	// contents or results. It is 0 if the rest of the connection cannot be decoded, so that the
	// number is unknown.
	MissingCalls uint64
	Reason       string // the reason, as a clause with a subject and a predicate
}

// Record is one entry in a recording: either a call or a gap. The other field is nil.
type Record struct {
	Call *Call
	Gap  *Gap
}
