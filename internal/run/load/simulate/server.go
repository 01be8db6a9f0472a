package simulate

import (
	"container/heap"
	"errors"
	"math"

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
	free  freeAt
}

// NewQueueing returns a server with the given number of workers.
func NewQueueing(workers int, times Times) *Queueing {
	return &Queueing{Times: times, free: make(freeAt, workers)}
}

// Serve answers in the order of arrival.
func (q *Queueing) Serve(at int64, _ string, _ Request) (int64, kv.Outcome) {
	q.free[0] = max(q.free[0], at) + q.Times.next()
	done := q.free[0]
	heap.Fix(&q.free, 0)
	return done, kv.OK
}

// freeAt is when each worker is free, the first one first.
type freeAt []int64

func (h freeAt) Len() int           { return len(h) }
func (h freeAt) Less(i, j int) bool { return h[i] < h[j] }
func (h freeAt) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *freeAt) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *freeAt) Pop() any          { panic("a worker does not leave") }

// Down is a server that behaves differently in a span of time.
type Down struct {
	Server   Server
	From, To int64 // since the world's beginning
	// Refuses makes it answer at once that it will not; Hangs that it does not
	// answer what came in the span. Else its answers wait for the end of it.
	Refuses, Hangs bool
}

// Serve answers as the span says.
func (d *Down) Serve(at int64, endpoint string, r Request) (int64, kv.Outcome) {
	if at < d.From+origin || at >= d.To+origin {
		return d.Server.Serve(at, endpoint, r)
	}
	switch {
	case d.Refuses:
		return at, kv.Refused
	case d.Hangs:
		return -1, kv.OK
	}
	return d.Server.Serve(d.To+origin, endpoint, r)
}

// Endpoints sends each endpoint's requests to a server of its own.
type Endpoints map[string]Server

var errNobody = errors.New("nobody listens there")

// Serve asks the endpoint's server.
func (e Endpoints) Serve(at int64, endpoint string, r Request) (int64, kv.Outcome) {
	return e[endpoint].Serve(at, endpoint, r)
}

// Dial finds the endpoint.
func (e Endpoints) Dial(_ int64, endpoint string) error {
	if e[endpoint] == nil {
		return errNobody
	}
	return nil
}
