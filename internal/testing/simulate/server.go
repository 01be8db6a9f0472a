package simulate

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// ResponseTimes generates a server's response times. The n-th time depends only on n and Seed. The
// times have a log-normal distribution. Median is the median in nanoseconds, and Spread is the
// standard deviation of the logarithm. If n is a multiple of Every, the n-th time is multiplied by
// Long. If Every is 0, no time is multiplied.
type ResponseTimes struct {
	Median, Spread float64
	Every          uint64
	Long           float64
	Seed           uint64
	n              uint64
}

func (t *ResponseTimes) next() int64 {
	t.n++
	// The Box-Muller transform.
	u, v := keys.RandomUnit(t.Seed, 2*t.n), keys.RandomUnit(t.Seed, 2*t.n+1)
	normal := math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
	ns := t.Median * math.Exp(t.Spread*normal)
	if t.Every > 0 && t.n%t.Every == 0 {
		ns *= t.Long
	}
	return int64(ns)
}

// Mean returns the mean time.
func (t *ResponseTimes) Mean() float64 {
	mean := t.Median * math.Exp(t.Spread*t.Spread/2)
	if t.Every > 0 {
		mean *= 1 + (t.Long-1)/float64(t.Every)
	}
	return mean
}

// Delaying is a server that responds to each request after a time from Times, no matter how many
// requests are in progress.
type Delaying struct{ Times ResponseTimes }

// Serve responds after the next time from Times.
func (d *Delaying) Serve(at int64, _ string, _ Request) (int64, kv.Outcome) {
	return at + d.Times.next(), kv.OK
}

// Queueing is a server with several workers. Each worker serves one request at a time, which limits
// the throughput.
type Queueing struct {
	Times ResponseTimes
	free  []int64 // the time at which each worker becomes free
}

// NewQueueing returns a server with the given number of workers.
func NewQueueing(workers int, times ResponseTimes) *Queueing {
	return &Queueing{Times: times, free: make([]int64, workers)}
}

// Serve assigns requests to workers in the order of arrival.
func (q *Queueing) Serve(at int64, _ string, _ Request) (int64, kv.Outcome) {
	first := slices.Index(q.free, slices.Min(q.free))
	q.free[first] = max(q.free[first], at) + q.Times.next()
	return q.free[first], kv.OK
}
