package engine

import (
	"math"
	"sync"
	"sync/atomic"
)

// A closed loop's warm-up continues until its throughput is steady. The throughput of a store that
// has just started rises for a while. It rises for longer if the store is a Java program. When the
// throughput is steady, all loops open the measurement window at the same time.

// maxSlotLength is the maximum length, in nanoseconds, of the time slots over which throughput is
// averaged. The last steadySlots slots are compared with the same number of slots before them.
const (
	maxSlotLength = 250 * millisecond
	steadySlots   = 4
)

// warmupState is the state that all loops share during a warm-up. The last loop that reaches the
// end of a time slot decides whether throughput is steady.
type warmupState struct {
	endsAt atomic.Int64 // end of the warm-up in nanoseconds since the phase began; 0: not decided yet
	steady atomic.Bool

	mu        sync.Mutex
	done      []uint64 // by time slot: number of completed operations
	loopsDone []int    // by time slot: number of loops that have reached its end
}

// slotLength returns the length of a warm-up's time slots. It is chosen so that even a short
// warm-up contains two groups of slots to compare, and one more slot in which all loops learn of
// the decision.
func slotLength(duration int64) int64 { return max(min(duration/(2*steadySlots+1), maxSlotLength), 1) }

// addSlot adds the number of operations that a loop completed in a time slot. now is the time since
// the phase began.
func (w *warmupState) addSlot(slot int, done uint64, loops int, duration, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.done) <= slot {
		w.done, w.loopsDone = append(w.done, 0), append(w.loopsDone, 0)
	}
	w.done[slot] += done
	w.loopsDone[slot]++
	length := slotLength(duration)
	next := int64(slot+2) * length
	if w.loopsDone[slot] < loops || w.endsAt.Load() != 0 || next+length <= duration || !isSteady(w.done[:slot+1]) {
		return
	}
	w.steady.Store(true)
	// Loops that are asleep now must learn of the end of the warm-up before they reach it.
	w.endsAt.Store(max(next, duration, now+length/2))
}

// isSteady reports whether the last steadySlots slots have about the same throughput as the
// steadySlots slots before them. The difference may be at most a tenth, plus twice the standard
// deviation that the sum of both numbers of operations has by chance.
//
// For example, 1000 operations followed by 1150 are steady: they differ by 150, and 0.1·1150 +
// 2·√2150 is 208.
func isSteady(done []uint64) bool {
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

// slotProgress records which time slot of the warm-up a loop has reached.
type slotProgress struct {
	slot int    // current slot
	done uint64 // operations that had completed when the slot began
}

// stepWarmup adds this loop's completed operations to the shared state of the warm-up. If the loops
// have decided when the warm-up ends, stepWarmup sets the end of this loop's warm-up.
func (l *Loop) stepWarmup(now int64) {
	c := &l.clock
	if l.beforeStart || l.draining || c.phase().MaxDuration == 0 {
		return
	}
	p, w := c.phase(), &l.cfg.Shared.warmup
	length := slotLength(p.Duration)
	for ; now >= c.origin+int64(l.warmup.slot+1)*length; l.warmup.slot++ {
		w.addSlot(l.warmup.slot, l.ended.done-l.warmup.done, len(l.cfg.Shared.loops), p.Duration, now-c.origin)
		l.warmup.done = l.ended.done
	}
	if end := w.endsAt.Load(); end != 0 && c.origin+end < c.phaseEnd {
		c.phaseEnd = c.origin + end
		c.nextBoundary = min(c.nextBoundary, c.phaseEnd)
	}
}
