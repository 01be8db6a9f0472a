package verify

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Input is a history that can be read more than once.
type Input interface {
	// Header returns the store's properties and guarantees.
	Header() *history.Header
	// Read calls do with batches of operations, in the order in which the operations ended. Each
	// call of Read starts at the beginning. Read stops if do returns an error.
	Read(do func([]history.Op) error) error
}

// PartialInput is an Input from which operations may be missing.
type PartialInput interface {
	Input
	// Until may be called after Read. It returns the earliest time at which missing operations may
	// have had an effect, or the maximum if no operation is missing.
	Until() int64
}

// Options limit the check. A zero field means its default.
type Options struct {
	Keep      int           // number of violations of each kind to describe; default: 3
	Partition int           // maximum number of operations in memory; default: 16 million
	Samples   int           // number of keys for which to search an order, if the store returns no revisions; default: 200
	Longest   time.Duration // time limit for all of these searches together; default: 30 s
}

const (
	defaultKeep      = 3
	defaultPartition = 16_000_000
	defaultSamples   = 200
	defaultLongest   = 30 * time.Second
)
