package simulate

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Machine models the CPU time that a loop's thread gets. It belongs to one loop, whose
// times never decrease.
type Machine interface {
	// Run returns when the thread, starting at at, has had ns of CPU time.
	Run(at, ns int64) int64
	// Sleep reports that the thread waits from at.
	Sleep(at int64)
	// Wake returns when a thread runs that became runnable at at.
	Wake(at int64) int64
	// Arrive returns the time that the system records for bytes that arrived at at: later
	// if nothing ran that could record it.
	Arrive(at int64) int64
	// Used returns the system's counters since the start.
	Used() Usage
}

// Usage holds a system's counters for a thread, in nanoseconds.
type Usage struct {
	CPU       int64 // it ran
	RunDelay  int64 // run queue wait
	Slices    int64 // number of turns on a CPU
	Throttled int64 // held back by its control group's limits
	Stolen    int64 // CPU steal
}

// Quiet is a machine that runs a thread at once. Jitter is the mean time from when a thread
// can run until it runs, in nanoseconds.
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

// Sleep costs nothing.
func (q *Quiet) Sleep(int64) {}

// Wake returns a time after a random moment.
func (q *Quiet) Wake(at int64) int64 {
	q.n++
	q.used.Slices++
	wait := int64(-math.Log(1-keys.RandomUnit(q.Seed, q.n)) * q.Jitter)
	q.used.RunDelay += wait
	return at + wait
}

// Arrive returns at.
func (q *Quiet) Arrive(at int64) int64 { return at }

// Used returns the time that the thread ran.
func (q *Quiet) Used() Usage { return q.used }

// Shared is a machine on which a busy program wants the thread's CPU part of the time.
// During that time, the thread runs for at most Slice and then waits for Other; when it
// wakes, it waits for a part of Other with probability Refused, because the other program
// has not finished its turn.
type Shared struct {
	Quiet
	Slice, Other float64 // nanoseconds
	Refused      float64
	// Busy reports whether the other program wants the CPU at a time.
	Busy func(at int64) bool

	ran float64 // part of the slice that was used
}

// Run is interrupted when the slice is used up.
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

// Wake may have to wait.
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

// Throttled is a machine whose control group may run for Quota in each Period, and is then
// held back until the next. Beside is the share of the quota, from 0 to 1, that other
// threads of the group use.
type Throttled struct {
	Quiet
	Quota, Period int64 // nanoseconds
	OtherCPU      float64

	period int64 // number of the period to which left belongs
	left   int64
}

func (m *Throttled) refill(at int64) {
	if p := at / m.Period; p != m.period {
		m.period, m.left = p, int64(float64(m.Quota)*(1-m.OtherCPU))
	}
}

// Run continues in the next period when the quota is used up.
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

// Wake returns a time in the next period if the quota is used up.
func (m *Throttled) Wake(at int64) int64 {
	at = m.Quiet.Wake(at)
	if m.refill(at); m.left > 0 {
		return at
	}
	return m.nextPeriod(at)
}
