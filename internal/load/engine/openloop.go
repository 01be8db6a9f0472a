package engine

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// blocker is what keeps an operation that is due from being taken up.
type blocker uint8

const (
	byNothing blocker = iota
	byConnections
	byLimit
)

// openLoop is where an open loop is in its schedule, and what keeps it from going on.
type openLoop struct {
	sched     schedule // what is due next
	more      bool     // the last turn did not come to all that was due
	owed      int      // operations that slot.owed marks
	abandoned abandoning
	blockedBy blocker
	roomBy    blocker // what blocked before roomAt
	roomAt    int64   // when something became free the last time that nothing had been
}

// mostAtOnce is how many operations that are due a turn takes up: those behind
// it wait for the next turn, so that none is longer than some milliseconds.
const mostAtOnce = 1 << 14

// fire takes up what the open loop's schedule has due, and what other loops have.
func (l *Loop) fire() {
	if l.more = false; l.sched.due <= l.now || l.secs.several {
		l.fireUntil(l.now + 1)
	}
}

// fireUntil takes up what is due before the given time, in the order of that:
// this loop's own, and what others could not take up.
func (l *Loop) fireUntil(end int64) {
	l.more = false
	if l.sched.pacer == nil {
		return
	}
	s := l.cfg.Shared
	several := s.several()
	for range mostAtOnce {
		others := int64(never)
		if several {
			others = s.spill.oldest.Load()
		}
		if min(l.sched.due, others) >= end {
			return
		}
		place := elsewhere
		if l.sched.due <= others {
			place = l.sched.own()
		}
		i, ok := l.room(place)
		switch {
		case !ok && several:
			l.spillDue(end)
			return
		case !ok:
			return
		case place >= 0:
			l.takeUp(l.sched.n, l.sched.due, l.sched.second(&l.secs), i)
			l.sched.step()
		default:
			o, got := s.spill.take(end)
			if !got { // another loop was quicker
				s.limit.give(l.me())
				continue
			}
			l.takeUp(o.n, o.due, l.secs.dueIn(o.phase, o.due), i)
		}
	}
	l.more = true
}

// elsewhere is the place of an operation that belongs to another loop.
const elsewhere = -1

// takeUp begins an operation that was due, on a connection that takes it.
func (l *Loop) takeUp(n uint64, due int64, acc *second, i int) {
	own := -1
	if l.reactive != nil {
		if own = l.placeOf(n); own >= 0 {
			i = own
		}
	}
	tag := l.slots.take()
	sl := &l.slots.table[tag]
	*sl = slot{}
	sl.due, sl.ready, sl.n, sl.acc, sl.conn, sl.client = due, due, n, acc, int32(i), -1
	sl.measured = acc.Phase == measure.Measured
	if l.roomAt > due {
		sl.ready = l.roomAt
		l.waitedFor(l.roomBy, acc, 1)
	}
	acc.Due++
	acc.open++
	l.slots.link(tag, l.now)
	if l.cfg.NewConnection {
		sl.state = waiting
		l.conns.table[i].queue = append(l.conns.table[i].queue, waiter{tag, n})
		l.conns.come(i, l.now)
		return
	}
	switch {
	case l.reactive == nil:
		l.submit(i, tag)
	case !l.reactive.Ready(n):
		l.keep(tag, sl)
	case own >= 0:
		l.place(own, n, tag)
	case !l.conns.takes(i):
		l.waitedFor(byConnections, acc, 1)
		l.keep(tag, sl)
	default:
		l.submit(i, tag)
	}
}

// room finds a connection for an operation that belongs to the given place, and
// takes its share of the limit.
func (l *Loop) room(place int) (i int, ok bool) {
	i, ok = l.conns.route(place)
	switch {
	case !ok && !l.waitsInFlight():
		l.blockedBy = byConnections
	case l.cfg.Shared.several():
		ok = l.cfg.Shared.limit.take(l.me())
	default:
		ok = l.slots.open-l.owed < l.cfg.MaxInFlight
	}
	switch {
	case ok:
		l.freed()
	case l.blockedBy == byNothing:
		l.blockedBy = byLimit
	}
	return i, ok
}

// freed notes that something became free by the loop's clock, after there was
// nothing for what is due.
func (l *Loop) freed() {
	if l.blockedBy == byNothing {
		return
	}
	// What an answer made free was free when the answer arrived.
	l.roomAt, l.roomBy, l.blockedBy = l.now-l.lag, l.blockedBy, byNothing
	if s := l.cfg.Shared; s.several() {
		s.spill.cursors[l.me()].full.Store(false)
	}
}

// waitedFor counts operations of the window that waited.
func (l *Loop) waitedFor(b blocker, acc *second, count uint64) {
	if acc.Phase != measure.Measured {
		return
	}
	switch b {
	case byLimit:
		l.res.Capped += count
	case byConnections:
		l.res.NoRoom += count
	}
}

// canSend reports whether an operation that is due could be taken up, so that
// it is worth waking for.
func (l *Loop) canSend() bool {
	if l.cfg.Shared.several() || l.slots.open-l.owed >= l.cfg.MaxInFlight {
		return false // another loop, or the end of an operation, wakes this one
	}
	_, ok := l.conns.route(l.sched.own())
	return ok || l.waitsInFlight()
}

// waitsInFlight reports whether operations are taken up without a connection that takes
// them.
func (l *Loop) waitsInFlight() bool { return l.reactive != nil }
