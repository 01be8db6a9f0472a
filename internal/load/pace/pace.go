// Package pace computes when operations are due, as a function of their number.
//
// A pacer has no clock, and its results do not depend on earlier calls. So a schedule cannot drift,
// lose operations, or wait for the store: each operation has a fixed due time.
package pace

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Pacer is a schedule. It computes when operation n is due.
//
// Example: with NewConstant(1000), operations are due at 0, 1 ms, 2 ms and so on. If the store
// stops for 10 ms, operation 5 is still due at 5 ms, and its wait is part of its response time.
//
// Invariant: Due(n) <= Due(n+1), and Due(n) is always the same for the same n.
//
// A pacer must be used by one goroutine only.
type Pacer interface {
	// Due returns when operation n is due, in nanoseconds since the start of the schedule.
	// Operations are numbered from 0. math.MaxInt64 means never.
	Due(n uint64) int64
	// Remainder returns the part of the schedule that starts with operation n. The result is used
	// to count operations that are not sent. `last` is a known later point of the schedule, or the
	// zero Point. Remainder does not change the pacer.
	Remainder(n uint64, last Point) Remainder
}

// Remainder is a part of a schedule whose operations will not be sent. The time to count these
// operations does not depend on their number. The arguments of successive calls must not decrease.
type Remainder interface {
	Pacer
	// FirstDueAt returns the first operation that is due at or after the given time.
	FirstDueAt(at int64) uint64
}

// Point is an operation with its due time. The zero Point means that no point is known.
type Point struct {
	N   uint64
	Due int64
}

// Constant is a schedule with equal gaps between operations: operation n is due at n/rate.
type Constant struct {
	gap float64 // nanoseconds
}

// NewConstant returns a schedule with the given number of operations per second. perSecond must be
// positive.
func NewConstant(perSecond float64) Constant { return Constant{gap: 1e9 / perSecond} }

// Due returns n times the gap. It uses floating-point numbers, which are exact to a nanosecond for
// a hundred days. For very large n, the result is math.MaxInt64, whereas an integer product would
// overflow to a negative number.
func (c Constant) Due(n uint64) int64 { return saturate(float64(n) * c.gap) }

// Remainder returns the schedule itself, because Due does not depend on earlier operations.
func (c Constant) Remainder(uint64, Point) Remainder { return c }

// FirstDueAt divides the time by the gap, and then corrects the rounding error by means of Due.
func (c Constant) FirstDueAt(at int64) uint64 {
	n := uint64(min(max(float64(at)/c.gap, 0), math.MaxInt64))
	for n > 0 && c.Due(n-1) >= at {
		n--
	}
	for c.Due(n) < at {
		n++
	}
	return n
}

// Poisson is a schedule whose gaps are independent and exponentially distributed, like the gaps
// between arrivals from many independent clients. Each gap depends only on the seed and on its
// number.
//
// Invariant: sum is the sum of the first n gaps.
type Poisson struct {
	gap  float64 // mean gap in nanoseconds
	seed uint64
	// n is the number of an operation, and sum is the sum of the gaps before this operation. They
	// are stored so that calls of Due with ascending arguments compute each gap only once. After a
	// call with a smaller argument, Due starts again at operation 0.
	n   uint64
	sum float64
}

// NewPoisson returns a schedule with the given mean number of operations per second.
func NewPoisson(perSecond float64, seed uint64) *Poisson {
	return &Poisson{gap: 1e9 / perSecond, seed: seed}
}

// Due returns the sum of the first n gaps.
func (p *Poisson) Due(n uint64) int64 {
	if n < p.n {
		p.n, p.sum = 0, 0
	}
	for ; p.n < n; p.n++ {
		// 1-u is in (0, 1], so its logarithm is finite.
		p.sum -= math.Log(1-keys.RandomUnit(p.seed, p.n)) * p.gap
	}
	return saturate(p.sum)
}

// saturate converts a time in nanoseconds to an integer. If the time is too large, the result is
// math.MaxInt64.
func saturate(ns float64) int64 {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(ns)
}
