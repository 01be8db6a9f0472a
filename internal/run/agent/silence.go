package agent

import "time"

// ticksPerInterval is the number of ticks into which the wait is divided. It is also the maximum
// number of late ticks that are not counted.
const ticksPerInterval = 4

// silence waits for a message from the other side. It counts only the time in which our process was
// able to run. After our process was suspended or our machine was overloaded, timers have expired
// and messages are unread, although the other side was not silent. Therefore the wait is divided
// into ticks of equal length. A tick that took more than twice this length is late and not counted.
// If more than `ticksPerInterval` ticks are late, the further ones are counted, so that the wait
// ends.
type silence struct {
	clock         Clock
	tick          time.Duration
	tickStart     time.Time // start of the current tick
	tickEnded     <-chan time.Time
	counted, late int
}

// newSilence begins the wait for a message. The constant missedHeartbeats is the length of the wait
// in heartbeat intervals.
func newSilence(c Clock, every time.Duration) *silence {
	s := &silence{clock: c, tick: missedHeartbeats * every / ticksPerInterval}
	s.next()
	return s
}

// next begins the next tick.
func (s *silence) next() { s.tickStart, s.tickEnded = s.clock.Now(), s.clock.After(s.tick) }

// lost ends the current tick, and reports whether the other side has been silent for too long.
func (s *silence) lost() bool {
	if s.clock.Now().Sub(s.tickStart) > 2*s.tick && s.late < ticksPerInterval {
		s.late++
	} else {
		s.counted++
	}
	s.next()
	return s.counted == ticksPerInterval
}
