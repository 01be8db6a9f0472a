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

// waitsPerRound is the number of waits in a round. More waits are not needed for a p99, because the
// delays of ten waits in a round exceed the p99.
const waitsPerRound = 1000

// shortestWait and longestWait are the limits for the length of a wait in nanoseconds. Waits of
// this length are typical for an open loop of several thousand operations per second.
const (
	shortestWait = 50_000
	longestWait  = 450_000
)

// MeasureWakeups measures how late the generator's poller wakes up. It measures in the given number
// of rounds, on a separate thread.
func MeasureWakeups(ctx context.Context, rounds int) (record.WakeDelay, error) {
	p, err := poll.NewPoller(0, time.Now(), poll.Dialer{})
	if err != nil {
		return record.WakeDelay{}, fmt.Errorf("cannot measure wake-ups: %w", err)
	}
	defer p.Release()
	type result struct {
		of  record.WakeDelay
		err error
	}
	done := make(chan result, 1)
	go func() { // the thread, which Attach has modified, exits with the goroutine
		p.Attach()
		of, err := measureWakeups(ctx, p, rounds)
		done <- result{of, err}
	}()
	r := <-done
	return r.of, r.err
}

// measureWakeups measures with an attached poller.
func measureWakeups(ctx context.Context, p poll.Poller, rounds int) (record.WakeDelay, error) {
	var p50, p99 []float64
	lateness, ready := make([]int64, 0, waitsPerRound), make([]poll.Ready, 0, 1)
	for range rounds {
		lateness = lateness[:0]
		for i := range waitsPerRound {
			if i%100 == 0 && ctx.Err() != nil {
				return record.WakeDelay{}, context.Cause(ctx)
			}
			now := p.Now()
			until := now + waitLength(i)
			for now < until { // a signal from Go's runtime also ends a wait
				ready = p.Wait(until, ready[:0])
				now = p.Now()
			}
			lateness = append(lateness, now-until)
		}
		slices.Sort(lateness)
		p50, p99 = append(p50, nearestRank(lateness, 0.50)), append(p99, nearestRank(lateness, 0.99))
	}
	return record.WakeDelay{P50NS: record.SummarizeRounds(p50...), P99NS: record.SummarizeRounds(p99...), Count: rounds * waitsPerRound}, nil
}

// waitLength returns the length of the i-th wait. Multiples of the golden ratio spread the lengths
// evenly, so that they are never synchronous with a periodic event.
func waitLength(i int) int64 {
	_, part := math.Modf(float64(i) * (math.Sqrt(5) - 1) / 2)
	return shortestWait + int64(part*(longestWait-shortestWait))
}

// nearestRank returns the smallest value such that at least the given share of all values are less
// than or equal to it. There must be at least one value.
func nearestRank(sorted []int64, share float64) float64 {
	rank := int(math.Ceil(share*float64(len(sorted)) - 1e-9))
	return float64(sorted[max(rank, 1)-1])
}
