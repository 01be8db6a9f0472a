package verify

import (
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// checker checks one history.
type checker struct {
	in         Input
	opt        Options
	survey     survey
	found      findings
	staleReads *stalenesses
	result     record.Verification

	table     table // holds the entries of one part of the keys; its memory is reused for the next part
	revisions []revisionWriter
}

// revisionWriter is the revision of a write, with the write's operation number.
type revisionWriter struct {
	revision int64
	ord      uint32
}

// parts divides the keys into parts, so that a part has at most about opt.Partition operations. It
// returns a function for each part, which reports whether the part contains a key or revision.
func (c *checker) parts() []func(uint64) bool {
	parts := make([]func(uint64) bool, c.survey.operations/uint64(c.opt.Partition)+1)
	for part := range parts {
		parts[part] = func(key uint64) bool { return len(parts) == 1 || int(mixed(key)>>33)%len(parts) == part }
	}
	return parts
}

// forEachOperation calls the function do for each operation, with the number of the operation and
// the operation.
func (c *checker) forEachOperation(do func(uint32, *history.Op)) error {
	ord := uint32(0)
	return c.in.Read(func(ops []history.Op) error {
		for i := range ops {
			do(ord, &ops[i])
			ord++
		}
		return nil
	})
}

// mixed returns a hash of x.
func mixed(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
