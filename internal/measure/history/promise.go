package history

// Promise is something that a store promises of its answers.
type Promise string

// The promises. One that a store does not make is never said to be broken.
const (
	// Fitting: a response is about what was requested, and each value in it was written
	// to its key. Every protocol promises it, so that no store lists it.
	Fitting Promise = "a response fits its request"
	// Order: revisions respect real time. What began after another had ended has
	// no lower one, and a write has a higher one than all that was served before.
	Order Promise = "order"
	// Linearizable: a linearizable read is served at no revision before the last
	// one acknowledged when it began.
	Linearizable Promise = "linearizable"
	// Snapshot: a read returns the latest version not after its own revision, at
	// every level of consistency.
	Snapshot Promise = "snapshot"
	// Durable: what was acknowledged stays until it is overwritten.
	Durable Promise = "durable"
	// Once: what is written is done once or not at all, and as a whole.
	Once Promise = "once"
	// Compare: a compare-and-set succeeds if and only if the version is the one
	// that it names.
	Compare Promise = "compare-and-set"
	// Session: the revisions that a client's operations are served at never go back.
	Session Promise = "session"
	// Lease: a lease lives for its time after it was kept alive last.
	Lease Promise = "lease"
	// Ends: a key that ends with a session is gone when the session was closed.
	Ends Promise = "keys end with their session"
	// Exclusive: a lock is held by one at a time, while its holder's lease lives.
	Exclusive Promise = "lock"
	// Fence: of two that held a lock one after the other, the later has the higher
	// fencing token.
	Fence Promise = "fencing token"
	// WatchOrder: a watcher is told of what happened in the order of the revisions.
	WatchOrder Promise = "watch events in order"
	// WatchOnce: it is told of nothing twice.
	WatchOnce Promise = "watch events once"
	// WatchAll: what it is told has no gap, also where it was created again behind
	// what it had been told last.
	WatchAll Promise = "watch events without a gap"
	// WatchWhole: what happened at one revision is told in one message.
	WatchWhole Promise = "watch events of whole revisions"
	// WatchProgress: after a progress notification nothing comes of its revision or
	// before.
	WatchProgress Promise = "watch progress"
	// WatchTrue: what it is told of is what happened, to keys that it watches, and
	// what was there before is that.
	WatchTrue Promise = "watch events true"
)

// Promises lists them all, in the order of this file.
var Promises = []Promise{Order, Linearizable, Snapshot, Durable, Once, Compare, Session, Lease, Ends, Exclusive, Fence, WatchOrder, WatchOnce, WatchAll, WatchWhole, WatchProgress, WatchTrue}
