package simulate

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/load/random"
)

// Times are a server's times for its requests, a function of their number:
// lognormal with the given median (nanoseconds) and spread (the standard
// deviation of the logarithm).
type Times struct {
	Median, Spread float64
	Seed           uint64
	n              uint64
}

func (t *Times) next() int64 {
	t.n++
	// Box and Muller.
	u, v := random.Unit(t.Seed, 2*t.n), random.Unit(t.Seed, 2*t.n+1)
	normal := math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
	return int64(t.Median * math.Exp(t.Spread*normal))
}

// Delaying answers each request after a time of its own, however many there
// are.
type Delaying struct{ Times Times }

// Serve answers.
func (d *Delaying) Serve(at int64, _ string, _ Request) (int64, kv.Outcome) {
	return at + d.Times.next(), kv.OK
}

// Queueing has workers that each serve one request after the other, so that it
// has a greatest throughput.
type Queueing struct {
	Times Times
	free  []int64 // when each worker is
}

// NewQueueing returns a server with the given number of workers.
func NewQueueing(workers int, times Times) *Queueing {
	return &Queueing{Times: times, free: make([]int64, workers)}
}

// Serve answers in the order of arrival.
func (q *Queueing) Serve(at int64, _ string, _ Request) (int64, kv.Outcome) {
	first := slices.Index(q.free, slices.Min(q.free))
	q.free[first] = max(q.free[first], at) + q.Times.next()
	return q.free[first], kv.OK
}
