package engine

import (
	"math"
	"sync"
	"sync/atomic"
)

// A closed loop's warm-up goes on until its throughput is steady: a store that
// has just started gets faster for a while, and a Java machine for long. All
// loops then open the window at one time.

// warmSlot is the longest step, in nanoseconds, in which throughput is looked
// at; the last steadySlots are held against as many before.
const (
	warmSlot    = 250 * millisecond
	steadySlots = 4
)

// warming is what the loops know together of a warm-up. The last of them to
// come to a slot's end decides.
type warming struct {
	endsAt atomic.Int64 // since the phase's begin; 0: not known yet
	steady atomic.Bool

	mu     sync.Mutex
	done   []uint64 // operations, by slot
	passed []int    // loops that have come to the slot's end
}

// slotOf is the length of a warm-up's slots: a short one has two spans to be
// compared, and a slot until all loops know, in itself.
func slotOf(duration int64) int64 { return max(min(duration/(2*steadySlots+1), warmSlot), 1) }

// pass takes what a loop did in a slot; now is its time since the phase's begin.
func (w *warming) pass(slot int, done uint64, loops int, duration, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.done) <= slot {
		w.done, w.passed = append(w.done, 0), append(w.passed, 0)
	}
	w.done[slot] += done
	w.passed[slot]++
	length := slotOf(duration)
	next := int64(slot+2) * length
	if w.passed[slot] < loops || w.endsAt.Load() != 0 || next+length <= duration || !steady(w.done[:slot+1]) {
		return
	}
	w.steady.Store(true)
	// Loops that slept meanwhile are informed before they come to it.
	w.endsAt.Store(max(next, duration, now+length/2))
}

// steady reports whether throughput was about the same in the last slots as in
// those before: within a tenth, and what so few operations differ by by chance.
func steady(done []uint64) bool {
	n := len(done)
	if n < 2*steadySlots {
		return false
	}
	before, last := 0.0, 0.0
	for i := range steadySlots {
		last += float64(done[n-1-i])
		before += float64(done[n-1-steadySlots-i])
	}
	return last > 0 && math.Abs(last-before) <= 0.1*max(last, before)+2*math.Sqrt(last+before)
}

// slotsPassed is how far a loop is in the slots of the warm-up.
type slotsPassed struct {
	slot int    // that runs
	done uint64 // operations that had ended when it began
}

// warm counts this loop's operations of a warm-up for all loops, and ends it when
// that is known to be over.
func (l *Loop) warm(now int64) {
	c := &l.clock
	if l.idle || l.draining || c.phase().Most == 0 {
		return
	}
	p, w := c.phase(), &l.cfg.Shared.warming
	length := slotOf(p.Duration)
	for ; now >= c.origin+int64(l.warmup.slot+1)*length; l.warmup.slot++ {
		w.pass(l.warmup.slot, l.ended.done-l.warmup.done, len(l.cfg.Shared.loops), p.Duration, now-c.origin)
		l.warmup.done = l.ended.done
	}
	if end := w.endsAt.Load(); end != 0 && c.origin+end < c.end {
		c.end = c.origin + end
		c.next = min(c.next, c.end)
	}
}
