package engine

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/store"
)

// With Config.NewConnection each operation has its own connection. A place is vacant until
// an operation arrives. Then the place is dialled, the operation is written as soon as the
// codec takes it, and after the reply the connection closes and the place is vacant again.
//
// An operation is sent when its connection is first dialled. So its service time includes
// the handshakes of TCP, TLS and the store, and its timeout runs from there. In a closed
// loop it is due when its client received the previous reply; between due and sent the
// previous session is closed, which a server would otherwise keep.

// partWithin limits the wait for the end of a session, in nanoseconds.
const partWithin = secondNS

// dialIfVacant dials a place for an operation that was just queued, unless the place is not vacant
// yet or waits before its next dial.
func (cs *connections) dialIfVacant(i int, now int64) {
	if c := cs.table[i]; c.state == down && c.redialAt == never {
		cs.dialForNext(i, now)
	}
}

// dialForNext dials a place for the operation that waits there, if any. The operation is sent
// when the first dial begins.
func (cs *connections) dialForNext(i int, now int64) {
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

// closeAfterReply closes the connection after its operation's reply. It first closes the session, if
// there is one, and waits for its end, because the server would otherwise keep it.
func (cs *connections) closeAfterReply(i int, now int64) {
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
	cs.finishParting(i, now)
}

// awaitEnd reads and discards input until the server closes the connection, and reports
// whether it has.
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

// finishParting closes a connection whose session has ended or was awaited long enough, and lets
// the place's next operation start.
func (cs *connections) finishParting(i int, now int64) {
	cs.vacate(i)
	if !cs.table[i].moved {
		cs.dialForNext(i, now)
	}
}

// vacate closes the connection and makes its place vacant. If the place has a new
// connection, vacate retires the old one.
func (cs *connections) vacate(i int) {
	c := cs.table[i]
	cs.poller.Close(i)
	if c.codec != nil {
		// No operation is open, but the codec may have to give up a login that it shares.
		cs.discard = c.codec.Lost(cs.discard[:0])
	}
	c.codec, c.state, c.redialAt = nil, down, never
	c.open, c.late = 0, 0
	if c.moved {
		cs.retire(i)
	}
}

// giveUpWithConnection gives up an operation after its timeout and closes its connection.
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
