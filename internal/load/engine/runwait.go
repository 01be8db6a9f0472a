package engine

import "github.com/quorumbench/quorumbench/internal/load/engine/poll"

// The lag of a closed loop's replies has several causes: the loop's thread waits for a CPU, or the
// loop is stopped, throttled or busy. This file determines how much of the lag was time in which
// the thread waited for a CPU. The difference matters because the cluster's members can be using
// that CPU only while the thread waits for it.

// runWaitEvery is the longest time between two readings of the system's counter, in nanoseconds.
// The wait in a turn is estimated as the change since the last reading. The older that reading is,
// the more the estimate exceeds the actual wait.
const runWaitEvery = 4 * millisecond

// runWaits reads the system's counter of the time that one loop's thread has waited for a CPU. A
// closed loop reads the counter every few milliseconds, and in each turn in which a sampled reply
// has lag.
type runWaits struct {
	thread poll.Scheduled // nil: the system has no such counter, or the loop does not need it
	at     int64          // when the counter was last read
	last   int64          // value at the last reading
	before int64          // value at the last reading before this turn
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

// beginTurn starts a new turn. The loop calls it after each wake-up.
func (w *runWaits) beginTurn(now int64) {
	w.before, w.fresh = w.last, false
	if w.thread != nil && now-w.at >= runWaitEvery {
		w.read(now)
	}
}

// waited returns an upper bound for the time that the thread waited for a CPU before it processed
// this turn's replies. It returns 0 if that time is unknown. The caller must first take the times
// of all reads in this turn.
func (w *runWaits) waited(now int64) int64 {
	if !w.fresh {
		w.read(now)
	}
	return w.last - w.before
}

// waitedSinceRead returns how long the thread has waited for a CPU since the counter was last read.
// The call does not count as a reading, so the next turn still attributes this wait to its replies.
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

// read reads the counter. If the reading fails, runWaits reads no more, and the wait in this turn
// is 0.
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
