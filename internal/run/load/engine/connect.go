package engine

import (
	"fmt"
)

// connectAll dials every connection and waits until all can take operations,
// or one fails, or the time is over.
func (l *Loop) connectAll(by int64) error {
	l.clock.next = never
	l.sched.due = never
	if l.cfg.NewConnection {
		l.vacate()
		return nil
	}
	for i := range l.conns {
		l.dial(i)
	}
	for {
		waitFor := -1
		for i := range l.conns {
			c := l.conns[i]
			if c.state == down && c.err != nil {
				return c.err
			}
			if c.state != up || c.codec.Room() == 0 {
				waitFor = i
			}
		}
		if waitFor < 0 {
			return nil
		}
		if l.now >= by {
			return fmt.Errorf("could not connect to %s in time", l.conns[waitFor].endpoint)
		}
		l.wait(min(by, l.tickAt, l.now+heartbeat))
		l.to(l.poller.Now())
		l.attendAll()
		l.maintain()
		l.flushDirty()
	}
}
