package keys

import (
	"sort"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Mix chooses an operation by weight.
//
// Example: if the weights are 3 and 1, cumulative is [0.75, 1], and Operation returns the first
// operation in about three out of four cases.
type Mix struct {
	operations []scenario.Operation
	cumulative []float64 // cumulative shares; the last one is 1
	seed       uint64
}

// NewMix returns a mix. The weights must be positive, but need not add up to a particular number.
func NewMix(operations []scenario.Operation, seed uint64) Mix {
	m := Mix{operations: operations, cumulative: make([]float64, len(operations)), seed: seed}
	sum := 0.0
	for i, o := range operations {
		sum += o.Weight
		m.cumulative[i] = sum
	}
	for i := range m.cumulative {
		m.cumulative[i] /= sum
	}
	return m
}

// Shares returns the operations' shares in the order of the operations that were passed to NewMix.
// The sum of the shares is 1.
func (m *Mix) Shares() []float64 {
	shares, below := make([]float64, len(m.cumulative)), 0.0
	for i, upTo := range m.cumulative {
		shares[i], below = upTo-below, upTo
	}
	return shares
}

// Operation returns operation n. The result depends only on the seed and n.
func (m *Mix) Operation(n uint64) *scenario.Operation {
	if len(m.operations) == 1 {
		return &m.operations[0]
	}
	u := RandomUnit(m.seed, n)
	i := sort.Search(len(m.cumulative), func(i int) bool { return u < m.cumulative[i] })
	return &m.operations[min(i, len(m.operations)-1)]
}
