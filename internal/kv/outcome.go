package kv

// Outcome is how an operation ended. The outcomes before NotSent are completions. NotSent and
// the outcomes after it are errors.
type Outcome uint8

// The outcomes. The codec of each store maps every status code that the store can return to one of
// them.
const (
	OK           Outcome = iota // completed
	Miss                        // the key that was read does not exist
	Conflict                    // the condition of a compare-and-set did not hold: a response, not an error
	Stale                       // a read that may return stale data returned an older value than expected, or no value
	Unverifiable                // the value that was read is too short to carry a checksum

	NotSent        // not written to a connection before the window closed or the timeout passed
	TimedOut       // was sent, but no response arrived within the timeout
	ConnectionLost // the connection ended before the response arrived
	Refused        // the member rejected the request: it was overloaded, starting, or shutting down
	NoLeader       // the member knows no leader and did not propose the request
	LeaderChanged  // the leader changed while the operation was in flight
	StoreTimeout   // the store gave up waiting for its quorum
	NoSpace        // the store's storage quota is exhausted
	Denied         // authentication or permission failed
	BadRequest     // the store cannot serve the request: it is too large or invalid, or its revision is compacted
	StoreError     // any other error that the store returned
	WrongResponse  // a response that cannot be correct, for example with another key or a damaged value
	NumOutcomes
)

var outcomeNames = [NumOutcomes]string{
	"ok", "miss", "conflict", "stale", "unverifiable",
	"not_sent", "timeout", "connection_lost", "refused", "no_leader", "leader_changed",
	"store_timeout", "no_space", "denied", "bad_request", "store_error", "wrong_response",
}

// String returns the outcome's name as used in errors_by_kind.
func (o Outcome) String() string { return nameAt(outcomeNames[:], int(o)) }

// Failed reports whether the outcome is an error.
func (o Outcome) Failed() bool { return o >= NotSent }

// Definite reports whether it is certain that the store did not execute a write with this outcome.
// After any other error, the store may or may not have executed the write, and verification accepts
// both possibilities. NoSpace is indefinite, because etcd applies the write that exhausts its
// quota, but still returns the error.
func (o Outcome) Definite() bool {
	switch o {
	case NotSent, Refused, NoLeader, Denied, BadRequest:
		return true
	}
	return false
}
