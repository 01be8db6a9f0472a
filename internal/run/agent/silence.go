package agent

import "time"

// ticks is the number of parts into which a silence of missed heartbeats is divided, and
// how many further parts may be excused.
const ticks = 4

// silence is a wait for the other side that counts only time in which our process could
// run. After a process was stopped, or its machine was overloaded, its timers have expired
// and messages are unread, which does not mean that the other side is silent. Therefore the
// wait is divided into ticks, and a tick that took more than twice its time is not counted,
// but at most as many as there are ticks.
type silence struct {
	clock         Clock
	tick          time.Duration
	began         time.Time // start of the present tick
	over          <-chan time.Time
	counted, ours int
}

// newSilence begins to wait for a message that is late after missed heartbeats.
func newSilence(c Clock, every time.Duration) *silence {
	s := &silence{clock: c, tick: missed * every / ticks}
	s.next()
	return s
}

// next begins a tick.
func (s *silence) next() { s.began, s.over = s.clock.Now(), s.clock.After(s.tick) }

// lost ends a tick, and reports whether the other side has been silent for too long.
func (s *silence) lost() bool {
	if s.clock.Now().Sub(s.began) > 2*s.tick && s.ours < ticks {
		s.ours++
	} else {
		s.counted++
	}
	s.next()
	return s.counted == ticks
}
