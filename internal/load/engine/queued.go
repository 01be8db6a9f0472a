package engine

import "github.com/quorumbench/quorumbench/internal/kv"

// An operation of a closed loop is due because its client is free, and not because a
// schedule wants it. While the connection has as many operations open as it takes, the
// operation waits for its client's neighbours, however long that takes: the waiting is in
// its response time, its timeout begins when it is written, and it is neither due nor
// failed if the window closes first. It fails, as not_sent, only where the connection was
// missing, or took nothing although nothing was open on it, for a whole timeout or at the
// end of the window.

// waitsOn reports whether an operation that was not written goes on waiting after its
// timeout, because it waits for operations that were written to its connection: each of
// those has a timeout of its own.
func (l *Loop) waitsOn(tag uint32) bool {
	sl := &l.slots.table[tag]
	if sl.client < 0 || l.draining || sl.state == written || !l.waitsForOthers(sl) {
		return false
	}
	l.slots.unlink(sl)
	l.slots.link(tag, l.now)
	return true
}

// waitsForOthers reports whether operations that were written to the operation's
// connection are open, for which it waits. Where there are none the connection is missing
// or takes nothing: what waits for it when the window closes was kept from being sent by
// an outage, which counts.
func (l *Loop) waitsForOthers(sl *slot) bool {
	if sl.conn < 0 {
		return false
	}
	c := l.conns.table[sl.conn]
	return c.state == up && c.open > len(c.unsent)
}

// noteStalled restarts the timeouts of what waits for a connection when that begins to
// take nothing although nothing is open on it.
func (l *Loop) noteStalled(i int) {
	c := l.conns.table[i]
	stalled := c.open == 0 && !c.ready()
	if stalled && !c.stalled && c.proven {
		l.restartWaiting(i)
	}
	c.stalled = stalled
}

// restartWaiting restarts the timeouts of a closed loop's operations that wait for a
// connection that was lost, replaced, or takes nothing any more: until now they waited
// for other operations. The caller does so only where the connection had answered: one
// that is lost again and again before it answers anything must not keep them for ever.
func (l *Loop) restartWaiting(i int) {
	if l.cfg.NewConnection {
		return // a place's operation has its time from when connecting began
	}
	for _, w := range l.conns.table[i].queue {
		if sl := &l.slots.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == i && sl.client >= 0 {
			l.slots.unlink(sl)
			l.slots.link(w.tag, l.now)
		}
	}
}

// queueAgain puts an operation of a closed loop whose connection ended before any of it
// was written back into its place's queue, and reports whether it did. Behind the window
// the operation is withdrawn.
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
	sl.conn, sl.state, sl.queued = int32(to), waiting, true // #nosec G115 -- there are not so many connections
	c := l.conns.table[to]
	c.queue = append(c.queue, waiter{tag, sl.n})
	return true
}

// withdraw takes an operation of a closed loop that was never written out of the books.
func (l *Loop) withdraw(tag uint32) {
	sl := &l.slots.table[tag]
	sl.acc.Due--
	sl.acc.open--
	if sl.measured {
		l.closed.inWindow--
	}
	l.slots.finish(tag, placeFree)
}
