// Package pace says when operations are due: a pure function of their number.
//
// A pacer has no clock and no state that its answers depend on, so that a
// schedule cannot drift, lose tokens or wait for the store: what was due at a
// given time was due then, whatever happened since.
package pace

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Pacer says when the n-th operation (from 0) is due, in nanoseconds after the
// schedule's start. Due never decreases with n. A pacer belongs to one
// goroutine.
type Pacer interface {
	Due(n uint64) int64
	// Rest is the schedule from operation n on as it is counted, and not sent.
	// It leaves the pacer where it is.
	Rest(n uint64, last Point) Rest
}

// Rest is the rest of a schedule that nobody sends any more: it costs the same
// however much that is. Numbers and times are asked for upwards.
type Rest interface {
	Pacer
	// First is the first operation that is due at a time or later.
	First(at int64) uint64
}

// Point is an operation and when it is due; without an operation it is not known.
type Point struct {
	N   uint64
	Due int64
}

// Constant spaces operations evenly: the n-th is due at n/rate.
type Constant struct {
	gap float64 // nanoseconds
}

// NewConstant returns a pacer of perSecond operations a second, above 0.
func NewConstant(perSecond float64) Constant { return Constant{gap: 1e9 / perSecond} }

// Due is n times the gap. The product is taken in floating point, whose 53 bits
// are exact to less than a nanosecond for a hundred days, and which saturates
// where an integer product would overflow into the past.
func (c Constant) Due(n uint64) int64 { return saturate(float64(n) * c.gap) }

// Rest is the schedule itself: when an operation is due needs none before it.
func (c Constant) Rest(uint64, Point) Rest { return c }

// First is the quotient, put right by what Due itself says.
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

// Poisson spaces operations with independent exponential gaps, as arrivals from
// many independent clients are. The gaps are a function of the seed and their
// number alone.
type Poisson struct {
	gap  float64 // mean, in nanoseconds
	seed uint64
	// The sum of the gaps before operation n, kept so that walking upwards
	// costs one gap an operation; asking backwards starts anew.
	n   uint64
	sum float64
}

// NewPoisson returns a pacer of perSecond operations a second on average.
func NewPoisson(perSecond float64, seed uint64) *Poisson {
	return &Poisson{gap: 1e9 / perSecond, seed: seed}
}

// Due is the sum of the first n gaps.
func (p *Poisson) Due(n uint64) int64 {
	if n < p.n {
		p.n, p.sum = 0, 0
	}
	for ; p.n < n; p.n++ {
		// 1-u is in (0, 1], so that its logarithm is finite.
		p.sum -= math.Log(1-keys.RandomUnit(p.seed, p.n)) * p.gap
	}
	return saturate(p.sum)
}

func saturate(ns float64) int64 {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(ns)
}
