package load

import (
	"math/bits"
	"sort"
	"sync/atomic"
)

// set is a set of key numbers that the loops share; a preload measures nothing.
type set struct {
	words []atomic.Uint64
	count atomic.Uint64
}

func newSet(n uint64) *set { return &set{words: make([]atomic.Uint64, (n+63)/64)} }

func (s *set) add(i uint64) {
	if s.words[i/64].Or(1<<(i%64))&(1<<(i%64)) == 0 {
		s.count.Add(1)
	}
}

func (s *set) remove(i uint64) {
	if s.words[i/64].And(^uint64(1<<(i%64)))&(1<<(i%64)) != 0 {
		s.count.Add(^uint64(0))
	}
}

// list is the set as it is now.
func (s *set) list() *numberList {
	l := &numberList{words: make([]uint64, len(s.words)), before: make([]uint64, 0, len(s.words)/listBlock+1)}
	for i := range s.words {
		if i%listBlock == 0 {
			l.before = append(l.before, l.count)
		}
		l.words[i] = s.words[i].Load()
		l.count += uint64(bits.OnesCount64(l.words[i]))
	}
	return l
}

// listBlock is after how many words of a numberList there is a count.
const listBlock = 8

// numberList is numbers in their order, in a bit each.
type numberList struct {
	words  []uint64
	before []uint64 // by block: how many there are before it
	count  uint64
}

// at is the i-th number, below count.
func (l *numberList) at(i uint64) uint64 {
	block := sort.Search(len(l.before), func(b int) bool { return l.before[b] > i }) - 1
	left := i - l.before[block]
	for w := block * listBlock; ; w++ {
		word := l.words[w]
		if n := uint64(bits.OnesCount64(word)); left >= n {
			left -= n
			continue
		}
		for ; left > 0; left-- {
			word &= word - 1
		}
		return uint64(w)*64 + uint64(bits.TrailingZeros64(word))
	}
}
