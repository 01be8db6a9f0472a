package engine

import "github.com/quorumbench/quorumbench/internal/load/engine/poll"

// This file finds the generator's own pauses. A loop that measures and has operations
// in flight wakes at least once in each beat. If it wakes later than it asked to, it was
// stopped, throttled or not scheduled for the time between.

const (
	// heartbeat is the longest sleep of a loop. beat is the longest sleep while the loop
	// measures with operations in flight.
	heartbeat = 10 * millisecond
	beat      = millisecond
	// stampedBeat is the beat of a poller that knows when bytes arrived. There the beat
	// only has to detect pauses of the whole machine, and each beat costs as much as one
	// or two operations.
	stampedBeat = 4 * millisecond
	// leastPause is the shortest delay that counts as a pause. On every machine timers
	// are late by some microseconds.
	leastPause = millisecond
	// perAnswer and perReady are the time that a turn may take for each operation that
	// ends and each ready connection: ten times what it normally needs. A turn that takes
	// leastPause longer than that had a pause.
	perAnswer = 20_000
	perReady  = 50_000
)

// pauses detects times in which the loop did not run although it had work.
//
// Example: the loop asks to wake at 10 ms, wakes at 13 ms, and processes two replies
// until 13.02 ms. beginTurn adds a pause of 3 ms to sum, and replies that the turn read may
// have waited since 10 ms (asked): readInto records that wait as their lag.
//
// Invariant: asked <= woke.
type pauses struct {
	beat      int64 // the poller ends a wait at each multiple of beat; 0: it does not
	asked     int64 // when the loop wanted to wake; woke if it woke earlier
	woke      int64 // when the turn began
	sent      int64 // when the turn's latest write call began; 0 if there was none
	turnEnded int64 // when the previous turn ended
	held      int64 // pause in the previous turn, or before it if no connection was ready in it
	counts    bool  // in the measurement window
	longest   int64 // longest delay of a wake-up, or longest turn
	sum       int64 // total length of the pauses, in nanoseconds
}

// setCounting begins (on) or ends the measurement. While it measures, the poller beats if it can.
func (p *pauses) setCounting(on bool, poller poll.Poller) {
	p.counts, p.beat = on, 0
	b, ok := poller.(poll.Beating)
	if !ok {
		return
	}
	period := int64(0)
	if on {
		period = beat
		if _, stamped := poller.(poll.Stamped); stamped {
			period = stampedBeat
		}
	}
	if b.SetBeat(period) {
		p.beat = period
	}
}

// nextBeat returns the time at which a wait that begins now ends at the latest.
func (p *pauses) nextBeat(now, until int64) int64 {
	if p.beat == 0 {
		return until
	}
	began := max(now, p.turnEnded)
	return min(until, began-began%p.beat+p.beat)
}

// beginTurn records when the loop woke, and when it had asked to wake. Data that is ready
// right after the previous turn may have arrived before a pause in that turn. The same
// holds if the previous turn followed a pause and found no ready connection: a signal
// wakes the wait of a stopped process that way when the process continues.
func (p *pauses) beginTurn(asked, now int64) {
	p.woke, p.asked = now, min(asked, now)
	p.addDelay(now-asked, now-asked)
	if p.held > 0 && now-p.turnEnded < 4*usualWake {
		p.asked = min(p.asked, p.turnEnded) - p.held
	}
}

// wroteLate reports whether the turn's latest write call began at least leastPause ago.
func (p *pauses) wroteLate(now int64) bool { return p.sent != 0 && now-p.sent >= leastPause }

// endTurn records the length of a turn, in which the given numbers of operations ended and
// connections were ready.
func (p *pauses) endTurn(now int64, answers uint64, ready int) {
	p.turnEnded, p.held = now, 0
	took, slept := now-p.woke, p.woke-p.asked
	if took < leastPause && slept < leastPause { // nearly always
		if p.counts && took > p.longest {
			p.longest = took
		}
		return
	}
	unexplained := took - int64(answers)*perAnswer - int64(ready)*perReady
	p.addDelay(took, unexplained)
	if unexplained >= leastPause {
		p.held = unexplained
	}
	if ready == 0 && slept >= leastPause {
		p.held += slept
	}
}

// addDelay records a delay. Only the part that the loop's own work does not explain can be a
// pause.
func (p *pauses) addDelay(took, unexplained int64) {
	if !p.counts {
		return
	}
	if took > p.longest {
		p.longest = took
	}
	if unexplained >= leastPause {
		p.sum += unexplained
	}
}

// usualWake is the time that any client on the machine needs to wake up after a reply
// or a timer. It does not count as a disturbance by the generator.
const usualWake = 50_000

// beyondUsualWake returns the part of a delay that exceeds usualWake.
func beyondUsualWake(ns int64) int64 { return max(ns-usualWake, 0) }
