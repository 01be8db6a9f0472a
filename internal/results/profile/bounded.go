package profile

import (
	"maps"
	"math/bits"
	"slices"
)

// A recording of a few bytes can have millions of calls, keys, connections, methods and
// gaps, so that what a profile keeps of them is bounded.
const (
	mostMethods  = 64
	otherMethods = "other methods"
	mostGaps     = 32
	mostKept     = 1 << 20 // keys or connections
	// exactBits is how many leading bits of a number a Spread keeps.
	exactBits = 12
)

// Spread is a median, a 99th percentile and the largest of some numbers. Numbers from
// 4096 on are kept to 12 bits, so that there are few different ones.
type Spread struct {
	counts  map[int64]uint64
	n       uint64
	largest int64
	sorted  []int64
}

func (s *Spread) add(n int64) {
	if s.counts == nil {
		s.counts = map[int64]uint64{}
	}
	s.n++
	s.largest, s.sorted = max(s.largest, n), nil
	if surplus := bits.Len64(uint64(n)) - exactBits; surplus > 0 {
		n = n >> surplus << surplus
	}
	s.counts[n]++
}

// At is a percentile, from 0 to 100; 0 where there are no numbers.
func (s *Spread) At(p float64) int64 {
	rank := uint64(float64(s.n) * p / 100)
	if rank >= s.n {
		return s.largest
	}
	if s.sorted == nil {
		s.sorted = slices.Sorted(maps.Keys(s.counts))
	}
	for _, n := range s.sorted {
		if rank < s.counts[n] {
			return n
		}
		rank -= s.counts[n]
	}
	return s.largest
}

// sample keeps a value for each of some things that are known by a hash: for all until
// there are mostKept, then for those alone whose hashes begin with a number of zeros, which
// is an unbiased choice.
type sample[V any] struct {
	kept  map[uint64]*V
	zeros int
}

// at returns the thing's value, and whether it was kept before; nil if it is not kept.
func (s *sample[V]) at(hash uint64) (value *V, known bool) {
	if bits.LeadingZeros64(hash) < s.zeros {
		return nil, false
	}
	if value = s.kept[hash]; value != nil {
		return value, true
	}
	if s.kept == nil {
		s.kept = map[uint64]*V{}
	}
	for len(s.kept) >= mostKept {
		s.zeros++
		maps.DeleteFunc(s.kept, func(hash uint64, _ *V) bool { return bits.LeadingZeros64(hash) < s.zeros })
		if bits.LeadingZeros64(hash) < s.zeros {
			return nil, false
		}
	}
	value = new(V)
	s.kept[hash] = value
	return value, false
}

// each is how many things one that is kept stands for.
func (s *sample[V]) each() float64 { return float64(uint64(1) << s.zeros) }
