package simulate

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Machine models the CPU time that an event loop's thread receives. Each loop has its own Machine.
// The times that the loop passes to the methods never decrease.
type Machine interface {
	// Run returns the time at which the thread has received `ns` nanoseconds of CPU time. The
	// thread starts to run at the time `at`.
	Run(at, ns int64) int64
	// Sleep informs the machine that the thread begins to wait at the time `at`.
	Sleep(at int64)
	// Wake returns the time at which the thread runs again. The thread becomes runnable at the time
	// `at`.
	Wake(at int64) int64
	// Arrive returns the time that the system records for bytes that arrive at the time `at`. The
	// recorded time is later if nothing on the machine can run and record the arrival.
	Arrive(at int64) int64
	// Used returns the system's counters. They are zero when the machine starts.
	Used() Usage
}

// Usage contains the system's counters for a thread, in nanoseconds.
type Usage struct {
	CPU       int64 // time on a CPU
	RunDelay  int64 // run queue wait
	Slices    int64 // number of times that the thread received a CPU
	Throttled int64 // time during which the control group's limits stopped the thread
	Stolen    int64 // CPU steal
}

// Quiet is an idle machine, on which a thread that is ready to run waits only briefly. Jitter is
// the mean of this wait in nanoseconds.
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

// Wake returns its argument plus a random delay.
func (q *Quiet) Wake(at int64) int64 {
	q.n++
	q.used.Slices++
	wait := int64(-math.Log(1-keys.RandomUnit(q.Seed, q.n)) * q.Jitter)
	q.used.RunDelay += wait
	return at + wait
}

// Arrive returns its argument.
func (q *Quiet) Arrive(at int64) int64 { return at }

// Used returns the machine's counters.
func (q *Quiet) Used() Usage { return q.used }

// Shared is a machine on which another program sometimes needs the thread's CPU. While the program
// needs the CPU, the thread runs for at most Slice and then waits for the time Other. When the
// thread wakes, it finds with the probability Refused that the other program has not finished its
// turn. The thread then waits for a random part of Other.
type Shared struct {
	Quiet
	Slice, Other float64 // nanoseconds
	Refused      float64
	// Busy reports whether the other program needs the CPU at the given time.
	Busy func(at int64) bool

	sliceUsed float64 // used part of the slice, in nanoseconds
}

// Run waits for the other program when the thread has used up its slice.
func (m *Shared) Run(at, ns int64) int64 {
	m.used.CPU += ns
	for ns > 0 {
		if !m.Busy(at) {
			return at + ns
		}
		rest := int64(m.Slice - m.sliceUsed)
		if ns < rest {
			m.sliceUsed += float64(ns)
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
	m.sliceUsed = 0
	m.used.RunDelay += int64(ns)
	m.used.Slices++
	return at + int64(ns)
}

// Throttled is a machine that limits the CPU time of the thread's control group. If the group has
// used the CPU time Quota in the current Period, the machine stops the thread until the next period
// begins. OtherCPU is the share of the quota, from 0 to 1, that the group's other threads use.
type Throttled struct {
	Quiet
	Quota, Period int64 // nanoseconds
	OtherCPU      float64

	period    int64 // number of the current period
	quotaLeft int64 // remaining quota in the current period
}

func (m *Throttled) refill(at int64) {
	if p := at / m.Period; p != m.period {
		m.period, m.quotaLeft = p, int64(float64(m.Quota)*(1-m.OtherCPU))
	}
}

// Run waits for the next period whenever the quota is used up.
func (m *Throttled) Run(at, ns int64) int64 {
	m.used.CPU += ns
	for {
		m.refill(at)
		if ns <= m.quotaLeft {
			m.quotaLeft -= ns
			return at + ns
		}
		ns -= m.quotaLeft
		at += m.quotaLeft
		m.quotaLeft = 0
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
	if m.refill(at); m.quotaLeft > 0 {
		return at
	}
	return m.nextPeriod(at)
}
