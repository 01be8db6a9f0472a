package verify

import "github.com/quorumbench/quorumbench/internal/measure/history"

// Violation is a response that violates a guarantee.
type Violation struct {
	Kind      Kind
	Guarantee history.Guarantee
	Source    string // where the guarantee is documented
	Key       uint64 // not valid for the kinds in keyless
	// Ops holds the operations that prove the violation, in the order in which they began.
	// WrongIndex is the index in Ops of the operation with the wrong response.
	Ops         []history.Op
	WrongIndex  int
	Explanation string // one line for each operation, and a last line that explains the violation
}

// Result is the result of the check of a history.
type Result struct {
	Operations         uint64 // not including watch events
	VerifiedOperations uint64 // number of operations that were checked against the store's guarantees
	// Keys is the number of keys with at least one operation that was checked.
	Keys uint64
	// Violations holds the first violations of each kind. Counts holds the number of all
	// violations.
	Violations []Violation
	Counts     map[Kind]uint64
	// Consequences counts the violations that a disagreement between members explains. Violations
	// and Counts do not include them.
	Consequences map[Kind]uint64
	// NotGuaranteed counts, by guarantee, the responses that would be violations if the store gave
	// the guarantee.
	NotGuaranteed map[history.Guarantee]uint64
	// Indefinite counts writes with an unknown outcome. Resolved counts only those writes with an
	// unknown outcome whose effect was visible to other operations.
	Indefinite, Resolved uint64
	// Staleness describes the reads that may be stale, with one entry for each consistency level
	// and member.
	Staleness []Staleness
	// Watches counts the watch events. It is nil if no watcher was created.
	Watches *Watches
	// Leases describes the leases that clients kept alive. It is nil if the history contains no
	// keep-alive.
	Leases *Leases
	// Locks describes the acquisitions of locks. It is nil if no lock was acquired.
	Locks *Locks
	// Undecided holds sentences that state what was not checked, and why.
	Undecided []string
}
