package profile

import (
	"maps"
	"math/bits"
	"slices"
)

// Even a small recording can have millions of calls, keys, connections, methods and gaps. These
// constants limit how many of them a profile stores.
const (
	maxMethods   = 64
	otherMethods = "other methods"
	maxGaps      = 32
	maxStored    = 1 << 20 // number of keys or connections
	// exactBits is the number of leading bits of a number that a Spread stores exactly.
	exactBits = 12
)

// Spread computes the median, the 99th percentile and the maximum of many numbers. Numbers of at
// least 4096 are rounded down to 12 leading bits, to limit how many different numbers are stored.
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

// Percentile returns the percentile p (0 to 100), or 0 if there are no numbers.
func (s *Spread) Percentile(p float64) int64 {
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

// sample stores values by the hash of a key. It keeps all values until it holds maxStored of them.
// After that, it keeps only the values whose hashes begin with at least `zeroBits` zeros. The kept
// values are an unbiased sample.
type sample[V any] struct {
	stored   map[uint64]*V
	zeroBits int
}

// value returns the value for a hash. If necessary, it creates the value. The result `known` is
// true if the value already existed. If the hash is not in the sample, the result `value` is nil.
func (s *sample[V]) value(hash uint64) (value *V, known bool) {
	if bits.LeadingZeros64(hash) < s.zeroBits {
		return nil, false
	}
	if value = s.stored[hash]; value != nil {
		return value, true
	}
	if s.stored == nil {
		s.stored = map[uint64]*V{}
	}
	for len(s.stored) >= maxStored {
		s.zeroBits++
		maps.DeleteFunc(s.stored, func(hash uint64, _ *V) bool { return bits.LeadingZeros64(hash) < s.zeroBits })
		if bits.LeadingZeros64(hash) < s.zeroBits {
			return nil, false
		}
	}
	value = new(V)
	s.stored[hash] = value
	return value, false
}

// weight returns the number of values that one stored value represents.
func (s *sample[V]) weight() float64 { return float64(uint64(1) << s.zeroBits) }
