package simulate

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Spans returns, call by call, successive time spans in which a thread does not run.
type Spans func() (from, to int64)

// Every returns spans of the given length that start at random times, on average once per period.
func Every(period, length float64, seed uint64) Spans {
	at, n := float64(origin), uint64(0)
	return func() (int64, int64) {
		at += -math.Log(1-keys.RandomUnit(seed, n)) * period
		n++
		from := at
		at += length
		return int64(from), int64(at)
	}
}

// Regularly returns spans of the given length that start once per period. The first starts at a
// random time.
func Regularly(period, length float64, seed uint64) Spans {
	at := float64(origin) + keys.RandomUnit(seed, 0)*period - period
	return func() (int64, int64) {
		at += period
		return int64(at), int64(at + length)
	}
}

// Interrupted is a machine that does not run the thread during some spans. By default the thread
// was stopped (SIGSTOP). With Steal, the hypervisor withheld the CPU, so that nothing on the
// machine could record that bytes arrived. With Preempt, a real-time program used the CPU.
type Interrupted struct {
	Quiet
	Spans          Spans
	Steal, Preempt bool

	from, to int64
}

// nextRun returns at, or, if at is within a span, the time at which the thread runs again. The next
// span begins after the returned time.
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

// Run adds the length of each span that begins before the thread has had ns of CPU time.
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

// Wake returns a time that is outside all spans.
func (m *Interrupted) Wake(at int64) int64 { return m.nextRun(m.Quiet.Wake(at)) }

// Arrive returns at. With Steal, if at is within a span, it returns the end of the span.
func (m *Interrupted) Arrive(at int64) int64 {
	if !m.Steal {
		return at
	}
	return m.nextRun(at)
}
