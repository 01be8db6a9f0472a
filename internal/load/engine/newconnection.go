package engine

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/store"
)

// If Config.NewConnection is set, each operation has its own connection. A place is vacant until an
// operation arrives for it. Then the place is dialed, and the operation is written as soon as the
// codec accepts it. After the reply the connection is closed and the place is vacant again.
//
// The sent time of such an operation is the time at which its connection is first dialed. So its
// service time includes the handshakes of TCP, TLS and the store, and its timeout starts with the
// dial. In a closed loop, the operation is due when its client received the previous reply. Between
// the due time and the sent time, the loop closes the previous session, which the server would
// otherwise keep.

// maxEndWait is the longest wait for the end of a session, in nanoseconds.
const maxEndWait = secondNS

// dialIfVacant dials a place for an operation that was just queued. It does nothing if the place is
// not vacant yet, or if the place waits before its next dial.
func (cs *connections) dialIfVacant(i int, now int64) {
	if c := cs.table[i]; c.state == down && c.redialAt == never {
		cs.dialForNext(i, now)
	}
}

// dialForNext dials a place for the first operation in its queue, if any. The operation's sent time
// is the time of its first dial.
func (cs *connections) dialForNext(i int, now int64) {
	c := cs.table[i]
	if len(c.queue) == 0 {
		c.redialAt = never
		return
	}
	tag := c.queue[0].tag
	if sl := &cs.slots.table[tag]; sl.sent == 0 {
		sl.sent = now
		cs.slots.unlink(sl)
		cs.slots.link(tag, now)
	}
	cs.dial(i)
}

// closeAfterReply closes the connection after the reply to its operation. If the connection has a
// session, closeAfterReply first closes the session and waits for its end, because the server would
// otherwise keep it.
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
			c.state, c.redialAt = ending, now+maxEndWait
			cs.redialAt = min(cs.redialAt, c.redialAt)
			return
		}
	}
	cs.finishEnding(i, now)
}

// awaitEnd reads and discards input. It reports whether the server has closed the connection.
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

// finishEnding closes a connection after its session has ended or maxEndWait has passed. Then it
// lets the place's next operation start.
func (cs *connections) finishEnding(i int, now int64) {
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
		// No operation is open, but the codec may have to cancel a login that other connections
		// share.
		cs.discard = c.codec.Lost(cs.discard[:0])
	}
	c.codec, c.state, c.redialAt = nil, down, never
	c.open, c.late = 0, 0
	if c.moved {
		cs.retire(i)
	}
}

// giveUpWithConnection gives up an operation whose timeout has passed, and closes its connection.
func (l *Loop) giveUpWithConnection(tag uint32) {
	sl := &l.slots.table[tag]
	i, ev := int(sl.conn), store.Event{Outcome: kv.TimedOut}
	c := l.conns.table[i]
	if sl.state == waiting {
		ev.Outcome = kv.NotSent
		if c.err != nil && c.state == down {
			ev.Text = []byte(c.err.Error())
		} else {
			ev.Text = fmt.Appendf(nil, "the connection to %s was not ready before the operation's timeout", c.endpoint)
		}
	}
	c.queue = c.queue[:0]
	l.conns.vacate(i)
	l.finishOp(tag, roomFree, &ev, l.now)
}
