package verify

import "github.com/quorumbench/quorumbench/internal/measure/history"

// Violation is an answer that breaks a promise.
type Violation struct {
	Kind    Kind
	Promise history.Promise
	Source  string // where the store's documentation makes the promise
	Key     uint64 // nothing, of those that are keyless
	// Ops is the smallest history that shows it, in the order in which the
	// operations began; Wrong is the place of the one whose answer is wrong.
	Ops   []history.Op
	Wrong int
	Text  string // in words, a line for each operation and a sentence
}

// Result is what the check of a history found.
type Result struct {
	Operations uint64 // without watch events
	Judged     uint64 // operations that were checked against the store's guarantees
	// Keys is how many keys have operations that were checked.
	Keys uint64
	// Violations are the first of each kind; Counts has all.
	Violations []Violation
	Counts     map[Kind]uint64
	// Consequences counts the violations that members that disagree explain. They are
	// in neither Violations nor Counts.
	Consequences map[Kind]uint64
	// NotPromised counts what would be wrong at a store that promised it.
	NotPromised map[history.Promise]uint64
	// Indefinite writes may have been done or not; Resolved is how many of them
	// were seen to be.
	Indefinite, Resolved uint64
	// Staleness of the reads that may be old, by consistency and member.
	Staleness []Staleness
	// Watches counts the watch events; nil without watchers.
	Watches *Watches
	// Leases is what became of the leases that were kept alive; nil where none was.
	Leases *Leases
	// Locks is what became of locks; nil where none was had.
	Locks *Locks
	// Undecided are sentences about what could not be checked, and why.
	Undecided []string
}
