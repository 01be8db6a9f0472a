package engine

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// closedLoop counts a closed loop's operations.
type closedLoop struct {
	n        uint64  // of the next operation in this phase, without a total
	bounded  bool    // a total bounds the phase
	batch    span    // of the total's numbers: this loop's, not begun
	inWindow int     // measured operations that are open
	lastAt   int64   // when the last of them ended
	without  []int32 // clients for which there was no number left
	asking   []int32 // the same, while they ask again
	rests    rests
	clients  []client
	opened   []string // by place: the endpoint that it had all the window; empty if it moved
}

// client is a client of a closed loop. What is counted lies beside what its next
// operation needs, so that counting touches no other memory.
type client struct {
	place     int
	completed uint64 // of its operations due in the window
	succeeded int64  // when its last success was, or it began; of a load with faults
}

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

// begin makes a client's next operation, due now.
func (l *Loop) begin(client int32, due int64) {
	if l.draining {
		return
	}
	n, ok := l.next()
	if !ok {
		l.closed.without = append(l.closed.without, client)
		return
	}
	acc := l.clock.current
	tag := l.slots.take()
	sl := &l.slots.table[tag]
	i := l.conns.places[l.closed.clients[client].place]
	*sl = slot{}
	sl.due, sl.n, sl.acc, sl.conn, sl.client = due, n, acc, int32(i), client
	sl.state, sl.measured = waiting, l.measuring
	acc.Due++
	acc.open++
	if sl.measured {
		l.closed.inWindow++
	}
	l.slots.link(tag, due)
	c := l.conns.table[i]
	if len(c.queue) == 0 && c.ready() && !l.cfg.NewConnection {
		l.submit(i, tag)
		return
	}
	c.queue = append(c.queue, waiter{tag, n})
	if l.cfg.NewConnection {
		l.conns.come(i, l.now)
	}
	sl.queued = sl.sent == 0
}

// mostAtOnce is how many operations that are due a turn takes up: those behind
// it wait for the next turn, so that none is longer than some milliseconds.
const mostAtOnce = 1 << 14

// fire takes up what the open loop's schedule has due.
func (l *Loop) fire() { l.fireUntil(l.now + 1) }

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
	if l.sched.due > l.now {
		return true
	}
	if l.cfg.Shared.several() || l.slots.open-l.owed >= l.cfg.MaxInFlight {
		return false // another loop, or the end of an operation, wakes this one
	}
	_, ok := l.conns.route(l.sched.own())
	return ok || l.waitsInFlight()
}

// waitsInFlight reports whether operations are taken up without a connection that takes
// them.
func (l *Loop) waitsInFlight() bool { return l.reactive != nil }

// submit encodes an operation on a connection that is ready.
func (l *Loop) submit(i int, tag uint32) {
	c, sl := l.conns.table[i], &l.slots.table[tag]
	sl.conn = int32(i)
	op := &l.op
	sl.ref = l.cfg.Source.Fill(sl.acc.Phase, sl.n, l.session(sl), op)
	op.Tag = tag
	sl.kind, sl.level, sl.expected = op.Kind, op.Consistency, op.Revision
	sl.owned = l.cfg.History != nil && op.Owned()
	sl.state = submitted
	if l.watchers.cfg != nil {
		l.watchers.due(sl, op.Kind)
	}
	before := uint64(len(c.codec.Out()))
	c.codec.Submit(op)
	c.open++
	c.unsent = append(c.unsent, unsent{c.wrote + before, tag, sl.n})
	l.conns.touch(i)
}

// pump submits what waits for the connection.
func (l *Loop) pump(i int) {
	c := l.conns.table[i]
	if c.state != up {
		return
	}
	if c.leaving() && c.open == 0 {
		if c.moved {
			l.retire(i)
		} else {
			l.replace(i)
		}
		return
	}
	l.watchers.pump(i, l.now)
	k := 0
	for k < len(c.queue) && c.ready() {
		w := c.queue[k]
		if sl := &l.slots.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == i {
			if l.reactive != nil && sl.client < 0 {
				sl.ready = max(sl.ready, l.now)
				l.waitedFor(byConnections, sl.acc, 1)
			}
			l.submit(i, w.tag)
		}
		k++
	}
	if k > 0 {
		c.queue, c.stalled = c.queue[:copy(c.queue, c.queue[k:])], false
	}
	if len(c.queue) > 0 {
		l.noteStalled(i)
	}
}

