package history

// Guarantee is a guarantee that a store gives about its replies.
type Guarantee string

// The values of Guarantee. A store cannot violate a guarantee that it does not make.
const (
	// MatchesRequest: each reply belongs to its request. If a reply contains a value for a key,
	// this value was once written to this key. All protocols guarantee this, so stores do not list
	// it.
	MatchesRequest Guarantee = "a response fits its request"
	// RevisionOrder: revisions follow real time. If an operation begins after another one has
	// ended, the revision of the later operation is not lower than that of the earlier one. The
	// revision of a write is higher than the revisions of all operations that were served before
	// it.
	RevisionOrder Guarantee = "order"
	// Linearizable: a linearizable read returns the state at a revision that is not lower than the
	// last revision that was acknowledged before the read began.
	Linearizable Guarantee = "linearizable"
	// Snapshot: at every consistency level, a read returns the latest version that is not newer
	// than the read's own revision.
	Snapshot Guarantee = "snapshot"
	// Durable: an acknowledged write persists until the key is written again.
	Durable Guarantee = "durable"
	// AtMostOnce: a write is executed at most once, and never partially.
	AtMostOnce Guarantee = "once"
	// CompareAndSet: a compare-and-set succeeds if and only if the current version is the expected
	// version.
	CompareAndSet Guarantee = "compare-and-set"
	// SessionOrder: the revisions at which a client's operations are served never decrease.
	SessionOrder Guarantee = "session"
	// Lease: a lease does not expire until its time to live has passed since its last keep-alive.
	Lease Guarantee = "lease"
	// EndsWithSession: a key that is bound to a session is deleted when the session is closed.
	EndsWithSession Guarantee = "keys end with their session"
	// ExclusiveLock: a lock has at most one holder at a time, as long as the holder's lease is
	// alive.
	ExclusiveLock Guarantee = "lock"
	// FencingToken: of two consecutive lock holders, the later one has the higher fencing token.
	FencingToken Guarantee = "fencing token"
	// WatchOrder: a watcher receives events in the order of their revisions.
	WatchOrder Guarantee = "watch events in order"
	// WatchOnce: a watcher never receives an event twice.
	WatchOnce Guarantee = "watch events once"
	// WatchComplete: a watcher misses no event, even if it is created again and starts at a
	// revision that it had already passed.
	WatchComplete Guarantee = "watch events without a gap"
	// WatchFullRevisions: a watcher receives all events of a revision in one message.
	WatchFullRevisions Guarantee = "watch events of whole revisions"
	// WatchProgress: after a progress notification with a revision, a watcher receives no event of
	// that revision or an earlier one.
	WatchProgress Guarantee = "watch progress"
	// WatchAccurate: each event describes a change that happened to a watched key, and contains the
	// correct previous value.
	WatchAccurate Guarantee = "watch events true"
)

// Guarantees lists all guarantees that a store may make.
var Guarantees = []Guarantee{RevisionOrder, Linearizable, Snapshot, Durable, AtMostOnce, CompareAndSet, SessionOrder, Lease, EndsWithSession, ExclusiveLock, FencingToken, WatchOrder, WatchOnce, WatchComplete, WatchFullRevisions, WatchProgress, WatchAccurate}
