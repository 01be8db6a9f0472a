// Package calibrate measures, without any load, the smallest differences that a machine and its
// network can show: how late the generator's event loop wakes up, and how long TCP connections take
// to open.
package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// perRound is the number of waits in a round. A p99 needs no more, because ten waits of a round are
// later than its p99.
const perRound = 1000

// shortest and longest are the limits for the length of a wait in nanoseconds. Waits of this length
// are typical for an open loop of several thousand operations per second.
const (
	shortest = 50_000
	longest  = 450_000
)

// Wakes measures how late the generator's poller wakes up. It measures in the given number of
// rounds, on a separate thread.
func Wakes(ctx context.Context, rounds int) (record.WakeError, error) {
	p, err := poll.NewPoller(0, time.Now(), poll.Dialer{})
	if err != nil {
		return record.WakeError{}, fmt.Errorf("cannot measure wake-ups: %w", err)
	}
	defer p.Release()
	type result struct {
		of  record.WakeError
		err error
	}
	done := make(chan result, 1)
	go func() { // the thread, which Attach has modified, exits with the goroutine
		p.Attach()
		of, err := wakes(ctx, p, rounds)
		done <- result{of, err}
	}()
	r := <-done
	return r.of, r.err
}

// wakes measures with an attached poller.
func wakes(ctx context.Context, p poll.Poller, rounds int) (record.WakeError, error) {
	var p50, p99 []float64
	late, ready := make([]int64, 0, perRound), make([]poll.Ready, 0, 1)
	for range rounds {
		late = late[:0]
		for i := range perRound {
			if i%100 == 0 && ctx.Err() != nil {
				return record.WakeError{}, context.Cause(ctx)
			}
			now := p.Now()
			until := now + waitOf(i)
			for now < until { // a signal from Go's runtime also ends a wait
				ready = p.Wait(until, ready[:0])
				now = p.Now()
			}
			late = append(late, now-until)
		}
		slices.Sort(late)
		p50, p99 = append(p50, nearestRank(late, 0.50)), append(p99, nearestRank(late, 0.99))
	}
	return record.WakeError{P50NS: record.SummarizeRounds(p50...), P99NS: record.SummarizeRounds(p99...), Count: rounds * perRound}, nil
}

// waitOf returns the length of the i-th wait. Multiples of the golden ratio spread the lengths
// evenly, so that they are never synchronous with a periodic event.
func waitOf(i int) int64 {
	_, part := math.Modf(float64(i) * (math.Sqrt(5) - 1) / 2)
	return shortest + int64(part*(longest-shortest))
}

// nearestRank returns the smallest of the sorted values for which at least the given share of the
// values are less or equal. There must be at least one value.
func nearestRank(sorted []int64, share float64) float64 {
	rank := int(math.Ceil(share*float64(len(sorted)) - 1e-9))
	return float64(sorted[max(rank, 1)-1])
}
