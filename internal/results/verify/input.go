package verify

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Input is a history that can be read more than once.
type Input interface {
	// Header returns the store's properties and guarantees.
	Header() *history.Header
	// Read calls the function do with batches of operations, in the order in which the operations
	// ended. Each call of Read starts at the beginning of the history. If the function returns an
	// error, Read stops and returns the error.
	Read(do func([]history.Op) error) error
	// CompleteUntil returns the earliest time at which missing operations may have taken effect, or
	// math.MaxInt64 if no operation is missing. It may only be called after Read.
	CompleteUntil() int64
}

// Options limits the effort of a check. A zero field selects the default.
type Options struct {
	MaxViolations   int           // maximum number of violations to describe for each kind; default: 3
	Partition       int           // maximum number of operations to hold in memory; default: 16 million
	Samples         int           // number of keys for which to search for a valid order, if the store returns no revisions of writes; default: 200
	SearchTimeLimit time.Duration // time limit for all of these searches together; default: 30 s
	// Canceled returns an error if the check must stop. It is called between these searches, because
	// they do not read the history. By default, they are not canceled.
	Canceled func() error
}

const (
	defaultKeep      = 3
	defaultPartition = 16_000_000
	defaultSamples   = 200
	defaultLongest   = 30 * time.Second
)
