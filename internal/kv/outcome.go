package kv

// Outcome says how an operation ended. Those before NotSent are completions;
// everything from NotSent on is an error.
type Outcome uint8

// The outcomes. Each store maps every code that it can return to one of them.
const (
	OK           Outcome = iota // done
	Miss                        // a read of a key that is not there
	Conflict                    // a compare-and-set whose condition did not hold: an answer, not an error
	Stale                       // a read that may be old returned a value that was written before the newest, or nothing where some was
	Unverifiable                // a read whose value is too short to carry a checksum: it may be right

	NotSent        // never written to a connection before the window closed, or its timeout ended
	TimedOut       // written, and no answer within the timeout
	ConnectionLost // the connection ended before the answer came
	Refused        // the member would not take it: overloaded, starting, shutting down
	NoLeader       // the member knows no leader and did not propose it
	LeaderChanged  // the leader changed while it was under way
	StoreTimeout   // the store gave up waiting for its own quorum
	NoSpace        // the store's quota is used up
	Denied         // authentication or permission
	BadRequest     // the store says that the request cannot be served: too large, compacted, not valid
	StoreError     // any other error that the store answered
	WrongAnswer    // an answer that cannot be true: another key, a damaged value
	NumOutcomes
)

var outcomeNames = [NumOutcomes]string{
	"ok", "miss", "conflict", "stale", "unverifiable",
	"not_sent", "timeout", "connection_lost", "refused", "no_leader", "leader_changed",
	"store_timeout", "no_space", "denied", "bad_request", "store_error", "wrong_answer",
}

// String returns the outcome's name as errors_by_kind spells it.
func (o Outcome) String() string { return name(outcomeNames[:], int(o)) }

// Failed reports whether the outcome is an error.
func (o Outcome) Failed() bool { return o >= NotSent }

// Definite reports whether a write that ended so certainly did not happen.
// A failure that is not definite may have happened: a verifier must allow both.
// NoSpace is one: etcd applies a write that uses up its quota, and says so.
func (o Outcome) Definite() bool {
	switch o {
	case NotSent, Refused, NoLeader, Denied, BadRequest:
		return true
	}
	return false
}
