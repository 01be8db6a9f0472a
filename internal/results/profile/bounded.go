package profile

import (
	"maps"
	"math/bits"
	"slices"
)

// A small recording can have millions of calls, keys, connections, methods and gaps, so the
// data that a profile keeps about them is limited.
const (
	mostMethods  = 64
	otherMethods = "other methods"
	mostGaps     = 32
	mostKept     = 1 << 20 // keys or connections
	// exactBits is the number of leading bits of a number that a Spread keeps.
	exactBits = 12
)

// Spread computes median, 99th percentile and maximum of numbers. Numbers of at least 4096
// are kept to 12 bits, which limits the number of different ones.
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

// Percentile returns a percentile, from 0 to 100; 0 without numbers.
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

// sample keeps values by hash: all of them up to mostKept, and beyond that only those whose
// hash begins with a number of zeros, which is an unbiased sample.
type sample[V any] struct {
	kept  map[uint64]*V
	zeros int
}

// value returns the value of a hash, and whether it existed before; nil if it is not kept.
func (s *sample[V]) value(hash uint64) (value *V, known bool) {
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

// each returns how many values a kept one represents.
func (s *sample[V]) each() float64 { return float64(uint64(1) << s.zeros) }
