// Package calibrate measures what a machine and its network can tell apart, beside the
// loads that a run has: how late the generator's event loop is awake, and how long TCP
// connections take.
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

// perRound is how many times a round has the loop wait: a p99 has ten beyond it.
const perRound = 1000

// The loop is asked to wait for times from shortest to longest, in nanoseconds, as an
// open loop of some thousand operations a second waits.
const (
	shortest = 50_000
	longest  = 450_000
)

// Wakes measures how much later than asked for the generator's poller is awake, in so
// many rounds, on a thread of its own.
func Wakes(ctx context.Context, rounds int) (record.WakeError, error) {
	p, err := poll.NewPoller(0, time.Now(), poll.Dialer{})
	if err != nil {
		return record.WakeError{}, fmt.Errorf("wake-ups cannot be measured: %w", err)
	}
	defer p.Release()
	type result struct {
		of  record.WakeError
		err error
	}
	done := make(chan result, 1)
	go func() { // its thread ends with it, and with the thread what Attach changed
		p.Attach()
		of, err := wakes(ctx, p, rounds)
		done <- result{of, err}
	}()
	r := <-done
	return r.of, r.err
}

// wakes does it with a poller that is attached.
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
			for now < until { // a signal of Go's runtime ends a wait, too
				ready = p.Wait(until, ready[:0])
				now = p.Now()
			}
			late = append(late, now-until)
		}
		slices.Sort(late)
		p50, p99 = append(p50, nearestRank(late, 0.50)), append(p99, nearestRank(late, 0.99))
	}
	return record.WakeError{P50NS: record.NewOfRounds(p50...), P99NS: record.NewOfRounds(p99...), Count: rounds * perRound}, nil
}

// waitOf is how long the loop is asked to wait for the i-th time: evenly spread, and in
// no step with anything that is regular, by the golden ratio's multiples.
func waitOf(i int) int64 {
	_, part := math.Modf(float64(i) * (math.Sqrt(5) - 1) / 2)
	return shortest + int64(part*(longest-shortest))
}

// nearestRank is the smallest of sorted values, of which there is one at least, with at
// least the share at or below it.
func nearestRank(sorted []int64, share float64) float64 {
	rank := int(math.Ceil(share*float64(len(sorted)) - 1e-9))
	return float64(sorted[max(rank, 1)-1])
}
