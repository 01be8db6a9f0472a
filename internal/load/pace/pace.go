// Package pace computes when operations are due, as a function of their number.
//
// A pacer has no clock, and its results do not depend on earlier calls. So a schedule cannot
// drift, lose operations, or wait for the store: whatever happens, each operation is due at its
// time.
package pace

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Pacer is a schedule: it computes when operation n is due.
//
// Example: NewConstant(1000) has operations due at 0, 1 ms, 2 ms and so on. If the store stops
// for 10 ms, operation 5 remains due at 5 ms, and its wait counts as response time.
//
// Invariant: Due(n) <= Due(n+1), and Due(n) is always the same for the same n.
//
// A pacer belongs to one goroutine.
type Pacer interface {
	// Due returns when operation n, counted from 0, is due, in nanoseconds since the start of
	// the schedule; math.MaxInt64 for never.
	Due(n uint64) int64
	// Rest returns the schedule from operation n, for counting operations that are not sent.
	// last is a known later point of the schedule, or the zero Point. Rest does not move the
	// pacer.
	Rest(n uint64, last Point) Rest
}

// Rest is the rest of a schedule that will not be sent. Counting its operations takes the same
// time however many there are. Arguments of successive calls must not decrease.
type Rest interface {
	Pacer
	// First returns the first operation that is due at or after a time.
	First(at int64) uint64
}

// Point is an operation and its due time. The zero Point stands for an unknown one.
type Point struct {
	N   uint64
	Due int64
}

// Constant is a schedule with equal gaps: operation n is due at n/rate.
type Constant struct {
	gap float64 // nanoseconds
}

// NewConstant returns a schedule of perSecond operations per second; perSecond is positive.
func NewConstant(perSecond float64) Constant { return Constant{gap: 1e9 / perSecond} }

// Due returns n times the gap. It multiplies in floating point, which is exact to a nanosecond
// for a hundred days, and which saturates where an integer product would overflow into the
// past.
func (c Constant) Due(n uint64) int64 { return saturate(float64(n) * c.gap) }

// Rest returns the schedule itself, because Due needs no earlier operation.
func (c Constant) Rest(uint64, Point) Rest { return c }

// First divides the time by the gap, and corrects the rounding by means of Due.
func (c Constant) First(at int64) uint64 {
	n := uint64(min(max(float64(at)/c.gap, 0), math.MaxInt64))
	for n > 0 && c.Due(n-1) >= at {
		n--
	}
	for c.Due(n) < at {
		n++
	}
	return n
}

// Poisson is a schedule with independent, exponentially distributed gaps, like arrivals from many
// independent clients. Each gap is a function of the seed and its number.
//
// Invariant: sum is the sum of the first n gaps.
type Poisson struct {
	gap  float64 // mean, in nanoseconds
	seed uint64
	// Number of an operation and the sum of the gaps before it. They make ascending calls of
	// Due cost one gap each; a descending call starts again at 0.
	n   uint64
	sum float64
}

// NewPoisson returns a schedule of perSecond operations per second on average.
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

// saturate converts a time to an integer, which is math.MaxInt64 if the time is larger.
func saturate(ns float64) int64 {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(ns)
}
