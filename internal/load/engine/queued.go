package engine

import "github.com/quorumbench/quorumbench/internal/kv"

// An operation of a closed loop is due because its client is free, not because a schedule
// wants it. If its connection is full, it waits for the operations of other clients,
// however long that takes. The wait is part of its response time, its timeout starts when
// it is written, and if the window closes first it is neither due nor failed. It fails as
// not_sent only if for a whole timeout, or when the window closes, the connection was
// down, or took nothing although no operation was open on it.

// keepsWaiting reports whether an operation that was not written continues to wait after its
// timeout, because it waits for operations that were written to its connection. Each of
// those has its own timeout.
func (l *Loop) keepsWaiting(tag uint32) bool {
	sl := &l.slots.table[tag]
	if sl.client < 0 || l.draining || sl.state == written || !l.waitsForOthers(sl) {
		return false
	}
	l.slots.unlink(sl)
	l.slots.link(tag, l.now)
	return true
}

// waitsForOthers reports whether the operation waits for open operations that were written
// to its connection. If there are none, the connection is down or takes nothing: then an
// outage kept the operation from being sent, which counts.
func (l *Loop) waitsForOthers(sl *slot) bool {
	if sl.conn < 0 {
		return false
	}
	c := l.conns.table[sl.conn]
	return c.state == up && c.open > len(c.unsent)
}

// noteStalled restarts the timeouts of the operations in a connection's queue when the
// connection begins to take nothing although no operation is open on it.
func (l *Loop) noteStalled(i int) {
	c := l.conns.table[i]
	stalled := c.open == 0 && !c.ready()
	if stalled && !c.stalled && c.proven {
		l.restartWaiting(i)
	}
	c.stalled = stalled
}

// restartWaiting restarts the timeouts of the closed loop's operations in the queue of a
// connection that was lost, replaced, or takes nothing any more: until now they waited for
// other operations. The caller must check that the connection had received a reply.
// Otherwise a connection that is lost again and again would keep them for ever.
func (l *Loop) restartWaiting(i int) {
	if l.cfg.NewConnection {
		return // there the timeout runs from the start of connecting
	}
	for _, w := range l.conns.table[i].queue {
		if sl := &l.slots.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == i && sl.client >= 0 {
			l.slots.unlink(sl)
			l.slots.link(w.tag, l.now)
		}
	}
}

// queueAgain returns an operation of a closed loop to the queue of its place if its
// connection ended before any of it was written, and reports whether it did. After the
// window closed it withdraws the operation instead.
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

// withdraw removes an operation of a closed loop that was never written from all counts.
func (l *Loop) withdraw(tag uint32) {
	sl := &l.slots.table[tag]
	sl.acc.Due--
	sl.acc.open--
	if sl.measured {
		l.closed.inWindow--
	}
	l.slots.finish(tag, placeFree)
}
