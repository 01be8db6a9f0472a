package engine

import "github.com/quorumbench/quorumbench/internal/kv"

// In a closed loop, an operation is due as soon as its client is free. If its connection is full,
// the operation waits for other clients' operations, however long that takes. The wait is part of
// the operation's response time, but the operation's timeout starts only when the operation is
// written. If the window closes during this wait, the operation counts neither as due nor as
// failed. An operation fails as not_sent only if its connection was unusable for a whole timeout,
// or is unusable when the window closes. An unusable connection is down, or accepts no operation
// although none is open on it.

// keepsWaiting reports whether an operation that was not written continues to wait after its
// timeout. It continues if it waits for operations that were written to its connection, because
// those operations have their own timeouts.
func (l *Loop) keepsWaiting(tag uint32) bool {
	sl := &l.slots.table[tag]
	if sl.client < 0 || l.draining || sl.state == written || !l.waitsForOthers(sl) {
		return false
	}
	l.slots.unlink(sl)
	l.slots.link(tag, l.now)
	return true
}

// waitsForOthers reports whether the operation waits for open operations that were written to its
// connection. If no such operations exist, the connection is down or accepts nothing. In that case
// an outage keeps the operation from being sent, and the operation counts as failed.
func (l *Loop) waitsForOthers(sl *slot) bool {
	if sl.conn < 0 {
		return false
	}
	c := l.conns.table[sl.conn]
	return c.state == up && c.open > len(c.unsent)
}

// noteStalled restarts the timeouts of the operations in a connection's queue when the connection
// stops accepting operations although it has no open operation.
func (l *Loop) noteStalled(i int) {
	c := l.conns.table[i]
	stalled := c.open == 0 && !c.ready()
	if stalled && !c.stalled && c.hasReplied {
		l.restartWaiting(i)
	}
	c.stalled = stalled
}

// restartWaiting restarts the timeouts of the operations in a connection's queue. These operations
// belong to a closed loop. Until now, they have waited for other operations. The loop calls
// restartWaiting when the connection was lost or replaced, or stopped accepting operations. The
// caller must check that the connection had received a reply. Otherwise operations would wait
// forever for a connection that is lost again and again.
func (l *Loop) restartWaiting(i int) {
	if l.cfg.NewConnection {
		return // with NewConnection, the timeout starts when connecting begins
	}
	for _, w := range l.conns.table[i].queue {
		if sl := &l.slots.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == i && sl.client >= 0 {
			l.slots.unlink(sl)
			l.slots.link(w.tag, l.now)
		}
	}
}

// queueAgain handles a closed loop's operation whose connection ended before any of the operation's
// bytes were written. It returns the operation to its place's queue, or withdraws it if the window
// has closed. For any other operation it does nothing and returns false.
func (l *Loop) queueAgain(tag uint32, outcome kv.Outcome) bool {
	sl := &l.slots.table[tag]
	if outcome != kv.NotSent || sl.state != submitted || sl.client < 0 || l.cfg.NewConnection {
		return false
	}
	if l.draining {
		l.withdraw(tag)
		return true
	}
	to := l.conns.places[l.closed.clients[sl.client].place]
	sl.conn, sl.state, sl.queued = int32(to), waiting, true // #nosec G115 -- connection indexes are far below 2^31
	c := l.conns.table[to]
	c.queue = append(c.queue, waiter{tag, sl.n})
	return true
}

// withdraw removes an operation from all counts. The operation belongs to a closed loop and was
// never written.
func (l *Loop) withdraw(tag uint32) {
	sl := &l.slots.table[tag]
	sl.acc.Due--
	sl.acc.open--
	if sl.measured {
		l.closed.openInWindow--
	}
	l.slots.finish(tag, roomFree)
}
