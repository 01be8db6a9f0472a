package engine

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
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

// come dials for the operation that was just queued, unless the place is not
// vacant yet, or waits before it dials again.
func (cs *connections) come(i int, now int64) {
	if c := cs.table[i]; c.state == down && c.redialAt == never {
		cs.launch(i, now)
	}
}

// launch dials for the operation that waits for the place, if there is one. It
// is sent from its first dialling on.
func (cs *connections) launch(i int, now int64) {
	c := cs.table[i]
	if len(c.queue) == 0 {
		c.redialAt = never
		return
	}
	tag := c.queue[0].tag
	if sl := &cs.ops.table[tag]; sl.sent == 0 {
		sl.sent = now
		cs.ops.unlink(sl)
		cs.ops.link(tag, now)
	}
	cs.dial(i)
}

// leave ends the connection whose operation has its answer. A session is
// closed before, and its end awaited, because the server would keep it.
func (cs *connections) leave(i int, now int64) {
	c := cs.table[i]
	if c.state != up {
		return // it was lost
	}
	c.backoff = 0
	if s, ok := c.codec.(store.SessionCodec); ok {
		s.Close()
		n, err := cs.poller.Write(i, c.codec.Out())
		cs.bytesOut += uint64(n)
		if err == nil {
			c.state, c.redialAt = parting, now+partWithin
			cs.redialAt = min(cs.redialAt, c.redialAt)
			return
		}
	}
	cs.parted(i, now)
}

// awaitEnd reads on, for nobody, until the server has ended the connection, and
// reports whether it has.
func (cs *connections) awaitEnd(i int, buf []byte) (ended bool) {
	for {
		n, err := cs.poller.Read(i, buf)
		if err == poll.ErrAgain {
			return false
		}
		cs.bytesIn += uint64(n)
		if err != nil {
			return true
		}
	}
}

// parted ends a connection whose session has ended, or was awaited for long
// enough, and lets the operation that waits for the place go on.
func (cs *connections) parted(i int, now int64) {
	cs.vacate(i)
	if !cs.table[i].moved {
		cs.launch(i, now)
	}
}

// vacate closes the connection; its place is vacant, or the connection retired
// if the place has another.
func (cs *connections) vacate(i int) {
	c := cs.table[i]
	cs.poller.Close(i)
	if c.codec != nil {
		// Nothing is open; the codec may share a login that it must give up.
		cs.discard = c.codec.Lost(cs.discard[:0])
	}
	c.codec, c.state, c.redialAt = nil, down, never
	c.open, c.late = 0, 0
	if c.moved {
		cs.retire(i)
	}
}

// giveUpWithConnection ends an operation whose time is over, and its connection
// with it.
func (l *Loop) giveUpWithConnection(tag uint32) {
	sl := &l.slots.table[tag]
	i, ev := int(sl.conn), store.Event{Outcome: kv.TimedOut}
	c := l.conns.table[i]
	if sl.state == waiting {
		ev.Outcome = kv.NotSent
		if c.err != nil && c.state == down {
			ev.Text = []byte(c.err.Error())
		} else {
			ev.Text = fmt.Appendf(nil, "%s did not take it before its timeout", c.endpoint)
		}
	}
	c.queue = c.queue[:0]
	l.conns.vacate(i)
	l.finishOp(tag, placeFree, &ev, l.now)
}
