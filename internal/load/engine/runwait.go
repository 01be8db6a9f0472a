package engine

import "github.com/quorumbench/quorumbench/internal/load/engine/poll"

// The lag of a closed loop's replies has several causes: the loop's thread waits for a CPU, or the
// loop is stopped, throttled or busy. This file determines how much of the lag was time in which
// the thread waited for a CPU. The difference matters because the cluster's members can be using
// that CPU only while the thread waits for it.

// runWaitInterval is the longest time between two readings of the system's counter, in nanoseconds.
// The wait in a turn is estimated as the change since the last reading. The older that reading is,
// the more the estimate exceeds the actual wait.
const runWaitInterval = 4 * millisecond

// runWaits reads the system's counter of the time that one loop's thread has waited for a CPU. A
// closed loop reads the counter every few milliseconds, and in each turn in which a sampled reply
// has lag.
type runWaits struct {
	thread         poll.RunDelayPoller // nil: the system has no such counter, or the loop does not need it
	readAt         int64               // when the counter was last read
	lastValue      int64               // value at the last reading
	turnStartValue int64               // value at the last reading before this turn
	readThisTurn   bool                // the counter was read in this turn
}

// begin starts reading the counter, if the poller has one.
func (w *runWaits) begin(p poll.Poller, now int64) {
	w.thread, _ = p.(poll.RunDelayPoller)
	w.read(now)
	w.turnStartValue = w.lastValue
}

// end stops reading the counter.
func (w *runWaits) end() { w.thread = nil }

// beginTurn starts a new turn. The loop calls it after each wake-up.
func (w *runWaits) beginTurn(now int64) {
	w.turnStartValue, w.readThisTurn = w.lastValue, false
	if w.thread != nil && now-w.readAt >= runWaitInterval {
		w.read(now)
	}
}

// waited returns an upper bound for the time that the thread waited for a CPU before it processed
// this turn's replies. It returns 0 if that time is unknown. The caller must first take the times
// of all reads in this turn.
func (w *runWaits) waited(now int64) int64 {
	if !w.readThisTurn {
		w.read(now)
	}
	return w.lastValue - w.turnStartValue
}

// waitedSinceRead returns how long the thread has waited for a CPU since the counter was last read.
// The call does not count as a reading, so the next turn still attributes this wait to its replies.
func (w *runWaits) waitedSinceRead() int64 {
	if w.thread == nil {
		return 0
	}
	value, ok := w.thread.RunDelay()
	if !ok {
		return 0
	}
	return value - w.lastValue
}

// read reads the counter. If the reading fails, runWaits reads no more, and the wait in this turn
// is 0.
func (w *runWaits) read(now int64) {
	if w.thread == nil {
		return
	}
	value, ok := w.thread.RunDelay()
	if !ok {
		w.lastValue = w.turnStartValue // a failed reading must not count as a wait
		w.end()
		return
	}
	w.readAt, w.lastValue, w.readThisTurn = now, value, true
}
