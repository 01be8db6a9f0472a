package verify

// Kind names a violation.
type Kind string

// The kinds.
const (
	Reordered     Kind = "reordered write"   // its revision is not after operations that ended before it began
	StaleRead     Kind = "stale read"        // older than data acknowledged before it began, or than its own revision
	LostWrite     Kind = "lost write"        // acknowledged, and never visible
	Resurrected   Kind = "resurrected write" // deleted or overwritten, and visible again
	AppliedTwice  Kind = "write applied twice"
	SameRevision  Kind = "duplicate revision" // for two writes
	OtherValue    Kind = "two values at one revision"
	WrongCAS      Kind = "compare-and-set on wrong version"
	WrongConflict Kind = "unjustified conflict"
	Invented      Kind = "unwritten value"
	RefusedThere  Kind = "refused write executed"
	Partial       Kind = "partial transaction"
	Future        Kind = "read of a future version" // than its own revision
	Backwards     Kind = "revision went backwards"
	NoOrder       Kind = "no valid order"      // found by search
	EventLost     Kind = "missing watch event" // although a later one arrived
	EventTwice    Kind = "duplicate watch event"
	EventLate     Kind = "reordered watch event"
	EventSplit    Kind = "split watch event"
	OtherKey      Kind = "watch event of wrong key" // than the watcher's
	Untrue        Kind = "wrong watch progress"
	WrongBefore   Kind = "watch event with wrong previous value"
	Outlived      Kind = "key outlived its session"
	EarlyEnd      Kind = "lease ended early"
	HeldTwice     Kind = "two lock holders"
	TokenBack     Kind = "fencing token decreased"
	Disagreement  Kind = "members disagree" // on the revision of a version, and of all after it
	WrongResponse Kind = "wrong response"   // in itself: another key, a value that was never written, or against the protocol
)

// keyless are the kinds that do not concern a single key.
var keyless = []Kind{SameRevision, EarlyEnd, HeldTwice, TokenBack}
