package verify

// Kind is a kind of violation.
type Kind string

// The kinds of violations.
const (
	Reordered     Kind = "reordered write"   // its revision is not higher than the revisions of operations that ended before it began
	StaleRead     Kind = "stale read"        // it returned older data than was acknowledged before it began, or than existed at its own revision
	LostWrite     Kind = "lost write"        // the write was acknowledged, but its version was never visible
	Resurrected   Kind = "resurrected write" // the version was deleted or overwritten, but became visible again
	AppliedTwice  Kind = "write applied twice"
	SameRevision  Kind = "duplicate revision" // two writes have the same revision
	OtherValue    Kind = "two values at one revision"
	WrongCAS      Kind = "compare-and-set on wrong version"
	WrongConflict Kind = "unjustified conflict"
	Invented      Kind = "unwritten value"
	RefusedThere  Kind = "refused write executed"
	Partial       Kind = "partial transaction"
	Future        Kind = "read of a future version" // the version is newer than the revision of the read
	Backwards     Kind = "revision went backwards"
	NoOrder       Kind = "no valid order"      // found by searching for an order
	EventLost     Kind = "missing watch event" // a later event arrived
	EventTwice    Kind = "duplicate watch event"
	EventLate     Kind = "reordered watch event"
	EventSplit    Kind = "split watch event"
	OtherKey      Kind = "watch event of wrong key" // the watcher does not watch the key of the event
	Untrue        Kind = "wrong watch progress"
	WrongBefore   Kind = "watch event with wrong previous value"
	Outlived      Kind = "key outlived its session"
	EarlyEnd      Kind = "lease ended early"
	HeldTwice     Kind = "two lock holders"
	TokenBack     Kind = "fencing token decreased"
	Disagreement  Kind = "members disagree" // members give different revisions to a version and to all later versions
	WrongResponse Kind = "wrong response"   // it has another key or a value that was never written, or violates the protocol
)

// keyless lists the kinds of violations that do not concern a single key.
var keyless = []Kind{SameRevision, EarlyEnd, HeldTwice, TokenBack}
