package verify

import "github.com/quorumbench/quorumbench/internal/measure/history"

// Violation is a response that violates a guarantee.
type Violation struct {
	Kind    Kind
	Promise history.Promise
	Source  string // where the store's documentation states the guarantee
	Key     uint64 // not used for the kinds in keyless
	// Ops is the shortest history that shows the violation, in the order in which the operations
	// began. Wrong is the index of the operation with the wrong response.
	Ops   []history.Op
	Wrong int
	Text  string // one line for each operation, and an explanation
}

// Result is the result of the check of a history.
type Result struct {
	Operations uint64 // not including watch events
	Judged     uint64 // operations that were checked against the store's guarantees
	// Keys is the number of keys that have checked operations.
	Keys uint64
	// Violations holds the first violations of each kind. Counts holds the number of all
	// violations.
	Violations []Violation
	Counts     map[Kind]uint64
	// Consequences counts the violations that a disagreement between members explains. Violations
	// and Counts do not include them.
	Consequences map[Kind]uint64
	// NotPromised counts responses that would violate a guarantee if the store gave it.
	NotPromised map[history.Promise]uint64
	// Indefinite counts writes that may or may not have been executed. Resolved counts the
	// indefinite writes whose effect was seen.
	Indefinite, Resolved uint64
	// Staleness describes the reads that may be stale, by consistency and member.
	Staleness []Staleness
	// Watches counts the watch events; nil without watchers.
	Watches *Watches
	// Leases reports on the leases that were kept alive; nil if there were none.
	Leases *Leases
	// Locks reports on the locks; nil if no lock was acquired.
	Locks *Locks
	// Undecided holds sentences about what was not checked and why.
	Undecided []string
}
