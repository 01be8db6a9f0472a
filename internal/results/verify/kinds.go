package verify

// Kind is a kind of violation.
type Kind string

// The kinds of violations.
const (
	Reordered     Kind = "reordered write"   // the write's revision is not higher than a revision that an operation had returned before the write began
	StaleRead     Kind = "stale read"        // the read returned older data than had been acknowledged before the read began, or than existed at the read's own revision
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
	NoOrder       Kind = "no valid order"      // a search for a valid order of the operations found none
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
	Disagreement  Kind = "members disagree" // two members report different revisions for a version and for all later versions
	WrongResponse Kind = "wrong response"   // the response contains another key or a value that was never written, or violates the protocol
)

// keyless lists the kinds of violations for which Violation.Key is not used.
var keyless = []Kind{SameRevision, EarlyEnd, HeldTwice, TokenBack}
