package agent

import "time"

// ticksPerInterval is the number of equal parts into which the wait is divided. It also limits how
// many late ticks are not counted.
const ticksPerInterval = 4

// silence waits for a message from the other side. It counts only the time in which our process was
// able to run. If our process was suspended or our machine was overloaded, timers have expired and
// messages are unread, although the other side was not silent. Therefore the wait is divided into
// ticks, and a tick that took more than twice its nominal time is late and not counted. The
// constant `ticksPerInterval` also limits how many late ticks are not counted; further late ticks
// are counted.
type silence struct {
	clock         Clock
	tick          time.Duration
	tickStart     time.Time // start of the current tick
	tickEnded     <-chan time.Time
	counted, ours int
}

// newSilence begins the wait for a message. The wait lasts as many heartbeat intervals as the
// constant missedHeartbeats.
func newSilence(c Clock, every time.Duration) *silence {
	s := &silence{clock: c, tick: missedHeartbeats * every / ticksPerInterval}
	s.next()
	return s
}

// next begins the next tick.
func (s *silence) next() { s.tickStart, s.tickEnded = s.clock.Now(), s.clock.After(s.tick) }

// lost ends the current tick, and reports whether the other side has been silent for too long.
func (s *silence) lost() bool {
	if s.clock.Now().Sub(s.tickStart) > 2*s.tick && s.ours < ticksPerInterval {
		s.ours++
	} else {
		s.counted++
	}
	s.next()
	return s.counted == ticksPerInterval
}
