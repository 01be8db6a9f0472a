package pace

import (
	"math"
	"sort"
)

// Listed is a list of due times in nanoseconds, in ascending order. Operations after the end of the
// list are never due.
type Listed []int64

// Due implements Pacer.
func (l Listed) Due(n uint64) int64 {
	if n < uint64(len(l)) {
		return l[n]
	}
	return math.MaxInt64
}

// Remainder implements Pacer.
func (l Listed) Remainder(uint64, Point) Remainder { return l }

// FirstDueAt implements Remainder.
func (l Listed) FirstDueAt(at int64) uint64 {
	return uint64(sort.Search(len(l), func(n int) bool { return l[n] >= at }))
}
