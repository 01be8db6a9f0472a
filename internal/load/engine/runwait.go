package engine

import "github.com/quorumbench/quorumbench/internal/load/engine/poll"

// How much of the lag of a closed loop's answers is time in which its thread waited
// for a processor. A loop that was stopped, throttled or at work has the same lag,
// and only the first can be time in which the members had the processor.

// runWaitEvery is for how long the system's counter is not read, at most, in
// nanoseconds. What is counted since it was read last is the most that the loop can
// have waited in this turn: the older the reading, the more it says beside that.
const runWaitEvery = 4 * millisecond

// runWaits reads the counter for one loop. A closed loop reads it every few
// milliseconds, and in each turn in which an answer of the sample has a lag.
type runWaits struct {
	thread poll.Scheduled // nil: nobody knows, or nobody asks
	at     int64          // when it was read last
	last   int64          // what it said then
	before int64          // what it said when it was read last before this turn
	fresh  bool           // it was read in this turn
}

// begin begins to read the counter of a poller that has one.
func (w *runWaits) begin(p poll.Poller, now int64) {
	w.thread, _ = p.(poll.Scheduled)
	w.read(now)
	w.before = w.last
}

// end ends that.
func (w *runWaits) end() { w.thread = nil }

// turn is called when the loop has woken.
func (w *runWaits) turn(now int64) {
	w.before, w.fresh = w.last, false
	if w.thread != nil && now-w.at >= runWaitEvery {
		w.read(now)
	}
}

// now is for how long the thread can have waited before what it does in this turn, at
// most; 0 where nobody knows. It is called when all reads of the turn are stamped.
func (w *runWaits) now(now int64) int64 {
	if !w.fresh {
		w.read(now)
	}
	return w.last - w.before
}

// sinceRead is for how long the thread waited since the counter was read last. What
// answers wait for that the next turn reads stays to be told.
func (w *runWaits) sinceRead() int64 {
	if w.thread == nil {
		return 0
	}
	is, ok := w.thread.RunDelay()
	if !ok {
		return 0
	}
	return is - w.last
}

func (w *runWaits) read(now int64) {
	if w.thread == nil {
		return
	}
	is, ok := w.thread.RunDelay()
	if !ok {
		w.last = w.before // what was not seen is no wait
		w.end()
		return
	}
	w.at, w.last, w.fresh = now, is, true
}
