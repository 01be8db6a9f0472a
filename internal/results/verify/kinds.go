package verify

// Kind is a kind of violation. The record of a run stores it as text.
type Kind = string

// The kinds of violations.
const (
	ReorderedWrite       Kind = "reordered write"   // the write's revision is not higher than a revision that an operation had returned before the write began
	StaleRead            Kind = "stale read"        // the read returned older data than had been acknowledged before the read began, or than existed at the read's own revision
	LostWrite            Kind = "lost write"        // the write was acknowledged, but its version was never visible
	ResurrectedWrite     Kind = "resurrected write" // the version was deleted or overwritten, but became visible again
	WriteAppliedTwice    Kind = "write applied twice"
	DuplicateRevision    Kind = "duplicate revision" // two writes have the same revision
	TwoValuesAtRevision  Kind = "two values at one revision"
	CASOnWrongVersion    Kind = "compare-and-set on wrong version"
	UnjustifiedConflict  Kind = "unjustified conflict"
	UnwrittenValue       Kind = "unwritten value"
	RefusedWriteExecuted Kind = "refused write executed"
	PartialTransaction   Kind = "partial transaction"
	ReadOfFutureVersion  Kind = "read of a future version" // the version is newer than the revision of the read
	RevisionDecreased    Kind = "revision went backwards"
	NoValidOrder         Kind = "no valid order"      // a search for a valid order of the operations found none
	MissingEvent         Kind = "missing watch event" // a later event arrived
	DuplicateEvent       Kind = "duplicate watch event"
	ReorderedEvent       Kind = "reordered watch event"
	SplitEvent           Kind = "split watch event"
	EventOfWrongKey      Kind = "watch event of wrong key" // the watcher does not watch the key of the event
	WrongWatchProgress   Kind = "wrong watch progress"
	WrongPreviousValue   Kind = "watch event with wrong previous value"
	KeyOutlivedSession   Kind = "key outlived its session"
	EarlyLeaseEnd        Kind = "lease ended early"
	TwoLockHolders       Kind = "two lock holders"
	TokenDecreased       Kind = "fencing token decreased"
	MembersDisagree      Kind = "members disagree" // two members report different revisions for a version and for all later versions
	WrongResponse        Kind = "wrong response"   // the response contains another key or a value that was never written, or violates the protocol
)

// keyless lists the kinds of violations that do not concern a single key.
var keyless = []Kind{DuplicateRevision, EarlyLeaseEnd, TwoLockHolders, TokenDecreased}
