package verify

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Input is a history that can be read more than once.
type Input interface {
	// Header returns the store's properties and guarantees.
	Header() *history.Header
	// Read calls do with batches of operations in the order in which they ended, each time from
	// the beginning, until do returns an error.
	Read(do func([]history.Op) error) error
}

// PartialInput is an Input of which operations may be missing.
type PartialInput interface {
	Input
	// Until returns, after a Read, the earliest time at which missing operations may have had an
	// effect; the maximum if none is missing.
	Until() int64
}

// Options limit the check. The zero value has the defaults.
type Options struct {
	Keep      int           // violations of each kind to show; 0: 3
	Partition int           // operations held in memory at once; 0: 16 million
	Samples   int           // keys to search if the store returns no order; 0: 200
	Longest   time.Duration // total time of these searches; 0: 30 s
}

const (
	defaultKeep      = 3
	defaultPartition = 16_000_000
	defaultSamples   = 200
	defaultLongest   = 30 * time.Second
)
