package simulate

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Machine models the CPU time that an event loop's thread receives. Each loop has its own Machine.
// The times that the loop passes never decrease.
type Machine interface {
	// Run returns the time at which the thread has had ns of CPU time, if it starts at the time
	// at.
	Run(at, ns int64) int64
	// Sleep informs the machine that the thread waits from the time at.
	Sleep(at int64)
	// Wake returns the time at which the thread runs, if it became runnable at the time at.
	Wake(at int64) int64
	// Arrive returns the time that the system records for bytes that arrived at the time at. It
	// is later than at if nothing could run that would record it.
	Arrive(at int64) int64
	// Used returns the system's counters, which begin at zero when the machine starts.
	Used() Usage
}

// Usage contains the system's counters for a thread, in nanoseconds.
type Usage struct {
	CPU       int64 // time on a CPU
	RunDelay  int64 // run queue wait
	Slices    int64 // number of times that the thread was given a CPU
	Throttled int64 // time for which the control group's limits held the thread back
	Stolen    int64 // CPU steal
}

// Quiet is a machine that runs a thread almost at once. Jitter is the mean time in nanoseconds
// until a runnable thread runs.
type Quiet struct {
	Jitter float64
	Seed   uint64

	used Usage
	n    uint64
}

// Run returns at + ns.
func (q *Quiet) Run(at, ns int64) int64 {
	q.used.CPU += ns
	return at + ns
}

// Sleep does nothing.
func (q *Quiet) Sleep(int64) {}

// Wake returns at plus a random delay.
func (q *Quiet) Wake(at int64) int64 {
	q.n++
	q.used.Slices++
	wait := int64(-math.Log(1-keys.RandomUnit(q.Seed, q.n)) * q.Jitter)
	q.used.RunDelay += wait
	return at + wait
}

// Arrive returns at.
func (q *Quiet) Arrive(at int64) int64 { return at }

// Used returns the CPU time that the thread used.
func (q *Quiet) Used() Usage { return q.used }

// Shared is a machine on which another program sometimes needs the thread's CPU. While it does, the
// thread runs for at most Slice, and then waits for Other. When the thread wakes, it waits with
// probability Refused for a part of Other, because the other program has not finished its turn.
type Shared struct {
	Quiet
	Slice, Other float64 // nanoseconds
	Refused      float64
	// Busy reports whether the other program needs the CPU at the given time.
	Busy func(at int64) bool

	ran float64 // part of the slice that was used
}

// Run waits for the other program when the thread has used up its slice.
func (m *Shared) Run(at, ns int64) int64 {
	m.used.CPU += ns
	for ns > 0 {
		if !m.Busy(at) {
			return at + ns
		}
		rest := int64(m.Slice - m.ran)
		if ns < rest {
			m.ran += float64(ns)
			return at + ns
		}
		ns -= max(rest, 0)
		at += max(rest, 0)
		at = m.wait(at, m.Other)
	}
	return at
}

// Wake may wait for the other program to finish its turn.
func (m *Shared) Wake(at int64) int64 {
	at = m.Quiet.Wake(at)
	if !m.Busy(at) || keys.RandomUnit(m.Seed+1, m.n) >= m.Refused {
		return at
	}
	return m.wait(at, m.Other*keys.RandomUnit(m.Seed+2, m.n))
}

func (m *Shared) wait(at int64, ns float64) int64 {
	m.ran = 0
	m.used.RunDelay += int64(ns)
	m.used.Slices++
	return at + int64(ns)
}

// Throttled is a machine whose control group may use Quota of CPU time in each Period. Then it is
// held back until the next period. OtherCPU is the share of the quota, from 0 to 1, that the
// group's other threads use.
type Throttled struct {
	Quiet
	Quota, Period int64 // nanoseconds
	OtherCPU      float64

	period int64 // number of the period that left belongs to
	left   int64
}

func (m *Throttled) refill(at int64) {
	if p := at / m.Period; p != m.period {
		m.period, m.left = p, int64(float64(m.Quota)*(1-m.OtherCPU))
	}
}

// Run continues in the next period once the quota is used up.
func (m *Throttled) Run(at, ns int64) int64 {
	m.used.CPU += ns
	for {
		m.refill(at)
		if ns <= m.left {
			m.left -= ns
			return at + ns
		}
		ns -= m.left
		at += m.left
		m.left = 0
		at = m.nextPeriod(at)
	}
}

func (m *Throttled) nextPeriod(at int64) int64 {
	next := (at/m.Period + 1) * m.Period
	m.used.Throttled += next - at
	m.used.RunDelay += next - at
	m.used.Slices++
	return next
}

// Wake returns a time in the next period if the quota of this period is used up.
func (m *Throttled) Wake(at int64) int64 {
	at = m.Quiet.Wake(at)
	if m.refill(at); m.left > 0 {
		return at
	}
	return m.nextPeriod(at)
}
