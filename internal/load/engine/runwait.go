package engine

import "github.com/quorumbench/quorumbench/internal/load/engine/poll"

// This file finds out which part of the lag of a closed loop's replies is time in which the
// loop's thread waited for a CPU. A loop that was stopped, throttled or busy has the same
// lag, but only while its thread waits for a CPU can the members have had that CPU.

// runWaitEvery is the longest time between two reads of the system's counter, in
// nanoseconds. A turn's wait is estimated by the change since the last read, so an older
// reading overestimates more.
const runWaitEvery = 4 * millisecond

// runWaits reads the counter for one loop. A closed loop reads it every few milliseconds,
// and in each turn in which a sampled reply has a lag.
type runWaits struct {
	thread poll.Scheduled // nil: the system has no such counter, or it is not needed
	at     int64          // when the counter was last read
	last   int64          // value of that reading
	before int64          // value of the last reading before this turn
	fresh  bool           // the counter was read in this turn
}

// begin starts reading the counter, if the poller has one.
func (w *runWaits) begin(p poll.Poller, now int64) {
	w.thread, _ = p.(poll.Scheduled)
	w.read(now)
	w.before = w.last
}

// end stops reading the counter.
func (w *runWaits) end() { w.thread = nil }

// beginTurn starts a new turn. The loop calls it when it has woken.
func (w *runWaits) beginTurn(now int64) {
	w.before, w.fresh = w.last, false
	if w.thread != nil && now-w.at >= runWaitEvery {
		w.read(now)
	}
}

// waited returns the longest time for which the thread can have waited for a CPU before it
// processes this turn's replies; 0 if unknown. It must be called after all reads of the
// turn have their times.
func (w *runWaits) waited(now int64) int64 {
	if !w.fresh {
		w.read(now)
	}
	return w.last - w.before
}

// waitedSinceRead returns how long the thread has waited for a CPU since the counter was last
// read. It does not count as a reading, so the next turn includes this wait for its replies.
func (w *runWaits) waitedSinceRead() int64 {
	if w.thread == nil {
		return 0
	}
	is, ok := w.thread.RunDelay()
	if !ok {
		return 0
	}
	return is - w.last
}

// read reads the counter. If that fails it stops, and the wait of this turn is 0.
func (w *runWaits) read(now int64) {
	if w.thread == nil {
		return
	}
	is, ok := w.thread.RunDelay()
	if !ok {
		w.last = w.before // a failed reading must not count as a wait
		w.end()
		return
	}
	w.at, w.last, w.fresh = now, is, true
}
