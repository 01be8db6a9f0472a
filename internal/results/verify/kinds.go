package verify

// Kind says in what way an answer was wrong.
type Kind string

// The kinds.
const (
	Reordered     Kind = "reordered write"   // its revision is not after what had ended before it began
	StaleRead     Kind = "stale read"        // older than what was acknowledged before it began, or than its own revision
	LostWrite     Kind = "lost write"        // acknowledged, and never there
	Resurrected   Kind = "resurrected write" // deleted or overwritten, and there again
	AppliedTwice  Kind = "write applied twice"
	SameRevision  Kind = "one revision twice" // for two writes
	OtherValue    Kind = "two values at one revision"
	WrongCAS      Kind = "compare-and-set on another version"
	WrongConflict Kind = "conflict without a reason"
	Invented      Kind = "value that nobody wrote"
	RefusedThere  Kind = "refused write that was done"
	Partial       Kind = "transaction done in part"
	Future        Kind = "read of a later version" // than its own revision
	Backwards     Kind = "client that went back in time"
	NoOrder       Kind = "no order explains the key" // found by search
	EventLost     Kind = "watch event missed"        // though a later one came
	EventTwice    Kind = "watch event twice"
	EventLate     Kind = "watch event out of order"
	EventSplit    Kind = "watch events of half a revision"
	OtherKey      Kind = "watch event of another key" // than the watcher's
	Untrue        Kind = "untrue watch progress"
	WrongBefore   Kind = "watch event with a wrong value before"
	Outlived      Kind = "key that outlived its session"
	EarlyEnd      Kind = "lease that ended early"
	HeldTwice     Kind = "lock held by two"
	TokenBack     Kind = "fencing token that went back"
	Disagreement  Kind = "members disagree" // on the revision of a version, and of all after it
	WrongAnswer   Kind = "wrong answer"     // by itself: another key, a value that was never written, or what the protocol rules out
)

// keyless are the kinds of what is no single key's.
var keyless = []Kind{SameRevision, EarlyEnd, HeldTwice, TokenBack}
