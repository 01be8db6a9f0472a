package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// maintain does what time asks for: ticks, dialling, leaving.
func (l *Loop) maintain() {
	l.watchAgain()
	if l.now >= l.tickAt {
		l.tickAt = never
		for i := range l.conns {
			l.tickConn(i)
		}
	}
	if l.now >= l.redial {
		l.redial = never
		for i := range l.conns {
			c := l.conns[i]
			if c.state != down && c.state != parting {
				continue
			}
			if l.now >= c.redialAt {
				l.dialOrEnd(i)
			} else {
				l.redial = min(l.redial, c.redialAt)
			}
		}
	}
}

func (l *Loop) tickConn(i int) {
	c := l.conns[i]
	if c.state != up {
		return
	}
	if c.tick == 0 || l.now >= c.tick {
		c.tick = c.codec.Tick(l.now)
		if c.tick == 0 {
			c.tick = never
		}
		l.pump(i)
		l.touch(i)
	}
	l.tickAt = min(l.tickAt, c.tick)
}

// expire gives up what has waited for longer than the timeout.
func (l *Loop) expire() {
	for l.slots.head != none {
		tag := l.slots.head
		sl := &l.slots.table[tag]
		at := sl.start + l.cfg.Timeout
		if l.now < at {
			return
		}
		if l.cfg.NewConnection {
			l.giveUpOne(tag)
			continue
		}
		if sl.state == waiting {
			l.fail(tag, true, kv.NotSent, l.now)
			continue
		}
		l.giveUp(tag, kv.TimedOut)
	}
}

// giveUp ends an operation that its codec still has.
func (l *Loop) giveUp(tag uint32, outcome kv.Outcome) {
	i := int(l.slots.table[tag].conn)
	c := l.conns[i]
	placeFree := c.codec.Cancel(tag)
	if placeFree {
		c.open--
	} else {
		c.late++
	}
	l.touch(i)
	l.fail(tag, placeFree, outcome, l.now)
	if c.state == up && c.moved && c.late == c.open {
		l.retire(i) // nobody waits for what it still owes
		return
	}
	if c.state == up && c.late > 0 && c.late == c.open && c.codec.Room() == 0 {
		// All that is left is answers that nobody waits for, and they block
		// the connection: what an HTTP client does then is to take another.
		l.replace(i)
		return
	}
	l.pump(i)
}

// closeAll ends the connections. A session that outlives its connection is
// closed first, as far as the socket takes that at once.
func (l *Loop) closeAll() {
	for i := range l.conns {
		c := l.conns[i]
		if c.state == up {
			if s, ok := c.codec.(store.SessionCodec); ok {
				s.Close()
				l.flush(i)
			}
		}
		if c.state != down {
			l.poller.Close(i)
		}
	}
}
