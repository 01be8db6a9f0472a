package simulate

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// Machine is what a loop's thread gets of a processor. It belongs to one loop,
// whose times never go back.
type Machine interface {
	// Run returns when the thread has had ns of processor time that it wants
	// from at on.
	Run(at, ns int64) int64
	// Sleep says that the thread waits for something from at on.
	Sleep(at int64)
	// Wake returns when a thread that became runnable at at runs.
	Wake(at int64) int64
	// Arrive returns the time that the system notes for bytes that arrived at
	// at: later if nothing ran that could note it.
	Arrive(at int64) int64
	// Used is what the system's counters say since the start.
	Used() Usage
}

// Usage is what a system's counters say of a thread, in nanoseconds.
type Usage struct {
	CPU       int64 // it ran
	RunDelay  int64 // it was runnable and waited for a processor
	Slices    int64 // in how many turns on one
	Throttled int64 // its control group was held back
	Stolen    int64 // the host ran something else
}

// Quiet is a machine that gives a thread what it wants at once. Jitter is the
// mean time from the moment a thread can run to the one in which it does, in
// nanoseconds.
type Quiet struct {
	Jitter float64
	Seed   uint64

	used Usage
	n    uint64
}

// Run takes no longer than it takes.
func (q *Quiet) Run(at, ns int64) int64 {
	q.used.CPU += ns
	return at + ns
}

// Sleep costs nothing.
func (q *Quiet) Sleep(int64) {}

// Wake is a moment later.
func (q *Quiet) Wake(at int64) int64 {
	q.n++
	q.used.Slices++
	wait := int64(-math.Log(1-keys.RandomUnit(q.Seed, q.n)) * q.Jitter)
	q.used.RunDelay += wait
	return at + wait
}

// Arrive is at once.
func (q *Quiet) Arrive(at int64) int64 { return at }

// Used is what it ran.
func (q *Quiet) Used() Usage { return q.used }

// Shared is a machine on which a busy program wants the thread's processor for
// a part of the time. While it does, the thread runs for at most Slice and then
// waits for Other; when it wakes, it waits for a part of Other with the
// probability Refused, because what ran has not had its turn.
type Shared struct {
	Quiet
	Slice, Other float64 // nanoseconds
	Refused      float64
	// Busy says whether the other program wants the processor at a time.
	Busy func(at int64) bool

	ran float64 // of the slice
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

// Throttled is a machine whose control group may run for Quota in each Period;
// then it is held back until the next. Beside says how much of the quota other
// threads of the group use up, from 0 to 1.
type Throttled struct {
	Quiet
	Quota, Period int64 // nanoseconds
	Beside        float64

	period int64 // the number of the one that left is of
	left   int64
}

func (m *Throttled) refill(at int64) {
	if p := at / m.Period; p != m.period {
		m.period, m.left = p, int64(float64(m.Quota)*(1-m.Beside))
	}
}

// Run goes on in the next period when the quota is used up.
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
		at = m.held(at)
	}
}

func (m *Throttled) held(at int64) int64 {
	next := (at/m.Period + 1) * m.Period
	m.used.Throttled += next - at
	m.used.RunDelay += next - at
	m.used.Slices++
	return next
}

// Wake is in the next period when the quota is used up.
func (m *Throttled) Wake(at int64) int64 {
	at = m.Quiet.Wake(at)
	if m.refill(at); m.left > 0 {
		return at
	}
	return m.held(at)
}
