package engine

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// blocker is a reason why an operation that is due cannot start.
type blocker uint8

const (
	notBlocked blocker = iota
	blockedByConnections
	blockedByLimit
)

// openLoop tracks an open loop's position in its schedule, and what blocks the loop.
type openLoop struct {
	sched       schedule // the next operation
	hasMoreDue  bool     // the last turn started maxStartsPerTurn operations, although more were due
	exemptOpen  int      // number of open operations that have slot.exempt set
	abandoned   abandonState
	blockedBy   blocker
	lastBlocker blocker // the value that blockedBy had until unblockedAt
	unblockedAt int64   // when a connection or a unit of the limit became free for the blocked loop
}

// maxStartsPerTurn is the maximum number of due operations that one turn starts. The others wait
// for the next turn, so that no turn takes more than a few milliseconds.
const maxStartsPerTurn = 1 << 14

// startDue starts the operations that are due, both in this loop's schedule and in the spill.
func (l *Loop) startDue() {
	if l.hasMoreDue = false; l.sched.due <= l.now || l.secs.hasSeveralLoops {
		l.startDueUntil(l.now + 1)
	}
}

// startDueUntil starts the operations that are due before `end`, in the order of their due times.
// These are this loop's own operations and the operations that other loops could not start (see
// spill).
func (l *Loop) startDueUntil(end int64) {
	l.hasMoreDue = false
	if l.sched.pacer == nil {
		return
	}
	s := l.cfg.Shared
	several := s.hasSeveralLoops()
	for range maxStartsPerTurn {
		others := int64(never)
		if several {
			others = s.spill.oldest.Load()
		}
		if min(l.sched.due, others) >= end {
			return
		}
		place := otherLoop
		if l.sched.due <= others {
			place = l.sched.ownIndex()
		}
		i, ok := l.reserveRoom(place)
		switch {
		case !ok && several:
			l.spillDue(end)
			return
		case !ok:
			return
		case place >= 0:
			l.startOperation(l.sched.n, l.sched.due, l.sched.dueSecond(&l.secs), i)
			l.sched.step()
		default:
			o, got := s.spill.takeFirst(end)
			if !got { // another loop has taken it
				s.limit.give(l.index())
				continue
			}
			l.startOperation(o.n, o.due, l.secs.dueIn(o.phase, o.due), i)
		}
	}
	l.hasMoreDue = true
}

// otherLoop is used as the place of an operation that belongs to another loop's schedule.
const otherLoop = -1

// startOperation starts an operation that is due. It uses connection i, unless the source requires
// a particular connection for the operation.
func (l *Loop) startOperation(n uint64, due int64, acc *second, i int) {
	sourceConn := -1
	if l.reactive != nil {
		if sourceConn = l.connectionOf(n); sourceConn >= 0 {
			i = sourceConn
		}
	}
	tag := l.slots.take()
	sl := &l.slots.table[tag]
	*sl = slot{}
	sl.due, sl.readyAt, sl.n, sl.acc, sl.conn, sl.client = due, due, n, acc, int32(i), -1
	sl.measured = acc.Phase == measure.Measured
	if l.unblockedAt > due {
		sl.readyAt = l.unblockedAt
		l.countBlocked(l.lastBlocker, acc, 1)
	}
	acc.Due++
	acc.open++
	l.slots.link(tag, l.now)
	if l.cfg.NewConnection {
		sl.state = waiting
		l.conns.table[i].queue = append(l.conns.table[i].queue, waiter{tag, n})
		l.conns.dialIfVacant(i, l.now)
		return
	}
	switch {
	case l.reactive == nil:
		l.submit(i, tag)
	case !l.reactive.Ready(n):
		l.keepWaiting(tag, sl)
	case sourceConn >= 0:
		l.sendOrQueue(sourceConn, n, tag)
	case !l.conns.accepts(i):
		l.countBlocked(blockedByConnections, acc, 1)
		l.keepWaiting(tag, sl)
	default:
		l.submit(i, tag)
	}
}

// reserveRoom chooses a connection for an operation of the given place, and takes one unit of the
// limit of operations in flight. If it returns false, it sets blockedBy to the reason.
func (l *Loop) reserveRoom(place int) (i int, ok bool) {
	i, ok = l.conns.route(place)
	switch {
	case !ok && !l.waitsInFlight():
		l.blockedBy = blockedByConnections
	case l.cfg.Shared.hasSeveralLoops():
		ok = l.cfg.Shared.limit.take(l.index())
	default:
		ok = l.slots.open-l.exemptOpen < l.cfg.MaxInFlight
	}
	switch {
	case ok:
		l.noteFreed()
	case l.blockedBy == notBlocked:
		l.blockedBy = blockedByLimit
	}
	return i, ok
}

// noteFreed records that the loop is no longer blocked, because a connection or a unit of the limit
// became free. It does nothing if the loop was not blocked.
func (l *Loop) noteFreed() {
	if l.blockedBy == notBlocked {
		return
	}
	// If a reply was just read, the connection or the unit was already free when that reply
	// arrived, which was l.lag nanoseconds ago.
	l.unblockedAt, l.lastBlocker, l.blockedBy = l.now-l.lag, l.blockedBy, notBlocked
	if s := l.cfg.Shared; s.hasSeveralLoops() {
		s.spill.cursors[l.index()].noConnection.Store(false)
	}
}

// countBlocked counts operations that were blocked in the measurement window.
func (l *Loop) countBlocked(b blocker, acc *second, count uint64) {
	if acc.Phase != measure.Measured {
		return
	}
	switch b {
	case blockedByLimit:
		l.res.WaitedForLimit += count
	case blockedByConnections:
		l.res.WaitedForConnection += count
	}
}

// canSend reports whether an operation that is due could start now. If so, the loop should wake up
// for this operation.
func (l *Loop) canSend() bool {
	if l.cfg.Shared.hasSeveralLoops() || l.slots.open-l.exemptOpen >= l.cfg.MaxInFlight {
		return false // another loop, or the end of an operation, will wake this loop
	}
	_, ok := l.conns.route(l.sched.ownIndex())
	return ok || l.waitsInFlight()
}

// waitsInFlight reports whether due operations start even if no connection accepts them yet. A
// Reactive source requires this.
func (l *Loop) waitsInFlight() bool { return l.reactive != nil }
