package agent

import "time"

// ticks is how many parts a silence of missed heartbeats is waited for in, and how many
// more of them may be our own fault.
const ticks = 4

// silence is a wait for the other side, which counts only time in which we could have
// heard it. A process that could not run, because its machine was full or it was
// stopped, finds its timers over and what came meanwhile unread: that says nothing of
// the other side. So the wait is cut into ticks, and one that took twice its time is
// not counted, at most as often as there are ticks.
type silence struct {
	clock         Clock
	tick          time.Duration
	began         time.Time // of this tick
	over          <-chan time.Time
	counted, ours int
}

// newSilence begins to wait for what is late after missed heartbeats.
func newSilence(c Clock, every time.Duration) *silence {
	s := &silence{clock: c, tick: missed * every / ticks}
	s.next()
	return s
}

// next begins a tick.
func (s *silence) next() { s.began, s.over = s.clock.Now(), s.clock.After(s.tick) }

// lost takes that a tick is over, and reports whether the other side was silent for too
// long.
func (s *silence) lost() bool {
	if s.clock.Now().Sub(s.began) > 2*s.tick && s.ours < ticks {
		s.ours++
	} else {
		s.counted++
	}
	s.next()
	return s.counted == ticks
}
