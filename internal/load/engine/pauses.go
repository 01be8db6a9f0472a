package engine

import "github.com/quorumbench/quorumbench/internal/load/engine/poll"

// This file detects pauses of the generator itself. While a loop measures and has operations in
// flight, it wakes up at least once per beat. If it wakes up later than requested, its thread was
// stopped, throttled or not scheduled in the meantime.

const (
	// heartbeat is the longest wait of a loop. beat is the longest wait of a loop that measures and
	// has operations in flight.
	heartbeat = 10 * millisecond
	beat      = millisecond
	// stampedBeat replaces beat if the poller knows when bytes arrived. Then the beat only has to
	// detect pauses of the whole machine. It is longer because each beat costs as much as one or
	// two operations.
	stampedBeat = 4 * millisecond
	// minPause is the shortest delay that counts as a pause. Timers are some microseconds late on
	// every machine.
	minPause = millisecond
	// perReply and perReady are the times that a turn may take for each operation that ends and
	// for each ready connection. They are ten times what the loop normally needs. If a turn takes
	// longer than the sum of these times, and the excess is at least minPause, the excess counts
	// as a pause.
	perReply = 20_000
	perReady = 50_000
)

// pauses detects periods in which the loop did not run although it had work to do.
//
// Example: the loop asks to wake at 10 ms, wakes at 13 ms, and processes two replies until 13.02
// ms. beginTurn adds 3 ms to sum. The replies that were read in this turn may have waited since 10
// ms (earliestArrival), and readInto records that wait as their lag.
//
// Invariant: earliestArrival <= turnStart.
type pauses struct {
	beat            int64 // the poller ends every wait at a multiple of beat; 0: the poller cannot do this
	earliestArrival int64 // when the loop wanted to wake up, or when it woke up, whichever is earlier
	turnStart       int64 // when the turn began
	lastWrite       int64 // when the turn's latest write call began; 0 if there was none
	turnEnded       int64 // when the previous turn ended
	// Length of the pause in the previous turn. If no connection was ready in that turn, this
	// includes the pause before that turn.
	previousPause int64
	counting      bool  // set in the measurement window
	longest       int64 // length of the longest turn or of the longest delay of a wake-up, whichever is longer
	sum           int64 // total length of the pauses, in nanoseconds
}

// setCounting starts or ends the measurement. During the measurement, the poller wakes the loop at
// each beat if it can.
func (p *pauses) setCounting(on bool, poller poll.Poller) {
	p.counting, p.beat = on, 0
	b, ok := poller.(poll.BeatPoller)
	if !ok {
		return
	}
	period := int64(0)
	if on {
		period = beat
		if _, stamped := poller.(poll.TimestampPoller); stamped {
			period = stampedBeat
		}
	}
	if b.SetBeat(period) {
		p.beat = period
	}
}

// nextBeat returns the latest time at which a wait that begins now will end.
func (p *pauses) nextBeat(now, until int64) int64 {
	if p.beat == 0 {
		return until
	}
	began := max(now, p.turnEnded)
	return min(until, began-began%p.beat+p.beat)
}

// beginTurn records that the loop woke up now, and that it had asked to wake up at the time
// `requested`. Data that is ready right after the previous turn may have arrived before a pause in
// that turn. If no connection was ready in the previous turn, the data may also have arrived before
// a pause that ended when the previous turn began: when a stopped process is continued, a signal
// ends the process's wait before the poller looks at the connections.
func (p *pauses) beginTurn(requested, now int64) {
	p.turnStart, p.earliestArrival = now, min(requested, now)
	p.addDelay(now-requested, now-requested)
	if p.previousPause > 0 && now-p.turnEnded < 4*usualWakeDelay {
		p.earliestArrival = min(p.earliestArrival, p.turnEnded) - p.previousPause
	}
}

// isWriteLate reports whether the latest write call in this turn began at least minPause ago.
func (p *pauses) isWriteLate(now int64) bool { return p.lastWrite != 0 && now-p.lastWrite >= minPause }

// endTurn records the length of a turn. `replies` is the number of operations that ended in the
// turn, and `ready` is the number of ready connections.
func (p *pauses) endTurn(now int64, replies uint64, ready int) {
	p.turnEnded, p.previousPause = now, 0
	took, slept := now-p.turnStart, p.turnStart-p.earliestArrival
	if took < minPause && slept < minPause { // nearly always
		if p.counting && took > p.longest {
			p.longest = took
		}
		return
	}
	unexplained := took - int64(replies)*perReply - int64(ready)*perReady
	p.addDelay(took, unexplained)
	if unexplained >= minPause {
		p.previousPause = unexplained
	}
	if ready == 0 && slept >= minPause {
		p.previousPause += slept
	}
}

// addDelay records a delay of length `elapsed`. `unexplained` is the part that the loop's own work
// does not explain. Only this part can be a pause.
func (p *pauses) addDelay(elapsed, unexplained int64) {
	if !p.counting {
		return
	}
	if elapsed > p.longest {
		p.longest = elapsed
	}
	if unexplained >= minPause {
		p.sum += unexplained
	}
}

// usualWakeDelay is the time that any client on this machine needs to wake up after a reply or a
// timer. This time does not count as a disturbance that the generator caused.
const usualWakeDelay = 50_000

// excessWakeDelay returns the part of a delay that exceeds usualWakeDelay.
func excessWakeDelay(ns int64) int64 { return max(ns-usualWakeDelay, 0) }
