package simulate

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Spans yields the times in which a thread does not run, one after the other.
type Spans func() (from, to int64)

// Every yields spans of the given length that begin, on average, every period, at random
// times.
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

// Regularly yields spans of the given length that begin every period, the first at a random
// time.
func Regularly(period, length float64, seed uint64) Spans {
	at := float64(origin) + keys.RandomUnit(seed, 0)*period - period
	return func() (int64, int64) {
		at += period
		return int64(at), int64(at + length)
	}
}

// Interrupted is a machine that does not run the thread in some spans: it was stopped
// (SIGSTOP); with Steal, the hypervisor withheld the CPU, so that nothing on the machine
// could record an arrival; with Preempt, a real-time program had the CPU.
type Interrupted struct {
	Quiet
	Spans          Spans
	Steal, Preempt bool

	from, to int64
}

// nextRun returns at, or, if that is within a span, when the thread runs again. The next span
// then begins after it.
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

// Run continues after each span within it.
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

// Wake returns a time after the span.
func (m *Interrupted) Wake(at int64) int64 { return m.nextRun(m.Quiet.Wake(at)) }

// Arrive returns at or, with Steal, when the CPU is back.
func (m *Interrupted) Arrive(at int64) int64 {
	if !m.Steal {
		return at
	}
	return m.nextRun(at)
}
