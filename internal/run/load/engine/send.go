package engine

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load/pace"
)

// closedLoop counts a closed loop's operations.
type closedLoop struct {
	n        uint64 // of the next operation in this phase
	left     uint64 // of the phase's total; never ends without one
	inWindow int    // measured operations that are open
}

// cursor walks along an open loop's schedule, which may lie behind the clock.
type cursor struct {
	pacer  pace.Pacer // nil in a closed loop
	phase  int
	origin int64 // when the phase began
	n      uint64
	due    int64 // of operation n, on the loop's clock; never after the last
	acc    *second
	held   uint64 // the operation number that the limit held back last, plus one
}

// begin makes a client's next operation, due now.
func (l *Loop) begin(client int32, due int64) {
	if l.draining || l.closed.left == 0 {
		return
	}
	l.closed.left--
	n := l.closed.n
	l.closed.n += l.cfg.Stride
	acc := l.clock.current
	tag := l.slots.take()
	sl := &l.slots.table[tag]
	*sl = slot{due: due, n: n, acc: acc, conn: int32(l.cfg.Clients[client]), client: client,
		state: waiting, measured: l.clock.phase().Kind == measure.Measured}
	acc.Due++
	acc.open++
	if sl.measured {
		l.closed.inWindow++
	}
	l.slots.link(tag, due)
	c := &l.conns[sl.conn]
	if len(c.queue) == 0 && c.ready() && !l.cfg.NewConnection {
		l.submit(int(sl.conn), tag)
		return
	}
	c.queue = append(c.queue, waiter{tag, n})
	if l.cfg.NewConnection {
		l.come(int(sl.conn))
	}
}

// fire takes up what the open loop's schedule has due.
func (l *Loop) fire() { l.fireUntil(l.now + 1) }

// fireUntil takes up what is due before the given time.
func (l *Loop) fireUntil(end int64) {
	for l.sched.due < end {
		if l.slots.open >= l.cfg.MaxInFlight {
			if l.sched.held != l.sched.n+1 {
				l.sched.held = l.sched.n + 1
				l.res.Capped++
			}
			return
		}
		i, ok := l.route()
		if !ok {
			return
		}
		acc := l.accOf(l.sched.due)
		tag := l.slots.take()
		sl := &l.slots.table[tag]
		*sl = slot{due: l.sched.due, n: l.sched.n, acc: acc, conn: int32(i), client: -1,
			measured: acc.Phase == measure.Measured}
		acc.Due++
		acc.open++
		l.slots.link(tag, l.now)
		if l.cfg.NewConnection {
			sl.state = waiting
			l.conns[i].queue = append(l.conns[i].queue, waiter{tag, sl.n})
			l.come(i)
		} else {
			l.submit(i, tag)
		}
		l.step()
	}
}

// canSend reports whether an operation that is due could be taken up, so that
// it is worth waking for.
func (l *Loop) canSend() bool {
	if l.sched.due > l.now {
		return true
	}
	if l.slots.open >= l.cfg.MaxInFlight {
		return false
	}
	_, ok := l.route()
	return ok
}

// route takes the connections in turn, and leaves out those that take nothing.
func (l *Loop) route() (int, bool) {
	conns := len(l.conns) - l.cfg.WatchOnly
	for range conns {
		l.rr++
		if l.rr >= conns {
			l.rr = 0
		}
		if c := &l.conns[l.rr]; !l.cfg.NewConnection && c.ready() || l.cfg.NewConnection && c.vacant() {
			return l.rr, true
		}
	}
	return 0, false
}

// submit encodes an operation on a connection that is ready.
func (l *Loop) submit(i int, tag uint32) {
	c, sl := &l.conns[i], &l.slots.table[tag]
	client := uint32(sl.client)
	if sl.client < 0 {
		client = uint32(i)
	}
	op := &l.op
	sl.ref = l.cfg.Source.Fill(sl.acc.Phase, sl.n, client*uint32(l.cfg.Stride)+uint32(l.cfg.Offset), op)
	op.Tag = tag
	sl.kind, sl.level = op.Kind, op.Consistency
	sl.conn, sl.state = int32(i), submitted
	if l.cfg.Watching != nil && op.Kind.Writes() {
		l.cfg.Watching.Board.Times.Due(sl.acc.Phase, sl.n, sl.due)
	}
	c.codec.Submit(op)
	c.open++
	c.unsent = append(c.unsent, tag)
	l.touch(i)
}

// pump submits what waits for the connection.
func (l *Loop) pump(i int) {
	c := &l.conns[i]
	if c.state != up {
		return
	}
	if c.leaving() && c.open == 0 {
		l.replace(i)
		return
	}
	l.watchPump(i)
	k := 0
	for k < len(c.queue) && c.ready() {
		w := c.queue[k]
		if sl := &l.slots.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == i {
			l.submit(i, w.tag)
		}
		k++
	}
	if k > 0 {
		c.queue = c.queue[:copy(c.queue, c.queue[k:])]
	}
}

// touch notes that a connection may have something to write.
func (l *Loop) touch(i int) {
	if c := &l.conns[i]; !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, i)
	}
}

func (l *Loop) flushDirty() {
	for k := 0; k < len(l.dirty); k++ {
		i := l.dirty[k]
		l.conns[i].dirty = false
		l.flush(i)
	}
	l.dirty = l.dirty[:0]
}

// flush writes a connection's output. Every operation whose first bytes this
// writes is sent at the time read just before.
func (l *Loop) flush(i int) {
	c := &l.conns[i]
	for c.state == up && !c.blocked {
		out := c.codec.Out()
		if len(out) == 0 {
			return
		}
		sent := l.poller.Now()
		if l.cfg.Watching != nil {
			l.tellSent(c, i, sent)
		}
		n, err := l.poller.Write(i, out)
		if n > 0 {
			l.bytesOut += uint64(n)
			c.codec.Wrote(n)
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

func (l *Loop) markSent(c *conn, i int, sent int64) {
	for _, tag := range c.unsent {
		sl := &l.slots.table[tag]
		if sl.state != submitted || int(sl.conn) != i {
			continue // given up meanwhile
		}
		if l.cfg.NewConnection {
			sent = sl.sent // when connecting began, which the timeout runs from too
		} else {
			l.slots.unlink(tag)
			l.slots.link(tag, sent)
		}
		sl.sent, sl.state = sent, written
		if sl.client < 0 {
			l.secs.record(&sl.acc.Lateness, sent-sl.due)
		}
	}
	c.unsent = c.unsent[:0]
}
