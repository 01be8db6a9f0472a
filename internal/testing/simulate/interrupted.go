package simulate

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// NextSpan is a function that returns the next time span during which a thread does not run. Each
// call returns a later span.
type NextSpan func() (from, to int64)

// RandomSpans returns a NextSpan for spans of the given length (in nanoseconds) that start at
// random times, on average one per period.
func RandomSpans(period, length float64, seed uint64) NextSpan {
	at, n := float64(origin), uint64(0)
	return func() (int64, int64) {
		at += -math.Log(1-keys.RandomUnit(seed, n)) * period
		n++
		from := at
		at += length
		return int64(from), int64(at)
	}
}

// PeriodicSpans returns a NextSpan for spans of the given length (in nanoseconds), one in each
// period. The first span starts at a random time.
func PeriodicSpans(period, length float64, seed uint64) NextSpan {
	at := float64(origin) + keys.RandomUnit(seed, 0)*period - period
	return func() (int64, int64) {
		at += period
		return int64(at), int64(at + length)
	}
}

// Interrupted is a machine that does not run the thread during some spans. By default, it simulates
// a thread that is stopped (SIGSTOP). With Steal, it simulates a hypervisor that withholds the CPU,
// so that nothing on the machine can record the arrival of bytes. With Preempt, it simulates a
// real-time program that uses the CPU.
type Interrupted struct {
	Quiet
	Spans          NextSpan
	Steal, Preempt bool

	from, to int64
}

// nextRun returns the earliest time, not before `at`, at which the thread runs. If `at` is outside
// all spans, this is `at`. On return, m.from and m.to contain the first span after the returned
// time.
func (m *Interrupted) nextRun(at int64) int64 {
	for {
		for m.to <= at {
			m.from, m.to = m.Spans()
			if m.Steal {
				m.used.Stolen += m.to - m.from
			}
		}
		if at < m.from {
			return at
		}
		if m.Preempt {
			m.used.RunDelay += m.to - at
			m.used.Slices++
		}
		at = m.to
	}
}

// Run returns the time at which the thread has received `ns` nanoseconds of CPU time. The thread
// receives no CPU time during the spans.
func (m *Interrupted) Run(at, ns int64) int64 {
	m.used.CPU += ns
	for at = m.nextRun(at); ns > 0; {
		if at+ns <= m.from {
			return at + ns
		}
		ns -= m.from - at
		at = m.nextRun(m.from)
	}
	return at
}

// Wake returns the first time outside all spans at which the thread can run.
func (m *Interrupted) Wake(at int64) int64 { return m.nextRun(m.Quiet.Wake(at)) }

// Arrive normally returns its argument. If Steal is set and the argument is within a span, Arrive
// returns the end of that span.
func (m *Interrupted) Arrive(at int64) int64 {
	if !m.Steal {
		return at
	}
	return m.nextRun(at)
}