func (l *Loop) flushDirty() {
	for k := 0; k < len(l.conns.dirty); k++ {
		i := l.conns.dirty[k]
		l.conns.table[i].dirty = false
		l.flush(i)
	}
	l.conns.dirty = l.conns.dirty[:0]
}

// flush writes a connection's output. Every operation whose first byte this
// writes is sent at the time read just before.
func (l *Loop) flush(i int) {
	c := l.conns.table[i]
	for c.state == up && !c.blocked {
		out := c.codec.Out()
		if len(out) == 0 {
			return
		}
		sent := l.poller.Now()
		l.wrote(sent)
		l.pauses.sent = sent
		l.watchers.sent(c, i, sent)
		n, err := l.poller.Write(i, out)
		if n > 0 {
			l.conns.bytesOut += uint64(n)
			c.codec.Wrote(n)
			c.wrote += uint64(n)
			l.markSent(c, i, sent)
		}
		if err != nil {
			l.to(sent)
			l.lost(i, err)
			return
		}
		c.blocked = n < len(out)
	}
}

// wrote notes that the latest write call has ended by now. Where that is late, the loop
// paused in it or after it, and what was sent then may have left as late.
func (l *Loop) wrote(now int64) {
	if l.pauses.sent == 0 || now-l.pauses.sent < leastPause || !l.measuring {
		return
	}
	waited := l.runWaits.sinceRead()
	for tag := l.slots.tail; tag != none && l.slots.table[tag].start >= l.pauses.sent; tag = l.slots.table[tag].prev {
		sl := &l.slots.table[tag]
		if sl.state != written || sl.sent != l.pauses.sent {
			continue
		}
		if sl.held = now - l.pauses.sent; sl.client >= 0 {
			sl.acc.Disturbed.RunWait += min(sl.held, waited)
		}
	}
}

func (l *Loop) markSent(c *conn, i int, sent int64) {
	done := 0
	for done < len(c.unsent) && c.unsent[done].after < c.wrote {
		done++
	}
	term, table := l.conns.term(), l.slots.table
	for k := done - 1; k >= 0; k-- { // the last one first, which is at the end of the list of timeouts
		tag := c.unsent[k].tag
		sl := &table[tag]
		if sl.state != submitted || sl.n != c.unsent[k].n || int(sl.conn) != i {
			continue // given up meanwhile
		}
		switch {
		case l.cfg.NewConnection:
			sent = sl.sent // when connecting began, which the timeout runs from too
		case sl.next == none || table[sl.next].start >= sent:
			sl.start = sent
		default:
			l.slots.unlink(tag)
			l.slots.link(tag, sent)
		}
		sl.sent, sl.state, sl.term = sent, written, term
		switch {
		case sl.client < 0:
			l.late(sl)
		case !sl.queued:
			sl.acc.Disturbed.Idle += sent - sl.due
		}
	}
	if done < len(c.unsent) {
		c.unsent = c.unsent[:copy(c.unsent, c.unsent[done:])]
	} else {
		c.unsent = c.unsent[:0]
	}
}

// late records how late an operation of an open loop was sent, and how much of
// that the generator could not help: nothing was free for it.
func (l *Loop) late(sl *slot) {
	l.secs.record(&sl.acc.Lateness, sl.sent-sl.due)
	l.secs.record(&sl.acc.Disturbed.Own, sl.sent-sl.ready)
	if l.reactive != nil && sl.measured {
		l.reactive.Sent(sl.n, sl.sent-sl.ready, sl.ready > sl.due)
	}
	if waiting := sl.ready - sl.due; waiting > 0 {
		l.secs.record(&sl.acc.Disturbed.Waiting, waiting)
	}
}
