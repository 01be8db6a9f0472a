package engine

// submit makes the codec of a ready connection encode an operation into the codec's output.
func (l *Loop) submit(i int, tag uint32) {
	c, sl := l.conns.table[i], &l.slots.table[tag]
	sl.conn = int32(i)
	op := &l.op
	sl.ref = l.cfg.Source.Fill(sl.acc.Phase, sl.n, l.sessionNumber(sl), op)
	op.Tag = tag
	sl.kind, sl.level, sl.expected = op.Kind, op.Consistency, op.Revision
	sl.ephemeral = l.cfg.History != nil && op.BoundToSession()
	sl.state = submitted
	if l.watchers.cfg != nil {
		l.watchers.noteDue(sl, op.Kind)
	}
	before := uint64(len(c.codec.Out()))
	c.codec.Submit(op)
	c.open++
	c.unsent = append(c.unsent, unsent{c.bytesWritten + before, tag, sl.n})
	l.conns.touch(i)
}

// submitQueued submits operations from the connection's queue while the connection accepts them.
func (l *Loop) submitQueued(i int) {
	c := l.conns.table[i]
	if c.state != up {
		return
	}
	if c.open == 0 && c.leaving() {
		if c.moved {
			l.retireConn(i)
		} else {
			l.replaceConn(i)
		}
		return
	}
	l.watchers.submitPending(i, l.now)
	k := 0
	for k < len(c.queue) && c.ready() {
		w := c.queue[k]
		if sl := &l.slots.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == i {
			if l.reactive != nil && sl.client < 0 {
				sl.readyAt = max(sl.readyAt, l.now)
				l.countBlocked(blockedByConnections, sl.acc, 1)
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

// flushDirty writes the output of all connections marked by touch.
func (l *Loop) flushDirty() {
	for k := 0; k < len(l.conns.dirty); k++ {
		i := l.conns.dirty[k]
		l.conns.table[i].dirty = false
		l.flush(i)
	}
	l.conns.dirty = l.conns.dirty[:0]
}

// flush writes a connection's output. It reads the clock just before the write call. The time that
// it reads becomes the sent time of each operation whose first byte is written by that call.
func (l *Loop) flush(i int) {
	c := l.conns.table[i]
	for c.state == up && !c.blocked {
		out := c.codec.Out()
		if len(out) == 0 {
			return
		}
		sent := l.poller.Now()
		if l.pauses.isWriteLate(sent) {
			l.recordLateWrite(sent)
		}
		l.pauses.lastWrite = sent
		l.watchers.noteSent(c, i, sent)
		n, err := l.poller.Write(i, out)
		if n > 0 {
			l.conns.bytesOut += uint64(n)
			c.codec.Wrote(n)
			c.bytesWritten += uint64(n)
			l.markSent(c, i, sent)
		}
		if err != nil {
			l.advance(sent)
			l.loseConn(i, err)
			return
		}
		c.blocked = n < len(out)
	}
}

// recordLateWrite records that at least minPause has passed since the latest write call began. The
// loop was paused in that time, so the operations that this call wrote may have left late.
func (l *Loop) recordLateWrite(now int64) {
	if !l.measuring {
		return
	}
	waited := l.runWaits.waitedSinceRead()
	for tag := l.slots.tail; tag != none && l.slots.table[tag].start >= l.pauses.lastWrite; tag = l.slots.table[tag].prev {
		sl := &l.slots.table[tag]
		if sl.state != written || sl.sent != l.pauses.lastWrite {
			continue
		}
		if sl.writePause = now - l.pauses.lastWrite; sl.client >= 0 {
			sl.acc.Disturbance.RunWait += min(sl.writePause, waited)
		}
	}
}

// markSent sets the sent time of the operations whose first byte has been written.
func (l *Loop) markSent(c *conn, i int, sent int64) {
	sentCount := 0
	for sentCount < len(c.unsent) && c.unsent[sentCount].offset < c.bytesWritten {
		sentCount++
	}
	term, table := l.conns.currentTerm(), l.slots.table
	// Start with the last operation, because it is at the end of the list of timeouts.
	for k := sentCount - 1; k >= 0; k-- {
		tag := c.unsent[k].tag
		sl := &table[tag]
		if sl.state != submitted || sl.n != c.unsent[k].n || int(sl.conn) != i {
			continue // the operation was given up in the meantime
		}
		switch {
		case l.cfg.NewConnection:
			sent = sl.sent // the time at which connecting and the timeout began
		case sl.next == none || table[sl.next].start >= sent:
			sl.start = sent
		default:
			l.slots.unlink(sl)
			l.slots.link(tag, sent)
		}
		sl.sent, sl.state, sl.term = sent, written, term
		switch {
		case sl.client < 0:
			l.recordLateness(sl)
		case !sl.queued:
			sl.acc.Disturbance.Idle += sent - sl.due
		}
	}
	if sentCount < len(c.unsent) {
		c.unsent = c.unsent[:copy(c.unsent, c.unsent[sentCount:])]
	} else {
		c.unsent = c.unsent[:0]
	}
}

// recordLateness records how late an operation of an open loop was sent.
func (l *Loop) recordLateness(sl *slot) {
	own := sl.sent - sl.readyAt
	l.secs.recordLateness(sl.acc, sl.sent-sl.due, own)
	if l.reactive != nil && sl.measured {
		l.reactive.OperationSent(sl.n, own, sl.readyAt > sl.due)
	}
}
