// Package disks simulates disks of known quality, and contains recordings of real disks. The
// package's test measures how often `check hosts` judges these disks wrongly.
package disks

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/preflight"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Disk is a kind of disk. New returns a disk: a function that returns the duration of a sync that
// begins at the given time. In successive calls of this function, the time does not decrease.
type Disk struct {
	Name string
	// Bad is set if the disk is too slow for etcd, whose limit is a p99 of 10 ms. At least 2 % of
	// the writes to a bad disk take longer than 10 ms. If the behavior of a bad disk changes, this
	// may be true only after the change. At most 0.5 % of the writes to a good disk take longer
	// than 10 ms.
	Bad bool
	New func(r *rand.Rand) func(at time.Duration) time.Duration
}

// lognormal returns a duration with the given median. The argument `sigma` is the standard
// deviation of the duration's logarithm.
func lognormal(r *rand.Rand, median time.Duration, sigma float64) time.Duration {
	return time.Duration(float64(median) * math.Exp(sigma*r.NormFloat64()))
}

// uniform returns a duration between two others.
func uniform(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Float64()*float64(high-low))
}

// steady returns a disk that never changes.
func steady(median time.Duration, sigma float64) func(*rand.Rand) func(time.Duration) time.Duration {
	return func(r *rand.Rand) func(time.Duration) time.Duration {
		return func(time.Duration) time.Duration { return lognormal(r, median, sigma) }
	}
}

// alternating returns a disk with slow phases. The lengths of these phases and the times between
// them are exponentially distributed with the given means. The function `slow` returns the duration
// of a sync in a slow phase.
func alternating(between, lasting time.Duration, slow func(r *rand.Rand) time.Duration) func(*rand.Rand) func(time.Duration) time.Duration {
	return func(r *rand.Rand) func(time.Duration) time.Duration {
		isSlow := r.Float64() < lasting.Seconds()/(between+lasting).Seconds()
		change := time.Duration(0)
		length := func() time.Duration {
			if isSlow {
				return time.Duration(r.ExpFloat64() * float64(lasting))
			}
			return time.Duration(r.ExpFloat64() * float64(between))
		}
		change = length()
		return func(at time.Duration) time.Duration {
			for at >= change {
				isSlow = !isSlow
				change += length()
			}
			if isSlow {
				return slow(r)
			}
			return lognormal(r, time.Millisecond, 0.4)
		}
	}
}

// credits returns a disk that becomes slower when its burst credits end, between 30 s and 150 s
// after the beginning.
func credits(before, after time.Duration) func(*rand.Rand) func(time.Duration) time.Duration {
	return func(r *rand.Rand) func(time.Duration) time.Duration {
		end := uniform(r, 30*time.Second, 150*time.Second)
		return func(at time.Duration) time.Duration {
			if at < end {
				return lognormal(r, before, 0.3)
			}
			return lognormal(r, after, 0.3)
		}
	}
}

// drifting returns a disk whose sync times are multiplied by `factor` every ten minutes.
func drifting(median time.Duration, factor float64) func(*rand.Rand) func(time.Duration) time.Duration {
	return func(r *rand.Rand) func(time.Duration) time.Duration {
		return func(at time.Duration) time.Duration {
			return time.Duration(float64(lognormal(r, median, 0.3)) * math.Pow(factor, at.Minutes()/10))
		}
	}
}

// Simulated returns the kinds of disks for which the rates of wrong verdicts are limited.
func Simulated() []Disk {
	const ms = time.Millisecond
	return []Disk{
		{"steady, fast (median 1 ms)", false, steady(ms, 0.4)},
		{"steady, fast enough (median 3.5 ms, p99 8 ms)", false, steady(3500*time.Microsecond, 0.35)},
		{"bimodal: 15 to 40 ms for 0.2 s every 60 s", false, alternating(time.Minute, 200*ms, func(r *rand.Rand) time.Duration { return uniform(r, 15*ms, 40*ms) })},
		{"one neighbor, 4 ms for 20 s every 60 s", false, alternating(40*time.Second, 20*time.Second, func(r *rand.Rand) time.Duration { return lognormal(r, 4*ms, 0.3) })},
		{"burst credits end: 0.5 ms, then 3 ms", false, credits(500*time.Microsecond, 3*ms)},
		{"slow drift: 10 % in 10 minutes", false, drifting(ms, 1.1)},
		{"steady, slow (median 15 ms)", true, steady(15*ms, 0.3)},
		{"steady, a little too slow (median 5 ms, p94 10 ms)", true, steady(5*ms, 0.45)},
		{"bimodal: 20 to 60 ms for 5 s every 60 s", true, alternating(55*time.Second, 5*time.Second, func(r *rand.Rand) time.Duration { return uniform(r, 20*ms, 60*ms) })},
		{"one bad neighbor: 15 % of the syncs take 15 to 50 ms, for 20 s every 60 s", true, alternating(40*time.Second, 20*time.Second, func(r *rand.Rand) time.Duration {
			if r.Float64() < 0.15 {
				return uniform(r, 15*ms, 50*ms)
			}
			return lognormal(r, 2*ms, 0.4)
		})},
		{"burst credits end: 0.8 ms, then 25 ms", true, credits(800*time.Microsecond, 25*ms)},
		{"slow drift: 2 ms, fivefold in 5 minutes", true, drifting(2*ms, 25)},
		{"slow drift: 2 ms, fivefold in 10 minutes", true, drifting(2*ms, 5)},
	}
}

// Stalling returns a kind of disk that stalls for 0.6 to 2 s, once in the given time on average. If
// the given time is at most a minute, the disk is bad for a store that permits no stall of 0.5 s.
func Stalling(every time.Duration) func(*rand.Rand) func(time.Duration) time.Duration {
	return func(r *rand.Rand) func(time.Duration) time.Duration {
		next := time.Duration(r.ExpFloat64() * float64(every))
		return func(at time.Duration) time.Duration {
			if at < next {
				return lognormal(r, time.Millisecond, 0.4)
			}
			next = at + time.Duration(r.ExpFloat64()*float64(every))
			return uniform(r, 600*time.Millisecond, 2*time.Second)
		}
	}
}

// Measurement simulates writes to a disk. It uses a simulated clock and keeps a result for each
// one-second interval.
type Measurement struct {
	Writes preflight.Writes
	now    time.Duration
}

// Measure measures a disk like `check hosts`. After each one-second interval it calls the function
// `enough`. The measurement ends when this function returns true or when the duration w.Duration
// has passed.
func (m *Measurement) Measure(sync func(at time.Duration) time.Duration, w probe.PacedWrites, enough func(*preflight.Writes) bool) {
	m.Writes = preflight.Writes{Sizes: w.Sizes, Interval: w.Interval}
	p := probe.Pacer{
		PacedWrites: w,
		Now:         func() time.Duration { return m.now },
		Sleep:       func(d time.Duration) bool { m.now += d; return true },
		Write:       func([]int) error { m.now += sync(m.now); return nil },
		Second: func(s measure.WrittenSecond) error {
			m.Writes.Seconds = append(m.Writes.Seconds, s)
			if enough(&m.Writes) {
				return errEnough
			}
			return nil
		},
	}
	_ = p.Run() // the only error is errEnough
}

type enoughError struct{}

func (enoughError) Error() string { return "enough was measured" }

var errEnough = enoughError{}
