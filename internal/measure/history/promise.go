package history

// Promise is a guarantee that a store makes about its replies.
type Promise string

// The promises. A store cannot violate a promise that it does not make.
const (
	// Fitting: a reply belongs to its request, and each value in it was written to its key.
	// Every protocol promises this, so stores do not list it.
	Fitting Promise = "a response fits its request"
	// Order: revisions respect real time. An operation that began after another one had ended
	// has no lower revision, and a write has a higher one than everything served before it.
	Order Promise = "order"
	// Linearizable: a linearizable read is served at or after the last revision that was
	// acknowledged before the read began.
	Linearizable Promise = "linearizable"
	// Snapshot: a read returns the latest version at or before its own revision, at every
	// consistency level.
	Snapshot Promise = "snapshot"
	// Durable: an acknowledged write persists until it is overwritten.
	Durable Promise = "durable"
	// Once: a write is executed once or not at all, and always completely.
	Once Promise = "once"
	// Compare: a compare-and-set succeeds if and only if the current version is the expected
	// one.
	Compare Promise = "compare-and-set"
	// Session: the revisions that serve a client's operations never decrease.
	Session Promise = "session"
	// Lease: a lease lives for its time to live after its last keep-alive.
	Lease Promise = "lease"
	// Ends: a key that is bound to a session is gone after the session was closed.
	Ends Promise = "keys end with their session"
	// Exclusive: a lock has one holder at a time, while the holder's lease lives.
	Exclusive Promise = "lock"
	// Fence: of two consecutive lock holders the later one has the higher fencing token.
	Fence Promise = "fencing token"
	// WatchOrder: a watcher receives events in the order of their revisions.
	WatchOrder Promise = "watch events in order"
	// WatchOnce: a watcher receives no event twice.
	WatchOnce Promise = "watch events once"
	// WatchAll: a watcher's events have no gap, even if it was created again at an earlier
	// revision than it had reached.
	WatchAll Promise = "watch events without a gap"
	// WatchFullRevisions: a watcher receives all events of a revision in one message.
	WatchFullRevisions Promise = "watch events of whole revisions"
	// WatchProgress: after a progress notification a watcher receives no event of its revision
	// or an earlier one.
	WatchProgress Promise = "watch progress"
	// WatchAccurate: events describe what happened, to keys that the watcher watches, with the
	// true previous values.
	WatchAccurate Promise = "watch events true"
)

// Promises lists all promises that a store can make.
var Promises = []Promise{Order, Linearizable, Snapshot, Durable, Once, Compare, Session, Lease, Ends, Exclusive, Fence, WatchOrder, WatchOnce, WatchAll, WatchFullRevisions, WatchProgress, WatchAccurate}
