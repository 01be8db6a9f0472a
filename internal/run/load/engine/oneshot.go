package engine

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// One connection an operation. A place is vacant until an operation comes; it
// is dialled, the operation is written as soon as the codec takes it, and with
// the answer the connection ends and the place is vacant again. When its
// connection was first dialled is an operation's sent time: the handshakes of
// TCP, TLS and the store are inside its service time, and its timeout runs from
// there. In a closed loop it is due when its client got the answer before; what
// lies between is the end of the session before, which a server would else keep.

// partWithin bounds how long the end of a session is awaited, in nanoseconds.
const partWithin = secondNS

// vacant reports whether an operation can come.
func (c *conn) vacant() bool { return c.state == down && c.redialAt == never && len(c.queue) == 0 }

// vacate empties all places at the start.
func (l *Loop) vacate() {
	for i := range l.conns {
		l.conns[i].redialAt = never
	}
}

// come dials for the operation that was just queued, unless the place is not
// vacant yet, or waits before it dials again.
func (l *Loop) come(i int) {
	if c := l.conns[i]; c.state == down && c.redialAt == never {
		l.launch(i)
	}
}

// launch dials for the operation that waits for the place, if there is one. It
// is sent from its first dialling on.
func (l *Loop) launch(i int) {
	c := l.conns[i]
	if len(c.queue) == 0 {
		c.redialAt = never
		return
	}
	tag := c.queue[0].tag
	if sl := &l.slots.table[tag]; sl.sent == 0 {
		sl.sent = l.now
		l.slots.unlink(tag)
		l.slots.link(tag, l.now)
	}
	l.dial(i)
}

// leave ends the connection whose operation has its answer. A session is
// closed before, and its end awaited, because the server would keep it.
func (l *Loop) leave(i int) {
	c := l.conns[i]
	if c.state != up {
		return // it was lost
	}
	c.backoff = 0
	if s, ok := c.codec.(store.SessionCodec); ok {
		s.Close()
		n, err := l.poller.Write(i, c.codec.Out())
		l.bytesOut += uint64(n)
		if err == nil {
			c.state, c.redialAt = parting, l.now+partWithin
			l.redial = min(l.redial, c.redialAt)
			return
		}
	}
	l.parted(i)
}

// end closes the connection and vacates its place.
func (l *Loop) end(i int) {
	c := l.conns[i]
	l.poller.Close(i)
	if c.codec != nil {
		// Nothing is open; the codec may share a login that it must give up.
		l.discard = c.codec.Lost(l.discard[:0])
	}
	c.codec, c.state, c.redialAt = nil, down, never
	c.open, c.late = 0, 0
}

// part reads on until the server has ended the connection.
func (l *Loop) part(i int) {
	for {
		n, err := l.poller.Read(i, l.buf[l.used:]) // for nobody
		if err == ErrAgain {
			return
		}
		l.bytesIn += uint64(n)
		if err != nil {
			l.to(l.poller.Now())
			l.parted(i)
			return
		}
	}
}

// parted ends a connection whose session has ended, or was awaited for long
// enough, and lets the operation that waits for the place go on.
func (l *Loop) parted(i int) {
	l.end(i)
	if l.conns[i].moved {
		l.retire(i)
		return
	}
	l.launch(i)
}

// dialOrEnd does what a place has waited for.
func (l *Loop) dialOrEnd(i int) {
	switch {
	case l.conns[i].state == parting:
		l.parted(i)
	case l.cfg.NewConnection:
		l.launch(i)
	default:
		l.dial(i)
	}
}

// lostOne ends a connection that broke: an operation on it gets its outcome,
// and one that waits for it is dialled for again, later.
func (l *Loop) lostOne(i int, why error) {
	c := l.conns[i]
	if c.state != up {
		return // it had ended already
	}
	l.poller.Close(i)
	// So that nothing is dialled before all is in order.
	c.state, c.err = parting, why
	text := why.Error()
	l.events = c.codec.Lost(l.events[:0])
	for k := range l.events {
		if ev := &l.events[k]; ev.What == store.Done && len(ev.Text) == 0 {
			ev.Text = []byte(text)
		}
	}
	l.handle(i)
	c.codec, c.open, c.late = nil, 0, 0
	if c.moved {
		c.state = down
		l.retire(i)
		return
	}
	l.res.Reconnects++
	l.redialLater(i)
	if len(c.queue) == 0 {
		c.redialAt = never // vacant
	}
	l.cfg.Changed(0, true)
}

// giveUpOne ends an operation whose time is over, and its connection with it.
func (l *Loop) giveUpOne(tag uint32) {
	sl := &l.slots.table[tag]
	i, outcome := int(sl.conn), kv.TimedOut
	c := l.conns[i]
	ev := store.Event{}
	if sl.state == waiting {
		outcome = kv.NotSent
		if c.err != nil && c.state == down {
			ev.Text = []byte(c.err.Error())
		} else {
			ev.Text = fmt.Appendf(nil, "%s did not take it before its timeout", c.endpoint)
		}
	}
	c.queue = c.queue[:0]
	l.end(i)
	if c.moved {
		l.retire(i)
	}
	ev.Outcome = outcome
	l.finishOp(tag, true, &ev, l.now)
}
